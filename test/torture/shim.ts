// The shim, built with the machine's own compiler, and its orders.
import { spawnSync } from 'node:child_process';
import { openSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../files.ts';

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
  readonly fault?: string;
  readonly lasting?: boolean;
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

/** What may go wrong with each call. KILL leaves the folder as it is just before the call. */
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
  'read connection': ['ECONNRESET'],
  'write connection': ['ECONNRESET'],
};
