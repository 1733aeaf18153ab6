// Which store a DATABASE_URL means. Only this file knows both; a process loads the one it uses.
import { isPostgresUrl } from '../config/database-url.ts';
import type { Archive } from './archive.ts';
import { StoreError } from './errors.ts';
import type { MigrationResult } from './migrations.ts';
import type { Awaitable, Reader, StoreListener } from './reader.ts';
import type { CheckResult } from './soundness.ts';
import { migrateFile, refuseMissing } from './sqlite/connect.ts';
import { openArchive, openReader } from './sqlite/read.ts';
import type { SnapshotOptions } from './sqlite/snapshot.ts';
import { openServed } from './sqlite/watch.ts';
import type { Writer } from './writer.ts';

/** For `await using`, which closes the store at the end of the block. */
export type Opened<Store> = Store & AsyncDisposable;

const closing = <Store extends { close(): Awaitable<void> }>(store: Store): Opened<Store> =>
  Object.assign(store, { [Symbol.asyncDispose]: async () => await store.close() });

/** Opens the data for serving; where there is none yet, the reader is not ready until the first import has committed. */
export async function openForServing(url: string, observe: StoreListener): Promise<Reader> {
  if (isPostgresUrl(url)) return (await import('./postgres/read.ts')).openServed(url, observe);
  return openServed(url, observe);
}

/** Opens an existing database for a few lookups. */
export async function openForLookups(url: string): Promise<Opened<Reader>> {
  return closing(
    isPostgresUrl(url) ? await (await import('./postgres/read.ts')).openReader(url) : openReader(url),
  );
}

/** Opens a SQLite database held in memory. */
export const openSamples = (bytes: Buffer): Reader => openReader(bytes);

/** Opens a database for changes; creates it where it is missing. */
export async function openForChange(url: string): Promise<Opened<Writer>> {
  const { openWriter } = await (isPostgresUrl(url)
    ? import('./postgres/write.ts')
    : import('./sqlite/write.ts'));
  return closing(await openWriter(url));
}

/** Opens a database for changes of what it holds: a file that is missing is a mistake. */
export async function openExisting(url: string): Promise<Opened<Writer>> {
  if (!isPostgresUrl(url)) refuseMissing(url);
  return openForChange(url);
}

/** Opens a database to try a load on it, which changes nothing and creates nothing. */
export async function openForTrial(url: string): Promise<Opened<Writer>> {
  const { openTemporary, openTrialWriter } = await import('./sqlite/write.ts');
  if (!isPostgresUrl(url)) return closing(openTrialWriter(url));
  const postgres = await import('./postgres/write.ts');
  return closing((await postgres.openTrialWriter(url)) ?? openTemporary());
}

/** Opens a database to read everything in it, as of one moment. */
export async function openForExport(url: string): Promise<Opened<Archive>> {
  return closing(
    isPostgresUrl(url) ? await (await import('./postgres/read.ts')).openArchive(url) : openArchive(url),
  );
}

export async function checkDatabase(url: string): Promise<CheckResult> {
  const { check } = await (isPostgresUrl(url) ? import('./postgres/check.ts') : import('./sqlite/check.ts'));
  return check(url);
}

/** Brings an existing database to the current schema. */
export async function migrateDatabase(url: string): Promise<MigrationResult> {
  return isPostgresUrl(url)
    ? (await import('./postgres/database.ts')).migrateDatabase(url)
    : migrateFile(url);
}

/** Rebuilds what does not match the items and records; how many lists and ETags that were. */
export async function repairDatabase(url: string): Promise<number> {
  await using writer = await openExisting(url);
  return await writer.repair();
}

export async function snapshotDatabase(
  url: string,
  target: string,
  options: SnapshotOptions = { forgetTakedowns: false },
): Promise<void> {
  if (isPostgresUrl(url))
    throw new StoreError(
      'Only a SQLite file can be copied by snapshot. For PostgreSQL use `vitrine export` or pg_dump.',
    );
  const { snapshot } = await import('./sqlite/snapshot.ts');
  snapshot(url, target, options);
}
