// After a takedown: copies of pictures that no record names any more are removed at once, since an address may hold a name.

import type { Awaitable } from '../reader.ts';
import type { StepListener } from '../steps.ts';
import { type Change, countRows, type SqlAdapter } from './sql-adapter.ts';

/** Removes files from the folder of copies. */
export type RemoveFiles = (names: readonly string[]) => Awaitable<void>;

const COPIES_AT_ONCE = 500;

/** In steps, which let other writers in between. A command that is interrupted leaves the rest to the next one. */
export async function removeUnnamed(
  change: Change,
  removeFiles: RemoveFiles,
  onStep: StepListener,
): Promise<void> {
  const found = await change(countUnnamed);
  for (let removed = 0, step = found; step > 0; removed += step) {
    onStep('removing pictures', Math.min(removed / found, 1));
    step = await change((db) => removeCopies(db, removeFiles));
  }
}

const countUnnamed = (db: SqlAdapter) =>
  countRows(db, 'SELECT count(*) FROM media WHERE unnamed_since IS NOT NULL');

/** How many addresses it removed. The files go first: should this be interrupted, doing it again removes the rest. */
async function removeCopies(db: SqlAdapter, removeFiles: RemoveFiles): Promise<number> {
  await db.run(
    `INSERT INTO named_urls SELECT url FROM media WHERE unnamed_since IS NOT NULL ORDER BY url LIMIT ${COPIES_AT_ONCE}`,
  );
  // Without this, PostgreSQL reads all copies even for one picture.
  await db.run('ANALYZE named_urls');
  // A file that has another address as well stays as long as that does.
  const files = await Array.fromAsync(
    db.rows<[string]>(`
      SELECT file FROM (
        SELECT DISTINCT file FROM media WHERE file IS NOT NULL AND url IN (SELECT url FROM named_urls)) AS gone
      WHERE NOT EXISTS (
        SELECT 1 FROM media WHERE media.file = gone.file AND unnamed_since IS NULL)`),
  );
  await removeFiles(files.map(([file]) => file));
  await db.run(`
    DELETE FROM copies WHERE file IN (SELECT file FROM media WHERE url IN (SELECT url FROM named_urls)) AND NOT EXISTS (
      SELECT 1 FROM media WHERE media.file = copies.file AND url NOT IN (SELECT url FROM named_urls))`);
  return await db.run('DELETE FROM media WHERE url IN (SELECT url FROM named_urls)');
}
