// Finds files that the program reads while it runs, such as migrations and pages. The code is one folder below the package's
// root: in src/ of a checkout, in dist/ of what is installed.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');

export const packageFile = (path: string): string => join(ROOT, path);

/** The version of this program. */
export const VERSION: string = JSON.parse(readFileSync(packageFile('package.json'), 'utf8')).version;
