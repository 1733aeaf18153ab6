// The strict TypeScript compiler, as users of the package, of the API's types and of recipes have it.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from './files.ts';

const OPTIONS = '--ignoreConfig --strict --noEmit --module nodenext --target es2024'.split(' ');

/** What the compiler says of these files: nothing if they are right. The last of equal options counts. */
export const compile = (folder: string, files: readonly string[], ...options: string[]): Promise<string> =>
  new Promise((resolve) => {
    const args = [join(ROOT, 'node_modules/typescript/bin/tsc'), ...OPTIONS, ...options, ...files];
    execFile(process.execPath, args, { cwd: folder }, (_error, stdout) => resolve(stdout));
  });
