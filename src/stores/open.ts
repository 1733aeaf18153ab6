// Which store a DATABASE_URL means. Only this file knows both; a process loads the one it uses.
import { isPostgresUrl } from '../config/database-url.ts';
import type { Archive, CheckResult } from './archive.ts';
import { StoreError } from './errors.ts';
import type { MigrationResult } from './migrations.ts';
import type { Awaitable, Reader, StoreListener } from './reader.ts';
import { migrateFile, openExclusive } from './sqlite/connect.ts';
import { refuseMissing } from './sqlite/file.ts';
import { openReader } from './sqlite/read.ts';
import type { RestoreOptions, RestoreResult } from './sqlite/restore.ts';
import { openServed } from './sqlite/serve.ts';
import type { DatedSnapshot, SnapshotOptions } from './sqlite/snapshot.ts';
import type { Writer } from './writer.ts';

/** For `await using`, which closes the store at the end of the block. */
export type StoreHandle<Store> = Store & AsyncDisposable;

const closing = <Store extends { close(): Awaitable<void> }>(store: Store): StoreHandle<Store> =>
  Object.assign(store, { [Symbol.asyncDispose]: async () => await store.close() });

const reading = (url: string) =>
  isPostgresUrl(url) ? import('./postgres/read.ts') : import('./sqlite/read.ts');
const writing = (url: string) =>
  isPostgresUrl(url) ? import('./postgres/write.ts') : import('./sqlite/write.ts');

/** Opens the data for serving; where there is none yet, the reader is not ready until the first import has committed. */
export async function openForServing(url: string, observe: StoreListener): Promise<Reader> {
  if (isPostgresUrl(url)) return (await import('./postgres/read.ts')).openServed(url, observe);
  return openServed(url, observe);
}

/** Opens an existing database for a few lookups. */
export const openForLookups = async (url: string): Promise<StoreHandle<Reader>> =>
  closing(await (await reading(url)).openReader(url));

/** Opens a SQLite database held in memory. */
export const openSamples = (bytes: Buffer): Reader => openReader(bytes);

/** Opens a database for changes; creates it where it is missing. */
export const openForChange = async (url: string): Promise<StoreHandle<Writer>> =>
  closing(await (await writing(url)).openWriter(url));

/** Opens a database for changes of what it holds: a file that is missing is a mistake. */
export async function openExisting(url: string): Promise<StoreHandle<Writer>> {
  if (!isPostgresUrl(url)) refuseMissing(url);
  return openForChange(url);
}

/** Opens a database to try a load on it, which changes nothing and creates nothing. */
export async function openForTrial(url: string): Promise<StoreHandle<Writer>> {
  const { openTemporary, openTrialWriter } = await import('./sqlite/write.ts');
  if (!isPostgresUrl(url)) return closing(openTrialWriter(url));
  const postgres = await import('./postgres/write.ts');
  return closing((await postgres.openTrialWriter(url)) ?? openTemporary());
}

/** Opens a database to read everything in it, as of one moment. */
export const openForExport = async (url: string): Promise<StoreHandle<Archive>> =>
  closing(await (await reading(url)).openArchive(url));

export async function checkDatabase(url: string): Promise<CheckResult> {
  await using archive = await openForExport(url);
  return await archive.check();
}

/** A lock for as long as this process has it, however that ends; undefined while another process does. */
export const lockFile = (path: string): Disposable | undefined => openExclusive(path, 0);

/** Brings an existing database to the current schema. */
export const migrateDatabase = async (url: string): Promise<MigrationResult> =>
  isPostgresUrl(url) ? (await import('./postgres/write.ts')).migrateDatabase(url) : migrateFile(url);

/** Rebuilds what does not match the items and records; how many lists and ETags that were. */
export async function repairDatabase(url: string): Promise<number> {
  await using writer = await openExisting(url);
  return await writer.repair();
}

/** Writes a snapshot to a file; with `keep` to a folder that keeps so many. */
export async function snapshotDatabase(
  url: string,
  target: string,
  { keep, forgetTakedowns = false }: Partial<SnapshotOptions> & { readonly keep?: number | undefined } = {},
): Promise<DatedSnapshot> {
  if (isPostgresUrl(url))
    throw new StoreError(
      'Only a SQLite file can be copied by snapshot. For PostgreSQL use `vitrine export` or pg_dump.',
    );
  const { datedSnapshot, snapshot } = await import('./sqlite/snapshot.ts');
  if (keep !== undefined) return datedSnapshot(url, target, keep, { forgetTakedowns });
  snapshot(url, target, { forgetTakedowns });
  return { file: target, removed: [] };
}

/** Puts what a snapshot holds in the place of what the database holds. */
export async function restoreDatabase(
  url: string,
  file: string,
  options: RestoreOptions,
): Promise<RestoreResult> {
  if (isPostgresUrl(url))
    throw new StoreError(
      'Only a SQLite file can be restored from a snapshot. For PostgreSQL use pg_restore, or `vitrine import --replace` with an export.',
    );
  return (await import('./sqlite/restore.ts')).restore(url, file, options);
}
