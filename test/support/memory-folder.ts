// Where tests that make many databases keep them: in memory none of them waits for a disk.
import { existsSync, readFileSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';

const IN_MEMORY = '/dev/shm';
const LEAST_BYTES = 2 ** 31;

/** Containers often have 64 MB there, and must not run programs from it: then, or with a TMPDIR, it is the usual folder. */
export function memoryFolder(): string {
  if (process.env.TMPDIR !== undefined || !existsSync(IN_MEMORY)) return tmpdir();
  const { bavail, bsize } = statfsSync(IN_MEMORY);
  const [mount = 'noexec'] = /^\S+ \/dev\/shm .*$/m.exec(readFileSync('/proc/mounts', 'utf8')) ?? [];
  return bavail * bsize < LEAST_BYTES || mount.includes('noexec') ? tmpdir() : IN_MEMORY;
}
