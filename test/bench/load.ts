// Load on one port, from its own core where there are two: by wrk where it is installed, by autocannon otherwise.
import { execFile, execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { pinned, type Role } from './processes.ts';

export const CONNECTIONS = 32;

/** What is asked for: random users between two parts of an address, or always the same address. */
export interface Ask {
  readonly before: string;
  /** 0: `before` is the whole address. */
  readonly users: number;
  readonly after: string;
  readonly etag?: string;
}

export interface Loaded {
  readonly requests: number;
  readonly seconds: number;
  /** Microseconds. */
  readonly p50: number;
  readonly p99: number;
  /** Without any response. */
  readonly failed: number;
  /** With a status from 400 on. */
  readonly refused: number;
}

export const versionOf = (command: string, ...args: string[]): string | undefined => {
  try {
    return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    // wrk tells its version and ends with 1.
    return (error as { stdout?: string }).stdout || undefined;
  }
};

const wrkVersion = /wrk \S+/.exec(versionOf('wrk', '-v') ?? '')?.[0];
export const GENERATOR = wrkVersion ?? 'autocannon';

const run = promisify(execFile);

export async function load(
  port: number,
  { before, users, after, etag }: Ask,
  seconds: number,
  seed: number,
  { role = 'load', connections = CONNECTIONS }: { role?: Role; connections?: number } = {},
): Promise<Loaded> {
  const what = [before, String(users), after, String(seed), ...(etag === undefined ? [] : [etag])];
  const wrk = ['-t', '1', '-c', String(connections), '-d', `${Math.ceil(seconds)}s`, '--timeout', '20s'];
  const [command, args] = pinned(
    role,
    wrkVersion === undefined
      ? [
          process.execPath,
          join(import.meta.dirname, 'autocannon.ts'),
          String(port),
          String(seconds),
          String(connections),
          ...what,
        ]
      : [
          'wrk',
          ...wrk,
          '-s',
          join(import.meta.dirname, 'wrk.lua'),
          `http://127.0.0.1:${port}`,
          '--',
          ...what,
        ],
  );
  const { stdout } = await run(command, args);
  return JSON.parse(stdout.trim().split('\n').at(-1) as string) as Loaded;
}
