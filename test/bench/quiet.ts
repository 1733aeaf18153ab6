// How much of the machine's CPU other processes use while something is measured: above a share, figures mislead.
//
// It sums up /proc/PID/stat of every process that did not descend from this one, with the children that each has waited
// for, and adds what the host of a virtual machine took away. Subtracting our own time from the busy time of /proc/stat
// is not exact enough: kernels differ in whether a process's time includes the interrupts of its loopback traffic.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { cpus } from 'node:os';

const TICKS_PER_SECOND = 100;

/** The largest share of the machine's CPU that others may use. */
export const QUIET_SHARE = 0.05;

/** Starts watching; the function returned tells the others' share since then, or undefined where there is no /proc. */
export function watchOthers(): () => number | undefined {
  if (!existsSync('/proc/stat')) return () => undefined;
  const [ticks, started] = [othersTicks(), performance.now()];
  return () => {
    const seconds = (performance.now() - started) / 1000;
    const used = (othersTicks() - ticks) / TICKS_PER_SECOND;
    return Math.min(1, Math.max(0, used / seconds / cpus().length));
  };
}

export const isBusy = (share: number | undefined) => share !== undefined && share > QUIET_SHARE;

interface ProcessTicks {
  readonly parent: number;
  readonly ticks: number;
}

function othersTicks(): number {
  const seen = new Map<number, ProcessTicks>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const process = look(name);
    if (process !== undefined) seen.set(Number(name), process);
  }
  let sum = stolenTicks();
  for (const [pid, { ticks }] of seen) if (!descendsFromUs(pid, seen)) sum += ticks;
  return sum;
}

function look(pid: string): ProcessTicks | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // User and kernel, its own and that of the children it has waited for.
    return {
      parent: Number(fields[1]),
      ticks: fields.slice(11, 15).reduce((sum, one) => sum + Number(one), 0),
    };
  } catch {
    return undefined; // It has ended since the folder was read.
  }
}

function descendsFromUs(pid: number, seen: ReadonlyMap<number, ProcessTicks>): boolean {
  for (let at: number | undefined = pid; at !== undefined; at = seen.get(at)?.parent)
    if (at === process.pid) return true;
  return false;
}

/** What the host gave to other virtual machines. */
const stolenTicks = () => Number(/^cpu +(?:\d+ ){7}(\d+)/.exec(readFileSync('/proc/stat', 'utf8'))?.[1] ?? 0);
