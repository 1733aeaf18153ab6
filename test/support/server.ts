// Starts a server in a process of its own; `serve-here.ts` has one in the process of the tests.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { loadedFirst } from './files.ts';
import { freePort } from './free-port.ts';
import { dropConnections } from './http.ts';
import { type Environment, type ProcessOptions, vitrine } from './run.ts';

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
    dropConnections();
    child.kill('SIGTERM');
    return ended;
  };
  return { url, port: Number(new URL(url).port), child, log, ended, stop };
}
