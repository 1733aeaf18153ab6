// Finds files that the program reads while it runs, such as migrations and pages, and its version.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const ROOT = findRoot(import.meta.dirname);

/** The nearest folder above the code, which is in src/ or dist/, that is a package. */
function findRoot(folder: string): string {
  return existsSync(join(folder, 'package.json')) ? folder : findRoot(dirname(folder));
}

export const packageFile = (path: string): string => join(ROOT, path);

/** The version of this program. */
export const VERSION: string = JSON.parse(readFileSync(packageFile('package.json'), 'utf8')).version;
