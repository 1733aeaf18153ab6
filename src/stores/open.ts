// Which store a DATABASE_URL means. Nothing else names one; what the serving of a file does without is loaded when it is
// asked for.
import { isPostgresUrl } from '../config/database-url.ts';
import { openServed } from './sqlite/served.ts';
import { openReader, prepareFile } from './sqlite/sqlite.ts';
import type { CheckResult } from './sqlite/upkeep.ts';
import { type Reader, StoreError, type Writer } from './store.ts';

export interface ServedOptions {
  /** Told of what happened to the data, in a sentence. */
  readonly onChange: (what: string) => void;
  readonly onWarning: (what: string) => void;
  readonly onFault: (what: string) => void;
}

/** Opens what is served, made first where it is missing. */
export async function openForServing(url: string, options: ServedOptions): Promise<Reader> {
  if (isPostgresUrl(url)) return (await import('./postgres/served.ts')).openServed(url, options);
  prepareFile(url);
  return openServed(url, options);
}

/** Opens a database that is there for a few questions. */
export async function openForLookups(url: string): Promise<Reader> {
  const silent = { onChange() {}, onWarning() {}, onFault() {} };
  return isPostgresUrl(url) ? await openForServing(url, silent) : openReader(url);
}

/** Opens a SQLite database held in memory. */
export const openSamples = (bytes: Buffer): Reader => openReader(bytes);

/** Opens a database whose records are to be changed, made first where it is missing. */
export async function openForChange(url: string): Promise<Writer> {
  const { openWriter } = await (isPostgresUrl(url)
    ? import('./postgres/load.ts')
    : import('./sqlite/load.ts'));
  return openWriter(url);
}

/** Opens a database whose records are to be written elsewhere. */
export async function openForExport(url: string): Promise<Pick<Reader, 'records' | 'close'>> {
  if (!isPostgresUrl(url)) return openReader(url, { tidy: true });
  const { allRecords } = await import('./postgres/postgres.ts');
  return { records: () => allRecords(url), close() {} };
}

export async function checkDatabase(url: string): Promise<CheckResult> {
  const { check } = await (isPostgresUrl(url)
    ? import('./postgres/postgres.ts')
    : import('./sqlite/upkeep.ts'));
  return check(url);
}

export async function snapshotDatabase(url: string, target: string): Promise<void> {
  if (isPostgresUrl(url))
    throw new StoreError(
      'A snapshot is a copy of a SQLite file: of a PostgreSQL database take an export, or a dump by its own tools.',
    );
  const { snapshot } = await import('./sqlite/upkeep.ts');
  snapshot(url, target);
}
