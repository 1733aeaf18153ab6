// Servers as child processes: started on their own core, measured through /proc, stopped.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  writeFileSync,
} from 'node:fs';
import { get } from 'node:http';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../support/free-port.ts';
import { fillIn, printed } from '../support/printed.ts';
import { pathOf } from '../support/programs.ts';

/** Where there are two cores, one is for the servers and one for the load. */
const PINNED = availableParallelism() > 1 && existsSync('/usr/bin/taskset');
const CORES = { server: '0', load: '1' };

export function pinned(role: keyof typeof CORES, command: readonly string[]): [string, string[]] {
  const [program = '', ...args] = PINNED ? ['taskset', '-c', CORES[role], ...command] : command;
  return [program, args];
}

export interface Server {
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
async function start(
  command: (port: number) => readonly string[],
  env: Record<string, string>,
  probe: string,
): Promise<Server> {
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

const responds = (url: string): Promise<boolean> =>
  new Promise((resolve) => {
    get(url, { agent: false }, (response) => response.resume().once('end', () => resolve(true))).once(
      'error',
      () => resolve(false),
    );
  });

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill();
  await ended;
}

export const stop = ({ child }: Server) => stopChild(child);
export const stopAll = () => Promise.all([...running].map(stopChild));

const VITRINE = join(import.meta.dirname, '../../src/vitrine.js');
export const BUILT = join(import.meta.dirname, '../../dist/vitrine.js');
/** A command line of Vitrine. */
export const vitrine = (...args: string[]) => [process.execPath, VITRINE, ...args];
/** A lookup that each contender answers. */
export const PROBE = '/a/api/?user=user1';

export const startSamples = () => start(() => vitrine('serve', '--samples'), BEHIND_PROXY, '/healthz');
export const startVitrine = (database: string, env: Record<string, string> = {}) =>
  start(() => vitrine('serve'), { DATABASE_URL: database, ...env }, PROBE);
/** The program that npm and the image run. */
export const startBuilt = (database: string, env: Record<string, string>) =>
  start(() => [process.execPath, BUILT, 'serve'], { DATABASE_URL: database, ...env }, PROBE);
/** With any data. */
/** A busy machine must not make it refuse requests. */
export const startScaled = (database: string) =>
  start(() => [process.execPath, BUILT, 'serve'], { DATABASE_URL: database, MAX_LOOP_DELAY: '0' }, '/readyz');
export const BEHIND_PROXY = { TRUST_PROXY: 'loopback' };

export const peerFile = (name: string) => join(import.meta.dirname, 'peers', `${name}.ts`);
export const startPeer = (name: string, env: Record<string, string>) =>
  start(() => [process.execPath, peerFile(name)], env, PROBE);

/** nginx with a file for each response, which is what a static site costs. */
export const startStaticNginx = (folder: string, files: string) =>
  startNginx(
    join(folder, 'nginx-static'),
    (port) => `sendfile on; tcp_nopush on; open_file_cache max=10000;
  default_type "application/json; charset=utf-8"; types { }
  server { listen 127.0.0.1:${port}; root ${files}; }`,
    '/items/user1.json',
  );

/** nginx as `vitrine print nginx` configures it, in front of Vitrine. */
export function startPrintedNginx(folder: string, upstream: Server, caches: boolean) {
  const own = join(folder, `nginx-${upstream.port}-${caches}`);
  return startNginx(
    own,
    (port) =>
      fillIn(
        printed('nginx'),
        ['/var/cache/vitrine', `${own}-cache`],
        ['listen 80;', `listen 127.0.0.1:${port};`],
        ['server 127.0.0.1:8080', `server 127.0.0.1:${upstream.port}`],
        ['proxy_cache vitrine;', `proxy_cache ${caches ? 'vitrine' : 'off'};`],
      ),
    '/healthz',
  );
}

/** nginx makes these folders; where it would make them by default, only root may. */
const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

function startNginx(path: string, http: (port: number) => string, probe: string): Promise<Server> {
  const command = (port: number) => {
    const temporary = TEMPORARY.map((name) => `${name}_temp_path ${path}-${name};`).join(' ');
    writeFileSync(
      `${path}.conf`,
      `daemon off; worker_processes 1; ${process.getuid?.() === 0 ? 'user root;' : ''} pid ${path}.pid; error_log stderr error;
events { worker_connections 1024; }
http { access_log off; keepalive_requests 1000000000; ${temporary} ${http(port)} }`,
    );
    return [pathOf('nginx'), '-c', `${path}.conf`, '-e', 'stderr'];
  };
  return start(command, {}, probe);
}

const CHUNK = Buffer.alloc(1 << 20);

/** Reads the databases that a server has open, so that they are in the page cache: disks are not compared here. */
export function pageIn({ child: { pid } }: Server): void {
  const folder = `/proc/${pid}/fd`;
  for (const file of readdirSync(folder).map((name) => targetOf(join(folder, name)))) {
    if (!file.endsWith('.db')) continue;
    const descriptor = openSync(file, 'r');
    while (readSync(descriptor, CHUNK) > 0);
    closeSync(descriptor);
  }
}

/** The server may close one meanwhile. */
function targetOf(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return '';
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
