// The server under measurement, with a quiet log or with one that tells its addresses.
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Process, type StartOptions, start } from './processes.ts';

export const VITRINE = join(import.meta.dirname, '../../src/vitrine.js');

export const startVitrine = (
  database: string,
  { env = {}, ...options }: StartOptions = {},
): Promise<Process> =>
  start(() => [process.execPath, VITRINE, 'serve'], {
    env: { DATABASE_URL: database, ...env },
    probe: '/healthz',
    ...options,
  });

export interface Serving {
  readonly child: ChildProcess;
  readonly url: string;
  readonly adminUrl: string;
}

/** Starts a server with an admin port, on ports of its own choice. */
export async function serve(...args: string[]): Promise<Serving> {
  const command = [VITRINE, 'serve', '--port', '0', '--admin-port', '0', ...args];
  const child = spawn(process.execPath, command, { stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of createInterface({ input: child.stdout })) {
    const { msg, url, adminUrl } = JSON.parse(line);
    if (msg !== 'serving') continue;
    child.stdout.resume();
    return { child, url, adminUrl };
  }
  throw new Error('the server did not start');
}
