// Puts load on one port with wrk, from a core of its own where there are two.
import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { get, type IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { pinned } from './servers.ts';

export const CONNECTIONS = 32;

/** What is requested: random users, or always the same address. */
export interface Target {
  /** The address up to the user's number. */
  readonly before: string;
  /** How many users there are; 0: `before` is the whole address. */
  readonly users: number;
  readonly after?: string;
  /** A file with the ETags that clients send as If-None-Match, one a line in the order of the users. */
  readonly etags?: string;
  /** A file with an address for each user, in place of these. */
  readonly addresses?: string;
  readonly gzip?: boolean;
}

/** The address of the first user. */
export function firstAddress({ before, users, after = '', addresses }: Target): string {
  if (addresses !== undefined) return readFileSync(addresses, 'utf8').split('\n')[0] as string;
  return users === 0 ? before : `${before}1${after}`;
}

interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  /** Microseconds. */
  readonly p99: number;
  /** Without any response. */
  readonly failed: number;
  /** With a status of 400 or above. */
  readonly refused: number;
}

/** What a program prints about its version; undefined if it is not installed. */
export function version(command: string): string | undefined {
  const { error, stdout, stderr } = spawnSync(command, ['-v'], { encoding: 'utf8' });
  return error === undefined ? stdout + stderr : undefined;
}

export const WRK = /wrk \S+/.exec(version('wrk') ?? '')?.[0];

export async function load(port: number, target: Target, seconds: number, seed: number): Promise<LoadResult> {
  const { before, users, after = '', etags = '', addresses = '', gzip = false } = target;
  const [command, args] = pinned('load', [
    ...['wrk', '-t', '1', '-c', String(CONNECTIONS), '-d', `${seconds}s`, '--timeout', '20s'],
    ...(gzip ? ['-H', 'Accept-Encoding: gzip, deflate, br'] : []),
    ...['-s', join(import.meta.dirname, 'wrk.lua'), `http://127.0.0.1:${port}`, '--'],
    ...[before, users, after, seed, etags, addresses].map(String),
  ]);
  const { stdout } = await promisify(execFile)(command, args);
  return JSON.parse(stdout.trim().split('\n').at(-1) as string) as LoadResult;
}

export interface WireResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** As it was sent. */
  readonly body: Buffer;
}

export function request(port: number, path: string, headers = {}): Promise<WireResponse> {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, path, headers, agent: false }, async (response) => {
      const body = Buffer.concat(await response.toArray());
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
    }).once('error', reject);
  });
}

export const textOf = ({ headers, body }: WireResponse) =>
  String(headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body);
