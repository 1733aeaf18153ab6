// A temporary folder of one run. What runs that were killed have left behind is removed by the next one.
import { lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { OutputError } from './output.ts';

export interface ProcessNumbers {
  readonly pid: number;
  readonly isRunning: (pid: number) => boolean;
}

/** Containers that share a folder for temporary files may have the same process ids, but have other host names. */
const PREFIX = `vitrine-${hostname()}-`;

export function createPrivateFolder(processes: ProcessNumbers): { readonly path: string } & Disposable {
  const path = createFolder(join(tmpdir(), `${PREFIX}${processes.pid}-`));
  removeLeftovers(path, processes);
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

function removeLeftovers(own: string, { pid, isRunning }: ProcessNumbers): void {
  const { uid } = lstatSync(own);
  for (const name of readdirSync(tmpdir()).filter((found) => found.startsWith(PREFIX))) {
    const path = join(tmpdir(), name);
    const owner = Number(/^(\d+)-\w{6}$/.exec(name.slice(PREFIX.length))?.[1]);
    if (path === own || Number.isNaN(owner) || (owner !== pid && isRunning(owner))) continue;
    try {
      const stats = lstatSync(path);
      if (stats.isDirectory() && stats.uid === uid) rmSync(path, { recursive: true });
    } catch {
      // Another run removed it first.
    }
  }
}

function createFolder(prefix: string): string {
  try {
    return mkdtempSync(prefix);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new OutputError(
      `no temporary folder can be made in ${tmpdir()} (${code}): set TMPDIR to a folder that can be written`,
      { cause: error },
    );
  }
}
