// Servers as child processes: started on their own core, measured through /proc, stopped.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readdirSync, readFileSync, readlinkSync, readSync } from 'node:fs';
import { get } from 'node:http';
import { createServer } from 'node:net';
import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';

/** Where there are two cores, one is for the server and one for the load. */
export const PINNED = availableParallelism() > 1 && existsSync('/usr/bin/taskset');
const CORES = { server: '0', load: '1', anywhere: undefined };

/** What a process does, which decides where it runs. */
export type Role = keyof typeof CORES;

export function pinned(role: Role, [command = '', ...args]: readonly string[]): [string, string[]] {
  const core = CORES[role];
  return PINNED && core !== undefined ? ['taskset', ['-c', core, command, ...args]] : [command, args];
}

export interface Process {
  readonly port: number;
  readonly child: ChildProcess;
  /** From its start to its first response. */
  readonly startMs: number;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

export interface StartOptions {
  readonly env?: Record<string, string>;
  /** The address of the first request. */
  readonly probe?: string;
  readonly role?: Role;
}

/** Starts a server that takes its port from PORT, or from the command made for it; waits until it responds. */
export async function start(
  command: (port: number) => readonly string[],
  { env = {}, probe = '/', role = 'server' }: StartOptions = {},
): Promise<Process> {
  const port = await freePort();
  const { PATH = '', HOME = '' } = process.env;
  const [program, args] = pinned(role, command(port));
  const started = performance.now();
  const child = spawn(program, args, {
    env: { PATH, HOME, NODE_ENV: 'production', ...env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  await firstResponse(`http://127.0.0.1:${port}${probe}`, child);
  return {
    port,
    child,
    startMs: performance.now() - started,
    async stop(signal = 'SIGKILL') {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill(signal);
      await ended;
    },
  };
}

async function firstResponse(url: string, child: ChildProcess): Promise<void> {
  while (!(await responds(url))) {
    if (child.exitCode !== null)
      throw new Error(`${child.spawnargs.join(' ')} exited with ${child.exitCode}`);
    await delay(1);
  }
}

function responds(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    get(url, { agent: false }, (response) => response.resume().once('end', () => resolve(true))).once(
      'error',
      () => resolve(false),
    );
  });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

/** Waits until a server has finished the work that follows its start. */
export async function atRest({ child: { pid } }: Process): Promise<void> {
  for (let before = Number.NaN, now = cpuSeconds(pid); now !== before; now = cpuSeconds(pid)) {
    before = now;
    await delay(300);
  }
}

const CHUNK = Buffer.alloc(1 << 20);

/** Reads the databases that a server has open, so that they are in the page cache: disks are not compared here. */
export function pageIn({ child: { pid } }: Process): void {
  const descriptors = existsSync(`/proc/${pid}/fd`) ? readdirSync(`/proc/${pid}/fd`) : [];
  const files = new Set(descriptors.map((descriptor) => readlinkSync(`/proc/${pid}/fd/${descriptor}`)));
  for (const file of files) {
    if (!file.endsWith('.db')) continue;
    const descriptor = openSync(file, 'r');
    while (readSync(descriptor, CHUNK) > 0);
    closeSync(descriptor);
  }
}

export const TICKS_PER_SECOND = 100;

/** The fields of /proc/PID/stat from the state on, which is the third. */
export function statOf(pid: number | string | undefined): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** Seconds of CPU that a process has used so far: all its threads, user and kernel. */
export function cpuSeconds(pid: number | string | undefined): number {
  const fields = statOf(pid);
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** The same in milliseconds, finer than the clock's ticks of 10 ms. */
export function cpuMilliseconds(pid: number | undefined): number {
  const tasks = readdirSync(`/proc/${pid}/task`);
  const nanoseconds = tasks.map((task) =>
    Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]),
  );
  return nanoseconds.reduce((sum, one) => sum + one, 0) / 1e6;
}

/** Bytes of memory that a process has resident. */
export function residentBytes(pid: number | undefined): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}
