// After a takedown: copies of pictures that no record names any more are removed at once, since an address may hold a name.
// Triggers note the addresses that changed and deleted records named, and imports those that are named again. Whether another
// record names the rest, one pass through all records finds out, in steps that let other writers in between.

import { FAMILIES, type Family, findKind } from '../../records/kinds.ts';
import type { Awaitable } from '../reader.ts';
import { copiedMembers, type MemberSql, tableName } from './media-statements.ts';
import { countRows, firstRow, type SqlAdapter } from './sql-adapter.ts';

/** Removes files from the folder of copies. */
export type RemoveFiles = (names: readonly string[]) => Awaitable<void>;

/** Called with what share of the work is done. */
export type ShareListener = (share: number) => void;

type Change = <T>(action: (db: SqlAdapter) => Promise<T>) => Promise<T>;

const USERS_AT_ONCE = 5000;
const COPIES_AT_ONCE = 500;

/** A command that is interrupted leaves the rest to the next one. */
export async function removeUnnamed(
  change: Change,
  removeFiles: RemoveFiles,
  onShare: ShareListener,
): Promise<void> {
  // Of several commands at a time, the last one that begins ends the work.
  const pass = String(Date.now() * 1000 + Math.floor(Math.random() * 1000));
  const found = await change((db) => beginPass(db, pass));
  if (found.doubts === 0) return;
  let seen = 0;
  for (const family of FAMILIES)
    for (let last: string | undefined = '0'; last !== undefined; ) {
      const after: string = last;
      const step = await change((db) => settleNamed(db, family, after));
      seen += step.users;
      last = step.last;
      onShare(found.users === 0 ? 1 : Math.min(seen / found.users, 1));
    }
  while (await change((db) => removeCopies(db, pass, removeFiles)));
}

async function beginPass(db: SqlAdapter, pass: string) {
  await db.run('DELETE FROM media_doubts WHERE url NOT IN (SELECT url FROM media)');
  const doubts = await db.run('UPDATE media_doubts SET pass = $1', [pass]);
  const users = await countRows(db, "SELECT sum(number) FROM counts WHERE kind LIKE '%profile'");
  return { doubts, users };
}

/** The next users from an id on, and what they and their items name. */
async function settleNamed(db: SqlAdapter, family: Family, after: string) {
  const [last = null, users] = await firstRow(
    db,
    `SELECT CAST(max(id) AS text), count(*) FROM (
       SELECT id FROM profiles WHERE family = '${family}' AND id > ${after} ORDER BY id LIMIT ${USERS_AT_ONCE}) AS next`,
  );
  if (last === null) return { users: 0, last: undefined };
  for (const role of ['profile', 'item'] as const) {
    const kind = findKind(family, role);
    const user = role === 'profile' ? 'id' : 'owner';
    const rows = `${tableName(kind)} WHERE family = '${family}' AND ${user} > ${after} AND ${user} <= ${last}`;
    await db.run(
      `DELETE FROM media_doubts WHERE url IN (${selectNamed(copiedMembers(kind), rows, db.member)})`,
    );
  }
  return { users: Number(users), last: Number(users) < USERS_AT_ONCE ? undefined : last };
}

/** All members of one row after each other, so that its text is parsed once. */
function selectNamed(members: readonly string[], rows: string, member: MemberSql): string {
  const numbers = members.map((_, index) => `SELECT ${index} AS nth`).join(' UNION ALL ');
  const cases = members.map((name, index) => `WHEN ${index} THEN ${member(name)}`).join(' ');
  return `SELECT CASE nth ${cases} END FROM (SELECT record FROM ${rows}) AS named CROSS JOIN (${numbers}) AS numbers`;
}

/** After an import, whose records may name again what another one has dropped. */
export async function settleStaged(db: SqlAdapter, kind: Parameters<typeof copiedMembers>[0], code: number) {
  const members = copiedMembers(kind);
  const isDoubtful = 'SELECT count(*) FROM (SELECT 1 FROM media_doubts LIMIT 1) AS one';
  if ((await countRows(db, isDoubtful)) === 0) return;
  const named = selectNamed(members, `staged WHERE kind = ${code}`, db.member);
  await db.run(`DELETE FROM media_doubts WHERE url IN (${named})`);
}

/** The files go first: should this be interrupted, doing it again removes the rest. False when there are no more. */
async function removeCopies(db: SqlAdapter, pass: string, removeFiles: RemoveFiles): Promise<boolean> {
  const unnamed = `SELECT url FROM media_doubts WHERE pass = ${pass}`;
  await db.run(`INSERT INTO named_urls ${unnamed} ORDER BY url LIMIT ${COPIES_AT_ONCE}`);
  // A file that has another address as well stays as long as that does.
  const files = await Array.fromAsync(
    db.rows<[string]>(`
      SELECT DISTINCT file FROM media WHERE file IS NOT NULL AND url IN (SELECT url FROM named_urls) AND NOT EXISTS (
        SELECT 1 FROM media AS other WHERE other.file = media.file AND other.url NOT IN (${unnamed}))`),
  );
  await removeFiles(files.map(([file]) => file));
  await db.run('DELETE FROM media WHERE url IN (SELECT url FROM named_urls)');
  return (await db.run('DELETE FROM media_doubts WHERE url IN (SELECT url FROM named_urls)')) > 0;
}

/** After a restore, every address may be one that no record names. */
export const DOUBT_ALL = `
  INSERT INTO media_doubts (url) SELECT url FROM media WHERE true ON CONFLICT (url) DO UPDATE SET pass = NULL`;
