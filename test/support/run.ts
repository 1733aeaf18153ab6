// Runs commands: most in this process, some in one of their own.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Readable, Writable } from 'node:stream';
import type { Process } from '../../src/cli/context.ts';
import { runProgram } from '../../src/cli/program.ts';
import { endWithTests } from './at-end.ts';
import { baseFolder, PROGRAM } from './files.ts';

export type Environment = Record<string, string>;

export interface ProcessOptions {
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
  whileEndedBySignal: (action) => action(),
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
