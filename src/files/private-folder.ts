// A temporary folder of one run. What runs that were killed have left behind is removed by the next one.
import { lstatSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { OutputError } from './output.ts';

export interface ProcessNumbers {
  readonly pid: number;
  readonly isRunning: (pid: number) => boolean;
}

const NAME = /^vitrine-(\d+)-\w{6}$/;
/** Those of this process, which are no leftovers. In a container, each run may have the same process id. */
const own = new Set<string>();

export function createPrivateFolder(processes: ProcessNumbers): { readonly path: string } & Disposable {
  const path = createFolder(join(tmpdir(), `vitrine-${processes.pid}-`));
  own.add(basename(path));
  removeLeftovers(path, processes);
  return {
    path,
    [Symbol.dispose]() {
      rmSync(path, { recursive: true, force: true });
      own.delete(basename(path));
    },
  };
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

function removeLeftovers(folder: string, { pid, isRunning }: ProcessNumbers): void {
  const { uid } = statSync(folder);
  for (const name of readdirSync(tmpdir())) {
    const owner = Number(NAME.exec(name)?.[1]);
    if (Number.isNaN(owner) || own.has(name) || (owner !== pid && isRunning(owner))) continue;
    const path = join(tmpdir(), name);
    try {
      const stats = lstatSync(path);
      if (stats.isDirectory() && stats.uid === uid) rmSync(path, { recursive: true });
    } catch {
      // Another run removed it first.
    }
  }
}
