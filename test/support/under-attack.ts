// A server with little memory, under an attack, beside two good clients: one opens a connection for each request, one keeps
// its own. See attacks.ts.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, type RequestOptions, request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { endWithTests } from './at-end.ts';
import { ATTACKS, type Attack, type AttackName } from './attacks.ts';
import type { MemoryGroup } from './memory-group.ts';
import type { Environment } from './run.ts';
import { startServer } from './server.ts';
import { adminOf, until } from './stress.ts';

export interface AttackOptions {
  readonly env?: Environment;
  /** How long it takes at least, in seconds. */
  readonly seconds: number;
  /** How many responses each good client waits for at least. */
  readonly answers: number;
  /** How long the good clients wait for a response, in seconds. */
  readonly patience: number;
  readonly clients?: number;
  /** The path of the server's unix socket. */
  readonly socketPath?: string;
}

/** How many requests got which status, or why they got none. */
type Counts = Record<string, number>;

export interface Outcome {
  /** What the good client with new connections got. */
  readonly fresh: Counts;
  /** And the one that keeps its own. */
  readonly kept: Counts;
  /** Megabytes that the group had at most. */
  readonly peak: number;
  /** The exit code of the server, which is told to stop after the attack. */
  readonly code: number | null;
}

const GOOD_PATH = '/b/api/username/ada';
const PAUSE_MS = 500;
/** As in the image and the printed unit. */
export const AS_SHIPPED = { MALLOC_ARENA_MAX: '2' };

/** Sockets of one process, without those it needs for itself. */
export function mostSockets(): number {
  const limits = readFileSync('/proc/self/limits', 'utf8');
  return Number(/^Max open files +\d+ +(\d+)/m.exec(limits)?.[1] ?? 1024) - 150;
}

export async function attackServer(
  name: AttackName,
  group: MemoryGroup,
  options: AttackOptions,
): Promise<Outcome> {
  const { env = {}, seconds, answers, patience, socketPath } = options;
  const attack: Attack = ATTACKS[name];
  const clients = options.clients ?? attack.clients;
  const server = await group.start(() => startServer({ ...AS_SHIPPED, ...env, ADMIN_PORT: '0' }));
  const target = attack.admin ? adminOf(server) : server;
  const where = socketPath === undefined ? { host: '127.0.0.1', port: server.port } : { socketPath };
  const ask = (agent: Agent | false) => askOnce({ ...where, agent }, patience * 1000);
  const kept = new Agent({ keepAlive: true, maxSockets: 1 });
  // A server that has just started grows with any load.
  const warming = new Agent({ keepAlive: true, maxSockets: 8 });
  for (let turn = 0; turn < 50; turn++) await Promise.all(Array.from({ length: 20 }, () => ask(warming)));
  warming.destroy();

  const attacker = endWithTests(
    fork(join(import.meta.dirname, 'attacks.ts'), [
      name,
      socketPath ?? String(target.port),
      String(Math.min(clients, mostSockets())),
    ]),
  );
  try {
    await begin(attacker);
    const burst = async () => {
      // Whatever the machine does meanwhile, the server finds all requests at once.
      server.child.kill('SIGSTOP');
      attacker.send('go');
      await once(attacker, 'message');
      server.child.kill('SIGCONT');
    };
    const freshCounts: Counts = {};
    const keptCounts: Counts = {};
    const end = performance.now() + seconds * 1000;
    for (let turn = 0; turn < answers || performance.now() < end; turn++) {
      await burst();
      await Promise.all([count(freshCounts, ask(false)), count(keptCounts, ask(kept))]);
      if (server.child.exitCode !== null || server.child.signalCode !== null) break;
      await delay(PAUSE_MS);
    }
    attacker.kill('SIGKILL');
    kept.destroy();
    const peak = Math.round(group.peak() / 2 ** 20);
    return { fresh: freshCounts, kept: keptCounts, peak, code: await server.stop() };
  } finally {
    attacker.kill('SIGKILL');
    kept.destroy();
    server.child.kill('SIGCONT');
    server.child.kill('SIGKILL');
    await server.ended;
    // The system frees what they had a little later.
    await until('the end of the group', () => group.isEmpty());
  }
}

/** A server that ends meanwhile is what the good clients find. */
async function begin(attacker: ChildProcess): Promise<void> {
  await Promise.race([once(attacker, 'message'), delay(20_000)]);
}

async function count(counts: Counts, asked: Promise<string>): Promise<void> {
  const result = await asked;
  counts[result] = (counts[result] ?? 0) + 1;
}

/** The status, or why there is none. */
function askOnce(options: RequestOptions, timeout: number): Promise<string> {
  return new Promise((resolve) => {
    const asked = request({ ...options, path: GOOD_PATH }, (response) =>
      response
        .on('error', ({ message }) => resolve(message))
        .on('end', () => resolve(String(response.statusCode)))
        .resume(),
    );
    const timer = setTimeout(() => asked.destroy(new Error('no response in time')), timeout);
    asked
      .on('error', (error) => resolve('code' in error ? String(error.code) : error.message))
      .on('close', () => clearTimeout(timer))
      .end();
  });
}
