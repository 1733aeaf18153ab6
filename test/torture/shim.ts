// The shim, built with the machine's own compiler, and its orders.
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, tempFolder } from '../support/files.ts';
import { type Environment, vitrine } from '../support/run.ts';
import { until } from '../support/stress.ts';

/** Builds it into a folder; its path, or the reason why it cannot be had here. */
export function buildShim(folder: string): { path: string } | { reason: string } {
  if (process.platform !== 'linux') return { reason: 'LD_PRELOAD needs Linux' };
  const path = join(folder, 'shim.so');
  const source = join(ROOT, 'test/torture/shim.c');
  const flags = ['-O1', '-shared', '-fPIC', '-o', path, source, '-ldl', '-lpthread'];
  const { error, status, stderr } = spawnSync('cc', flags, { encoding: 'utf8' });
  if (error !== undefined) return { reason: `no C compiler: ${error.message}` };
  return status === 0 ? { path } : { reason: stderr };
}

export interface Orders {
  readonly folder: string;
  /** Which call fails, from 1; 0 only counts. */
  readonly k?: number;
  /** Which kind of call fails; without it any. */
  readonly call?: string;
  readonly fault?: string;
  /** For how many seconds such calls fail from then on. */
  readonly lasting?: number;
  readonly sockets?: boolean;
  /** Where the folder is copied to. */
  readonly copy?: string;
  readonly log?: string;
}

export const ordersText = (orders: Orders) =>
  Object.entries(orders)
    .map(([key, value]) => `${key}=${value === true ? 1 : value}`)
    .join('&');

/** Gives the shim of this process other orders; without any it lets all calls pass. */
export function command(orders?: Orders): void {
  try {
    openSync(`/torture?${orders === undefined ? '' : ordersText(orders)}`, 'r');
  } catch {
    // The shim says that there is no such file.
  }
}

/** A command as a process that stops at its k-th call until it goes on. */
export function startStopping(
  args: readonly string[],
  env: Environment,
  { folder, LD_PRELOAD, k = 0 }: { folder: string; LD_PRELOAD: string; k: number | undefined },
) {
  const log = join(tempFolder(), 'calls');
  const child = vitrine(args, { ...env, LD_PRELOAD, TORTURE: ordersText({ folder, log, k, fault: 'STOP' }) });
  let stderr = '';
  child.stderr?.on('data', (chunk) => (stderr += chunk));
  child.stdout?.resume();
  child.stdin?.end();
  let isOver = false;
  const ended = once(child, 'close').then(([code]) => {
    isOver = true;
    return { code: code as number | null, stderr };
  });
  const countCalls = () => readIfAny(log).split('\n').length - 1;
  const isStopped = () => readIfAny(`/proc/${child.pid}/stat`).includes(') T ');
  const rests = until(`${args[0]} to stop or end`, () => isOver || isStopped(), 120);
  const begins = until(`${args[0]} to begin`, () => isOver || countCalls() > 0, 120);
  return { ended, begins, rests, countCalls, goOn: () => rests.then(() => child.kill('SIGCONT')) };
}

function readIfAny(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

const SQLITE = ['SQLITE_BUSY', 'SQLITE_FULL', 'SQLITE_IOERR'];

/** What may go wrong with each call. KILL leaves the folder as it is just before the call. The last are calls of SQLite. */
export const FAULTS: Record<string, readonly string[]> = {
  open: ['EIO', 'EMFILE', 'EACCES', 'ENOSPC', 'KILL'],
  read: ['EIO', 'SHORT'],
  write: ['EIO', 'ENOSPC', 'SHORT', 'ENOSPC+', 'KILL'],
  sync: ['EIO', 'ENOSPC', 'KILL'],
  rename: ['EIO', 'ENOSPC', 'EACCES', 'KILL'],
  link: ['EIO', 'ENOSPC', 'KILL'],
  mkdir: ['ENOSPC', 'EACCES', 'KILL'],
  unlink: ['EIO', 'EACCES', 'KILL'],
  truncate: ['EIO', 'ENOSPC', 'KILL'],
  map: ['ENOMEM'],
  connect: ['ECONNREFUSED'],
  receive: ['ECONNRESET'],
  send: ['ECONNRESET'],
  prepare: SQLITE,
  step: SQLITE,
  exec: SQLITE,
  backup: SQLITE,
};
