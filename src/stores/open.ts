// Which store a DATABASE_URL means. Only this file knows both; a process loads the one it uses.
import { isPostgresUrl } from '../config/database-url.ts';
import { StoreError } from './errors.ts';
import type { Awaitable, Reader, StoreListener } from './reader.ts';
import type { Archive, CheckResult } from './sql/archive.ts';
import type { MigrationResult } from './sql/migrations.ts';
import type { RestoreOptions, RestoreResult } from './sqlite/restore.ts';
import type { DatedSnapshot } from './sqlite/snapshot.ts';
import { noStep, type StepListener } from './steps.ts';
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
export async function openServed(url: string, observe: StoreListener): Promise<Reader> {
  if (isPostgresUrl(url)) return (await import('./postgres/read.ts')).openServed(url, observe);
  return (await import('./sqlite/serve.ts')).openServed(url, observe);
}

/** Opens an existing database, or the bytes of a SQLite one, for a few lookups. */
export async function openReader(source: string | Buffer): Promise<StoreHandle<Reader>> {
  if (Buffer.isBuffer(source)) return closing((await import('./sqlite/read.ts')).openReader(source));
  return closing(await (await reading(source)).openReader(source));
}

export interface WriterOptions {
  /** A file that is missing is a mistake. Otherwise it is created. */
  readonly mustExist?: boolean;
  /** For a load that is tried only, which changes nothing and creates nothing. */
  readonly isTrial?: boolean;
  /** Called while a database of an earlier version is migrated. */
  readonly onStep?: StepListener;
}

export async function openWriter(
  url: string,
  { mustExist = false, isTrial = false, onStep }: WriterOptions = {},
): Promise<StoreHandle<Writer>> {
  if (isTrial) return await openTrialWriter(url);
  if (mustExist && !isPostgresUrl(url)) (await import('./sqlite/file.ts')).refuseMissing(url);
  return closing(await (await writing(url)).openWriter(url, onStep));
}

async function openTrialWriter(url: string): Promise<StoreHandle<Writer>> {
  const { openTemporary, openTrialWriter } = await import('./sqlite/write.ts');
  if (!isPostgresUrl(url)) return closing(openTrialWriter(url));
  const postgres = await import('./postgres/write.ts');
  return closing((await postgres.openTrialWriter(url)) ?? openTemporary());
}

/** Opens a database to read everything in it, as of one moment. */
export const openArchive = async (url: string): Promise<StoreHandle<Archive>> =>
  closing(await (await reading(url)).openArchive(url));

export async function checkDatabase(url: string, onStep = noStep): Promise<CheckResult> {
  await using archive = await openArchive(url);
  return await archive.check(onStep);
}

/** Makes locks of files, each for as long as this process has it, however that ends; undefined while another process does. */
export async function loadLocks(): Promise<(path: string) => Disposable | undefined> {
  const { openExclusive } = await import('./sqlite/connect.ts');
  return (path) => openExclusive(path, 0);
}

/** `traces` says that unused space holds deleted data; `compact` ends that. */
export async function migrateDatabase(
  url: string,
  { compact = false, onStep = noStep }: { readonly compact?: boolean; readonly onStep?: StepListener } = {},
): Promise<MigrationResult & { readonly traces?: string | undefined }> {
  if (!isPostgresUrl(url)) return (await import('./sqlite/write.ts')).migrateFile(url, compact, onStep);
  if (compact) throw new StoreError('Only a SQLite file can be written anew. PostgreSQL has VACUUM FULL.');
  return (await import('./postgres/write.ts')).migrateDatabase(url, onStep);
}

/** After a takedown: waits for all hosts of a URL, and names those that do not have it yet. A file is one host. */
export const findHostsBehind = async (url: string): Promise<readonly string[]> =>
  isPostgresUrl(url) ? (await import('./postgres/find-behind.ts')).findBehind(url) : [];

/** Rebuilds what does not match the items and records; how many lists and ETags that were. */
export async function repairDatabase(url: string, onStep = noStep): Promise<number> {
  await using writer = await openWriter(url, { mustExist: true, onStep });
  return await writer.repair({ onStep });
}

/** Writes a snapshot to a file; with `keep` to a folder that keeps this number of them. */
export async function snapshotDatabase(
  url: string,
  target: string,
  { keep, onStep = noStep }: { readonly keep?: number | undefined; readonly onStep?: StepListener } = {},
): Promise<DatedSnapshot> {
  if (isPostgresUrl(url))
    throw new StoreError(
      'Only a SQLite file can be copied by snapshot. For PostgreSQL use `vitrine export` or pg_dump.',
    );
  const { datedSnapshot, snapshot } = await import('./sqlite/snapshot.ts');
  if (keep !== undefined) return datedSnapshot(url, target, keep, onStep);
  snapshot(url, target, onStep);
  return { file: target, removed: [], warnings: [] };
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
