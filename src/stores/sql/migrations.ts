// The number of a store's schema, and the files that make its tables.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageFile } from '../../config/package-files.ts';
import { NoDataError, StoreError } from '../errors.ts';

/** Of each store: the tables of version 1.0, and those of its schema.sql. */
const SCHEMAS = {
  sqlite: { oldest: 4, current: 19, folder: 'migrations' },
  postgres: { oldest: 2, current: 16, folder: 'migrations/postgres' },
};

export interface MigrationResult {
  readonly from: number;
  readonly to: number;
}

/** As it is while a dump is restored. */
export const noRow = (name: string) =>
  new StoreError(`${name} has no row in its table vitrine: it is being restored, or must be restored again.`);

/** A database without tables has schema 0. */
export function schemaOf(store: keyof typeof SCHEMAS) {
  const { oldest, current, folder } = SCHEMAS[store];

  /** Throws unless this program can migrate a database of this schema. */
  function refuseUnknown(name: string, schema: number): void {
    if (Number.isNaN(schema)) throw noRow(name);
    if (schema > current)
      throw new StoreError(
        `${name} was made by a newer version of Vitrine (schema ${schema}, this one knows ${current}).`,
      );
    if (schema > 0 && schema < oldest)
      throw new StoreError(
        `${name} was made before version 1.0 (schema ${schema}): export it with that version, and import it into a new database.`,
      );
  }

  return {
    current,
    /** The text of one of its files. */
    read: (file: 'schema.sql' | 'older.sql') => readFileSync(join(packageFile(folder), file), 'utf8'),
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
