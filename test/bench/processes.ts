// Servers as child processes: started on their own core, measured through /proc, stopped.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readdirSync, readFileSync, readlinkSync, readSync } from 'node:fs';
import { get } from 'node:http';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../free-port.ts';

/** Where there are two cores, one is for the servers and one for the load. */
const PINNED = availableParallelism() > 1 && existsSync('/usr/bin/taskset');
const CORES = { server: '0', load: '1' };

export function pinned(role: keyof typeof CORES, command: readonly string[]): [string, string[]] {
  const [program = '', ...args] = PINNED ? ['taskset', '-c', CORES[role], ...command] : command;
  return [program, args];
}

export interface Process {
  readonly port: number;
  readonly child: ChildProcess;
  /** From its start to its first response. */
  readonly startMs: number;
}

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Starts a server that takes its port from PORT, or from the command made for it; waits until it responds. */
export async function start(
  command: (port: number) => readonly string[],
  env: Record<string, string> = {},
  probe = '/',
): Promise<Process> {
  const port = await freePort();
  const { PATH = '', HOME = '' } = process.env;
  const [program, args] = pinned('server', command(port));
  const started = performance.now();
  const child = spawn(program, args, {
    env: { PATH, HOME, NODE_ENV: 'production', ...env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  while (!(await responds(`http://127.0.0.1:${port}${probe}`))) {
    if (child.exitCode !== null) throw new Error(`${command(port).join(' ')} exited with ${child.exitCode}`);
    await delay(1);
  }
  return { port, child, startMs: performance.now() - started };
}

export async function stop({ child }: Process, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill(signal);
  await ended;
}

export const stopAll = () => Promise.all([...running].map((child) => stop({ child, port: 0, startMs: 0 })));

const VITRINE = join(import.meta.dirname, '../../src/vitrine.js');
/** A command line of Vitrine. */
export const vitrine = (...args: string[]) => [process.execPath, VITRINE, ...args];

export const startVitrine = (database: string, env: Record<string, string> = {}, probe = '/healthz') =>
  start(() => vitrine('serve'), { DATABASE_URL: database, ...env }, probe);

export const peerFile = (name: string) => join(import.meta.dirname, 'peers', `${name}.ts`);

export const startPeer = (name: string, env: Record<string, string>, probe?: string) =>
  start(() => [process.execPath, peerFile(name)], env, probe);

const responds = (url: string): Promise<boolean> =>
  new Promise((resolve) => {
    get(url, { agent: false }, (response) => response.resume().once('end', () => resolve(true))).once(
      'error',
      () => resolve(false),
    );
  });

const CHUNK = Buffer.alloc(1 << 20);

/** Reads the databases that a server has open, so that they are in the page cache: disks are not compared here. */
export function pageIn({ child: { pid } }: Process): void {
  const files = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap((name) => openedFile(`/proc/${pid}/fd/${name}`)),
  );
  for (const file of files) {
    if (!file.endsWith('.db')) continue;
    const descriptor = openSync(file, 'r');
    while (readSync(descriptor, CHUNK) > 0);
    closeSync(descriptor);
  }
}

/** None if the descriptor was closed meanwhile. */
function openedFile(descriptor: string): string[] {
  try {
    return [readlinkSync(descriptor)];
  } catch {
    return [];
  }
}

/** Microseconds of CPU that a process and its children have used so far. */
export function cpuTime(pid: number | undefined): number {
  let nanoseconds = 0;
  for (const task of readdirSync(`/proc/${pid}/task`))
    nanoseconds += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]);
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  return children.reduce((sum, child) => sum + cpuTime(Number(child)), nanoseconds / 1000);
}

/** Waits until servers have finished the work that follows their start. */
export async function atRest(servers: readonly Process[]): Promise<void> {
  const total = () => servers.reduce((sum, { child }) => sum + cpuTime(child.pid), 0);
  for (let before = -Infinity, now = total(); now - before > 5000; now = total()) {
    before = now;
    await delay(300);
  }
}
