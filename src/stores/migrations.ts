// The migrations of a store: the files of a folder, named `NNN-what.sql`, in order.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const MIGRATIONS = join(import.meta.dirname, '../../migrations');

/** The schema of a database before it was migrated, and now. */
export interface MigrationResult {
  readonly from: number;
  readonly to: number;
}

export interface Migration {
  readonly version: number;
  readonly sql: () => string;
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
