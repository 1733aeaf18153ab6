// The migrations of a store: the files of a folder, named `NNN-what.sql`, in order.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { StoreError } from './errors.ts';

const MIGRATIONS = join(import.meta.dirname, '../../migrations');

/** The schema of a database before it was migrated, and now. */
export interface MigrationResult {
  readonly from: number;
  readonly to: number;
}

interface Migration {
  readonly version: number;
  readonly sql: () => string;
}

/** Throws if a database was made before the first migration that there is, which makes the tables of version 1.0. */
export function refuseAncient(name: string, schema: number, [first]: readonly Migration[]): void {
  if (schema > 0 && first !== undefined && schema < first.version)
    throw new StoreError(
      `${name} was made before version 1.0 (schema ${schema}): export it with that version, and import it into a new database.`,
    );
}

/** `folder` is a folder in `migrations`. */
export const listMigrations = (folder: string): Migration[] =>
  readdirSync(join(MIGRATIONS, folder))
    .filter((file) => /^\d{3}-[\w-]+\.sql$/.test(file))
    .sort()
    .map((file) => ({
      version: Number(file.slice(0, 3)),
      sql: () => readFileSync(join(MIGRATIONS, folder, file), 'utf8'),
    }));
