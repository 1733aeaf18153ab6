// How many connections the limits of open files and of memory leave room for. Beyond the first, the system would hand out
// no descriptor, and libuv would close new connections without a word; beyond the second, it ends the process.
import { readFileSync } from 'node:fs';
import { constrainedMemory } from 'node:process';
import type { Config } from '../config/config.ts';

/** For the database, its replacement, the log and what else is opened while connections are. */
const RESERVED_FILES = 64;
/** What a worker takes without connections, and what an idle connection takes with the system's own part. */
const WORKER_BYTES = 96 * 1024 * 1024;
const CONNECTION_BYTES = 16 * 1024;
/** A proxy needs some, however little memory there is. */
const FEWEST = 256;

/** Infinity if there is no limit, or it is unknown. */
interface SystemLimits {
  readonly files: number;
  readonly memory: number;
}

/**
 * The lowest of three: the setting; the open files, but for the reserved ones or half of them; and one connection for each
 * 16 KB of a worker's share of the memory above 96 MB, but at least 256. At 128 MB that is 2,048.
 */
export function affordableConnections(
  { maxConnections, workers }: Pick<Config, 'maxConnections' | 'workers'>,
  { files, memory }: SystemLimits = { files: openFilesLimit(), memory: memoryLimit() },
): number {
  const byFiles = Math.max(files - RESERVED_FILES, Math.floor(files / 2));
  const byMemory = Math.max(Math.floor((memory / workers - WORKER_BYTES) / CONNECTION_BYTES), FEWEST);
  return Math.min(maxConnections, byFiles, byMemory);
}

/** Node has raised the soft limit to the hard one at its start. */
function openFilesLimit(): number {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return Number(soft ?? Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** The container's memory limit; Infinity without one. */
const memoryLimit = () => constrainedMemory() || Number.POSITIVE_INFINITY;
