// How many connections the limit of open files leaves room for. Beyond it the system would hand out no descriptor, and
// libuv would close new connections without telling anybody.
import { readFileSync } from 'node:fs';

/** For the database, its replacement, the log and what else is opened while connections are. */
const RESERVED = 64;

/** The lower of the two limits; where the system does not tell, the one that is set. */
export function affordableConnections(maxConnections: number): number {
  const files = openFilesLimit();
  return Math.min(maxConnections, Math.max(files - RESERVED, Math.floor(files / 2)));
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
