// A temporary folder of one run. What runs that were killed have left behind is removed by the next one.
import { lstatSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OutputError } from './output.ts';

export interface ProcessNumbers {
  readonly pid: number;
  readonly isRunning: (pid: number) => boolean;
}

const NAME = /^vitrine-(\d+)-\w{6}$/;
/** Process ids do not tell whether a run in another container has ended, so each run keeps its folder recent. */
const TOUCH_MS = 60 * 60 * 1000;
const LEFTOVER_MS = 48 * TOUCH_MS;

export function createPrivateFolder(processes: ProcessNumbers): { readonly path: string } & Disposable {
  const path = createFolder(join(tmpdir(), `vitrine-${processes.pid}-`));
  removeLeftovers(path, processes);
  const timer = setInterval(touch, TOUCH_MS, path).unref();
  return {
    path,
    [Symbol.dispose]() {
      clearInterval(timer);
      rmSync(path, { recursive: true, force: true });
    },
  };
}

function touch(path: string): void {
  try {
    const now = new Date();
    utimesSync(path, now, now);
  } catch {
    // Somebody removed it; the database that is open is served on.
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

function removeLeftovers(folder: string, { pid, isRunning }: ProcessNumbers): void {
  const { uid } = statSync(folder);
  for (const name of readdirSync(tmpdir())) {
    const owner = Number(NAME.exec(name)?.[1]);
    if (Number.isNaN(owner) || (owner !== pid && isRunning(owner))) continue;
    const path = join(tmpdir(), name);
    try {
      const stats = lstatSync(path);
      const isLeftover = Date.now() - stats.mtimeMs > LEFTOVER_MS;
      if (isLeftover && stats.isDirectory() && stats.uid === uid) rmSync(path, { recursive: true });
    } catch {
      // Another run removed it first.
    }
  }
}
