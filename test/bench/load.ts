// Puts load on one port, from its own core where there are two: with wrk where it is installed, otherwise with autocannon.
import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { pinned, type Role } from './processes.ts';

export const CONNECTIONS = 32;

/** What is requested: random users, or always the same address. */
export interface Ask {
  /** The address up to the user's number. */
  readonly before: string;
  /** How many users there are; 0: `before` is the whole address. */
  readonly users: number;
  readonly after: string;
  /** A file with the ETags that clients send as If-None-Match, one a line in the order of the users. */
  readonly etags?: string;
  /** The exponent of Zipf's law; without it, every user is as popular. */
  readonly zipf?: number;
}

export const addressOf = ({ before, users, after }: Ask, user: number) =>
  users === 0 ? before : `${before}${user}${after}`;

export interface Loaded {
  readonly requests: number;
  readonly seconds: number;
  /** Microseconds. */
  readonly p50: number;
  readonly p99: number;
  /** Without any response. */
  readonly failed: number;
  /** With a status of 400 or above. */
  readonly refused: number;
}

/** What a program prints about its version; undefined if it is not installed. */
export function versionOf(command: string, ...args: string[]): string | undefined {
  const { error, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  return error === undefined ? stdout + stderr : undefined;
}

const wrkVersion = /wrk \S+/.exec(versionOf('wrk', '-v') ?? '')?.[0];
export const GENERATOR = wrkVersion ?? 'autocannon';

const HERE = import.meta.dirname;
const run = promisify(execFile);

interface LoadOptions {
  readonly role?: Role;
  readonly connections?: number;
}

export async function load(
  port: number,
  ask: Ask,
  seconds: number,
  seed: number,
  { role = 'load', connections = CONNECTIONS }: LoadOptions = {},
): Promise<Loaded> {
  const { before, users, after, etags, zipf = 0 } = ask;
  const what = [before, users, after, seed, zipf, ...(etags === undefined ? [] : [etags])].map(String);
  const generator = wrkVersion === undefined ? autocannon : wrk;
  const [command, args] = pinned(role, [...generator(port, seconds, connections), ...what]);
  const { stdout } = await run(command, args);
  return JSON.parse(stdout.trim().split('\n').at(-1) as string) as Loaded;
}

const wrk = (port: number, seconds: number, connections: number) => [
  ...['wrk', '-t', '1', '-c', String(connections), '-d', `${Math.ceil(seconds)}s`, '--timeout', '20s'],
  ...['-s', join(HERE, 'wrk.lua'), `http://127.0.0.1:${port}`, '--'],
];

const autocannon = (port: number, seconds: number, connections: number) => [
  process.execPath,
  join(HERE, 'autocannon.ts'),
  ...[port, seconds, connections].map(String),
];
