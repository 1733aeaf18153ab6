// npm in a folder of its own, as users have it: for packages that only one test needs, and for our own.
import { execFile } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

/** The Node that runs the tests comes first. */
export const PATH = `${dirname(process.execPath)}:${process.env.PATH}`;

/** Runs npm with these arguments; what it prints. */
export async function npm(folder: string, ...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('npm', args, { cwd: folder, env: { ...process.env, PATH } });
  return stdout;
}

/** Installs packages. Without a package.json here, npm would look for one in the folders above. */
export async function npmInstall(folder: string, ...packages: string[]): Promise<void> {
  const own = join(folder, 'package.json');
  if (!existsSync(own)) writeFileSync(own, '{ "private": true }');
  await npm(folder, 'install', '--prefer-offline', '--no-audit', '--ignore-scripts', ...packages);
}
