// Databases of the tests, in the kind of store that is under test.
import { join } from 'node:path';
import { Readable } from 'node:stream';
import Database from 'better-sqlite3';
import pg from 'pg';
import { isPostgresUrl } from '../../src/config/database-url.ts';
import { type ImportOptions, importFiles } from '../../src/import/import.ts';
import { openWriter } from '../../src/stores/open.ts';
import { ndjson, tempFolder } from './files.ts';

/** Imports in this process, which is faster; throws if a record is refused. */
export async function importInto(
  url: string,
  files: readonly string[],
  input = '',
  options: Partial<ImportOptions> = {},
): Promise<void> {
  const faults: string[] = [];
  await using writer = await openWriter(url);
  const { tallies } = await importFiles(writer, {
    files,
    stdin: Readable.from([Buffer.from(input)]),
    replace: false,
    skipInvalid: false,
    out: { isQuiet: true, write: (line) => faults.push(line) },
    ...options,
  });
  if (tallies === undefined) throw new Error(faults.join('').trimEnd());
}

/** Imports these records. */
export const addRecords = (url: string, ...records: object[]) => importInto(url, ['-'], ndjson(...records));

/** The kind of store under test, and how to create an empty one. */
let store = {
  name: 'SQLite',
  create: async () => join(tempFolder(), 'site.db'),
};

/** Makes test files imported after this call run against another kind of store. */
export function useStore(other: typeof store): void {
  store = other;
}

export const storeName = () => store.name;

/** The DATABASE_URL of a new, empty database. */
export const newDatabase = () => store.create();

/** Creates a database with these records, and those of these files. */
export async function databaseOf(...sources: (string | object)[]): Promise<string> {
  const url = await newDatabase();
  const files = sources.filter((source) => typeof source === 'string');
  const records = sources.filter((source) => typeof source === 'object');
  await importInto(url, records.length > 0 ? [...files, '-'] : files, ndjson(...records));
  return url;
}

/** The rows that a database has, whatever reads them. */
export async function select(url: string, sql: string): Promise<unknown[][]> {
  if (!isPostgresUrl(url)) {
    const db = new Database(url, { readonly: true });
    const rows = db.prepare<[], unknown[]>(sql).raw().all();
    db.close();
    return rows;
  }
  const client = new pg.Client(url);
  await client.connect();
  const { rows } = await client.query({ text: sql, rowMode: 'array' }).finally(() => client.end());
  return rows;
}
