// Groups of processes that have only so much memory, by version 1 or 2 of cgroups. Only root can make them.
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export type MemoryGroup = NonNullable<ReturnType<typeof createMemoryGroup>>;

/** Whether to skip tests that limit memory; logs it if so. In CI a skipped test fails the check. */
export function skipWithoutMemoryGroups(): boolean {
  const group = createMemoryGroup(128 * 2 ** 20);
  group?.remove();
  if (group === undefined)
    console.warn('SKIPPED: only root can limit the memory of processes, where the system lets it');
  return group === undefined;
}

/** A group with so many bytes of memory; undefined where none can be made. */
export function createMemoryGroup(bytes: number) {
  const hasV1 = existsSync('/sys/fs/cgroup/memory');
  const root = hasV1 ? '/sys/fs/cgroup/memory' : '/sys/fs/cgroup';
  const own = new RegExp(hasV1 ? '^\\d+:memory:(.*)$' : '^0::(.*)$', 'm').exec(
    readFileSync('/proc/self/cgroup', 'utf8'),
  )?.[1];
  const group = join(root, `vitrine-test-${process.pid}`);
  const enter = (folder: string) => writeFileSync(join(folder, 'cgroup.procs'), String(process.pid));
  const remove = () => rmdirSync(group);
  const read = (file: string) => readFileSync(join(group, file), 'utf8');
  try {
    mkdirSync(group);
  } catch {
    return undefined;
  }
  try {
    writeFileSync(join(group, hasV1 ? 'memory.limit_in_bytes' : 'memory.max'), String(bytes));
  } catch {
    remove();
    return undefined;
  }
  return {
    /** What this starts belongs to the group, as a child of a process that is in it for a moment. */
    start<T>(start: () => T): T {
      enter(group);
      try {
        return start();
      } finally {
        enter(join(root, own ?? ''));
      }
    },
    /** Bytes that belong to no file, now. */
    anonymous: () => Number(/^(?:total_rss|anon) (\d+)$/m.exec(read('memory.stat'))?.[1]),
    /** The most bytes that it had, with those of files. */
    peak: () => Number(read(hasV1 ? 'memory.max_usage_in_bytes' : 'memory.peak')),
    isEmpty: () => read('cgroup.procs') === '',
    remove,
  };
}
