// Shared test tools: commands and servers, databases, HTTP requests and raw sockets.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable, Writable } from 'node:stream';
import type { Process } from '../../src/cli/context.ts';
import { runProgram } from '../../src/cli/program.ts';
import { type ImportOptions, importFiles } from '../../src/import/import.ts';
import { openWriter } from '../../src/stores/open.ts';
import { baseFolder, loadedFirst, ndjson, PROGRAM, removeTempFolders, tempFolder } from './files.ts';
import { freePort } from './free-port.ts';

const running = new Set<ChildProcess>();
const stopping = new Set<() => unknown>();
/** A request that follows at once often comes before the last connection is free: one of those is kept. */
const agent = new Agent({ keepAlive: true, maxFreeSockets: 1 });

/** Runs this when the tests of the file are over. */
export const atEnd = (stop: () => unknown) => void stopping.add(stop);

/** Ends what a test file has started, and removes its folder. */
export async function cleanUp(): Promise<void> {
  agent.destroy();
  const ends = [...running].map((child) => once(child, 'close'));
  for (const child of running) child.kill('SIGKILL');
  await Promise.all([...ends, ...[...stopping].map((stop) => stop())]);
  stopping.clear();
  removeTempFolders();
}

// A run that is interrupted has no time for hooks. Vitest does not let a test exit by itself.
for (const event of ['exit', 'SIGTERM', 'SIGINT', 'disconnect'] as const)
  process.once(event, () => {
    for (const child of running) child.kill('SIGKILL');
    if (event !== 'exit') process.kill(process.pid, 'SIGKILL');
  });

/** A process that is killed, at the latest, when the tests of the file are over. */
export function endWithTests<Child extends ChildProcess>(child: Child): Child {
  running.add(child);
  child.once('close', () => running.delete(child));
  return child;
}

export type Environment = Record<string, string>;

interface ProcessOptions {
  readonly cwd?: string;
  /** The account, if root starts it. */
  readonly uid?: number | undefined;
  /** A shell command that comes first, such as a limit. */
  readonly before?: string;
}

/** Starts the CLI without settings from the environment. */
export function vitrine(
  args: readonly string[],
  env: Environment = {},
  { cwd = baseFolder(), uid, before }: ProcessOptions = {},
): ChildProcess {
  const { PATH = '', HOME = '' } = process.env;
  const program = [process.execPath, PROGRAM, ...args];
  const shell = before === undefined ? [] : ['sh', '-c', `${before} && exec "$0" "$@"`];
  const [file, ...rest] = [...shell, ...program] as [string, ...string[]];
  const child = endWithTests(
    spawn(file, rest, {
      env: { PATH, HOME, ...env },
      cwd,
      ...(uid !== undefined && { uid, gid: uid }),
    }),
  );
  // A process may exit before it has read its standard input.
  child.stdin?.on('error', () => {});
  return child;
}

export interface Ran {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface RunOptions {
  readonly env?: Environment;
  readonly input?: string | Buffer;
  /** Instead of `input`. */
  readonly stdin?: Readable;
  readonly signal?: AbortSignal;
}

/** Runs a command in this process, which is much faster than starting one; only a server gets a process. */
export async function run(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  return args[0] === 'serve' ? await spawned(args, options) : await runHere(args, options);
}

/** Runs `serve` in this process up to where the server would start; its warnings are lines of standard error. */
export async function prepareServe(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const stop = new AbortController();
  const ran = await runHere(args, options, {
    stopSignal: () => stop.signal,
    becomeServer: () => stop.abort(),
  });
  if (!stop.signal.aborted) return ran;
  const lines = ran.stdout.split('\n').filter(Boolean);
  const warnings = lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 40);
  return { ...ran, stdout: '', stderr: ran.stderr + warnings.map(({ msg }) => `vitrine: ${msg}\n`).join('') };
}

async function runHere(
  args: readonly string[],
  options: RunOptions,
  instead: Partial<Process> = {},
): Promise<Ran> {
  const { env = {}, input = '', stdin = Readable.from([Buffer.from(input)]), signal } = options;
  const stdout: Buffer[] = [];
  const stderr: string[] = [];
  const code = await runProgram(
    {
      ...processWith(env, stdout, stderr),
      stdin,
      stopSignal: () => signal ?? new AbortController().signal,
      ...instead,
    },
    args,
  );
  return { code, signal: null, stdout: Buffer.concat(stdout).toString(), stderr: stderr.join('') };
}

/** What a command sees of a process, without one. */
export const processWith = (environment: Environment, stdout: Buffer[], stderr: string[]): Process => ({
  environment,
  stdin: Readable.from([]),
  stdout: new Writable({
    write(chunk, _, done) {
      stdout.push(Buffer.from(chunk));
      done();
    },
  }),
  // On a busy machine a command would show its progress.
  stderr: { isQuiet: true, write: (text) => stderr.push(text) },
  figures: () => ({ seconds: 0, cpuSeconds: 0, bytesWritten: 0 }),
  ids: [],
  becomeServer() {},
  stopSignal: () => new AbortController().signal,
  endBySignal() {},
  handleOutputErrors() {},
  stoppedBy: () => undefined,
});

/** Runs a command in a process of its own and waits for its exit. */
export async function spawned(
  args: readonly string[],
  { env, input, cwd }: RunOptions & { cwd?: string } = {},
): Promise<Ran> {
  const child = vitrine(args, env, cwd === undefined ? {} : { cwd });
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout?.on('data', (chunk) => stdout.push(chunk));
  child.stderr?.on('data', (chunk) => stderr.push(chunk));
  child.stdin?.end(input ?? '');
  const [code, signal] = await once(child, 'close');
  return { code, signal, stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() };
}

/** Runs a command that must succeed; returns its output. */
export async function done(
  args: readonly string[],
  options: Parameters<typeof run>[1] = {},
): Promise<string> {
  const { code, stdout, stderr } = await run(args, options);
  if (code !== 0) throw new Error(`vitrine ${args.join(' ')} ended with ${code}:\n${stderr}`);
  return stdout;
}

/** Imports in this process, which is faster; throws if a record is refused. */
export async function importInto(
  url: string,
  files: readonly string[],
  input = '',
  options: Partial<ImportOptions> = {},
): Promise<void> {
  const faults: string[] = [];
  await using writer = await openWriter(url);
  const { tallies } = await importFiles(writer, {
    files,
    stdin: Readable.from([Buffer.from(input)]),
    replace: false,
    skipInvalid: false,
    out: { isQuiet: true, write: (line) => faults.push(line) },
    ...options,
  });
  if (tallies === undefined) throw new Error(faults.join('').trimEnd());
}

/** Imports these records. */
export const addRecords = (url: string, ...records: object[]) => importInto(url, ['-'], ndjson(...records));

/** The kind of store under test, and how to create an empty one. */
let store = {
  name: 'SQLite',
  create: async () => join(tempFolder(), 'site.db'),
};

/** Makes test files imported after this call run against another kind of store. */
export function useStore(other: typeof store): void {
  store = other;
}

export const storeName = () => store.name;

/** The DATABASE_URL of a new, empty database. */
export const newDatabase = () => store.create();

/** Creates a database with these records, and those of these files. */
export async function databaseOf(...sources: (string | object)[]): Promise<string> {
  const url = await newDatabase();
  const files = sources.filter((source) => typeof source === 'string');
  const records = sources.filter((source) => typeof source === 'object');
  await importInto(url, records.length > 0 ? [...files, '-'] : files, ndjson(...records));
  return url;
}

export interface LocalServer {
  readonly url: string;
  readonly port: number;
  /** The lines logged so far. */
  readonly log: readonly string[];
  /** Its exit code. */
  readonly ended: Promise<number | null>;
  stop(): Promise<number | null>;
}

export interface Server extends LocalServer {
  readonly child: ChildProcess;
}

// Test machines are noisy: unless a test sets it, no load is shed, and no request is logged as slow.
export const SERVER_SETTINGS = { PORT: '0', MAX_LOOP_DELAY: '0', SLOW_REQUEST: '0' };

/**
 * Settings of a server whose stop leaves silent connections open, for an hour instead of half a second. On a busy machine a
 * client may take that long to send what it is about to send.
 */
export const KEEPS_SILENT = {
  NODE_OPTIONS: loadedFirst(`const { setInterval } = globalThis;
    globalThis.setInterval = (act, ms, ...rest) => setInterval(act, ms === 500 ? 3_600_000 : ms, ...rest);`),
  SHUTDOWN_GRACE: '1m',
};

/** Starts a server process, and waits until it listens. */
export async function startServer(
  env: Environment = {},
  args: readonly string[] = [],
  options: ProcessOptions = {},
): Promise<Server> {
  // Of port 0, the workers would bind later what was free at the start, and another test may have that port by then.
  const port = (env.WORKERS ?? '1') === '1' ? {} : { PORT: String(await freePort()) };
  const settings = { ...SERVER_SETTINGS, ...port, ...env };
  const child = vitrine(['serve', '--samples', ...args], settings, options);
  const log: string[] = [];
  const ended = once(child, 'close').then(([code]) => code as number | null);
  child.stderr?.on('data', (chunk) => log.push(String(chunk)));
  const url = await new Promise<string>((resolve, reject) => {
    const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
    lines.on('line', (line) => {
      log.push(line);
      const { msg, url } = JSON.parse(line) as { msg: string; url?: string };
      if (msg === 'serving' && url !== undefined) resolve(url);
    });
    ended.then((code) => reject(new Error(`the server ended with ${code}:\n${log.join('\n')}`)));
  });
  const stop = () => {
    child.kill('SIGTERM');
    return ended;
  };
  return { url, port: Number(new URL(url).port), child, log, ended, stop };
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface AskOptions {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  /** The client's local address. */
  readonly from?: string;
}

/** Requests a path exactly as written. */
export function ask(
  ...args: [server: Pick<Server, 'port'>, path: string, options?: AskOptions]
): Promise<Reply> {
  const [{ port }, path, { method = 'GET', headers = {}, from } = {}] = args;
  return new Promise((resolve, reject) => {
    const asked = request(
      { host: '127.0.0.1', port, path, method, headers, localAddress: from, agent },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({
            status: response.statusCode as number,
            headers: response.headers,
            body: Buffer.concat(chunks).toString(),
          }),
        );
      },
    );
    // Any server may close an idle connection just when the next request is on its way.
    const isClosed = (error: Error) => asked.reusedSocket && 'code' in error && error.code === 'ECONNRESET';
    asked.on('error', (error) => (isClosed(error) ? resolve(ask(...args)) : reject(error))).end();
  });
}

/** Parses a body as JSON. */
export const json = ({ body }: Pick<Reply, 'body'>) => JSON.parse(body);

/** Opens a connection without sending anything. */
export async function dial({ port }: Pick<Server, 'port'>): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

/** Everything received on a connection until the server closes it. */
export function hearOut(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  // A reset after the response does not matter.
  socket.on('error', () => {});
  return once(socket, 'close').then(() => Buffer.concat(chunks));
}

/** Sends raw bytes; returns the responses until the server closes the connection. */
export async function sendRaw(server: Pick<Server, 'port'>, bytes: string | Buffer): Promise<Reply[]> {
  const socket = await dial(server);
  const heard = hearOut(socket);
  socket.write(bytes);
  return parseReplies(await heard);
}

/** Splits a stream of HTTP/1.1 responses by their content-length. */
export function parseReplies(bytes: Buffer): Reply[] {
  const replies: Reply[] = [];
  for (let at = 0; at < bytes.length; ) {
    const blank = bytes.indexOf('\r\n\r\n', at);
    if (blank === -1) throw new Error(`a reply without an end of its headers: ${bytes.subarray(at)}`);
    const [first = '', ...lines] = bytes.toString('latin1', at, blank).split('\r\n');
    const match = /^HTTP\/1\.1 (\d{3}) \S/.exec(first);
    if (match === null) throw new Error(`no status line: ${first}`);
    const headers = Object.fromEntries(
      lines.map((line) => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 1).trim(),
      ]),
    );
    const end = blank + 4 + Number(headers['content-length'] ?? 0);
    replies.push({ status: Number(match[1]), headers, body: bytes.toString('utf8', blank + 4, end) });
    if (end > bytes.length) throw new Error(`a body shorter than its content-length: ${bytes.subarray(at)}`);
    at = end;
  }
  return replies;
}
