// The migrations of a store: the files of a folder, named `NNN-WHAT`, in order.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageFile } from '../../config/package-files.ts';
import { NoDataError, StoreError } from '../errors.ts';

const MIGRATIONS = packageFile('migrations');
/** The tables of version 1.0, and those of schema.sql. */
const [SQLITE_OLDEST, SQLITE_CURRENT] = [4, 13];

export interface MigrationResult {
  readonly from: number;
  readonly to: number;
}

/** As it is while a dump is restored. */
export const noRow = (name: string) =>
  new StoreError(`${name} has no row in its table vitrine: it is being restored, or must be restored again.`);

/** `folder` is a folder in `migrations`. A database without tables has schema 0. */
export function listMigrations(folder: string) {
  const all = readdirSync(join(MIGRATIONS, folder))
    .filter((file) => /^\d{3}-[\w-]+\.sql$/.test(file))
    .sort()
    .map((file) => ({
      version: Number(file.slice(0, 3)),
      sql: () => readFileSync(join(MIGRATIONS, folder, file), 'utf8'),
    }));
  const oldest = all[0]?.version ?? SQLITE_OLDEST;
  const current = all.at(-1)?.version ?? SQLITE_CURRENT;

  /** Throws unless this program can migrate a database of this schema. */
  function refuseUnknown(name: string, schema: number): void {
    if (Number.isNaN(schema)) throw noRow(name);
    if (schema > current)
      throw new StoreError(
        `${name} was made by a newer version of Vitrine (schema ${schema}, this one knows ${current}).`,
      );
    // The first migration makes the tables of version 1.0.
    if (schema > 0 && schema < oldest)
      throw new StoreError(
        `${name} was made before version 1.0 (schema ${schema}): export it with that version, and import it into a new database.`,
      );
  }

  return {
    current,
    /** The tables of a new database. */
    schema: () => readFileSync(join(MIGRATIONS, folder, 'schema.sql'), 'utf8'),
    due: (schema: number) => all.filter(({ version }) => version > schema),
    refuseUnknown,

    refuseUnfit(name: string, schema: number): void {
      refuseUnknown(name, schema);
      if (schema < current)
        throw new NoDataError(
          `${name} has an older schema (${schema}, wanted ${current}): run \`vitrine migrate\`.`,
        );
    },
  };
}
