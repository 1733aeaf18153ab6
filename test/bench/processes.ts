// Servers as processes: started on their own core, watched through /proc, stopped.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';

/** The server has one core for itself, and the load another, where there are two. */
export const PINNED = availableParallelism() > 1 && existsSync('/usr/bin/taskset');
const CORES = { server: '0', load: '1', anything: undefined };

/** What a process does, which says where it may run. */
export type Role = keyof typeof CORES;

export function pinned(role: Role, [command = '', ...args]: readonly string[]): [string, string[]] {
  const core = CORES[role];
  return PINNED && core !== undefined ? ['taskset', ['-c', core, command, ...args]] : [command, args];
}

export interface Process {
  readonly port: number;
  readonly child: ChildProcess;
  stop(): Promise<void>;
}

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Starts a server that takes its port from the environment, or from the command made for it; waits until it answers. */
export async function start(
  command: (port: number) => readonly string[],
  env: Record<string, string> = {},
  { probe = '/', role = 'server' }: { probe?: string; role?: Role } = {},
): Promise<Process> {
  const port = await freePort();
  const { PATH = '', HOME = '' } = process.env;
  const [program, args] = pinned(role, command(port));
  const child = spawn(program, args, {
    env: { PATH, HOME, NODE_ENV: 'production', ...env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  await answering(`http://127.0.0.1:${port}${probe}`, child);
  return {
    port,
    child,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}

async function answering(url: string, child: ChildProcess): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`${child.spawnargs.join(' ')} ended with ${child.exitCode}`);
    const answered = await fetch(url).then(
      (response) => response.arrayBuffer(),
      () => undefined,
    );
    if (answered !== undefined) return;
    await delay(5);
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

/** Waits until a server has done what it does on its own account after it started. */
export async function atRest({ child: { pid } }: Process): Promise<void> {
  for (let before = Number.NaN, now = cpuSeconds(pid); now !== before; now = cpuSeconds(pid)) {
    before = now;
    await delay(300);
  }
}

const TICKS_PER_SECOND = 100;

/** Seconds of CPU that a process has used so far, all its threads together, in its own code and in the kernel's. */
export function cpuSeconds(pid: number | string | undefined): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Bytes that a process has in memory. */
export function residentBytes({ child }: Process): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) * 1024;
}
