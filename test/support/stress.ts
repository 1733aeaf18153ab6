// Shared tools of the stress tests: waiting with a deadline, metrics, generations of data, and load.
import { setTimeout as delay } from 'node:timers/promises';
import { errorCode } from '../../src/records/thrown.ts';
import { expectedItems, expectedRecord, type Raw, VARIANTS } from './expected.ts';
import { ask, dial, type Reply } from './http.ts';
import { blog, folio, post, shot } from './records.ts';
import type { LocalServer } from './server.ts';

/** Polls until `look` returns a truthy value. */
export async function until<T>(
  what: string,
  look: () => T | Promise<T>,
  seconds = 100,
): Promise<Exclude<T, undefined | false | null>> {
  const deadline = Date.now() + seconds * 1000;
  for (;;) {
    const seen = await look();
    if (seen) return seen as Exclude<T, undefined | false | null>;
    if (Date.now() > deadline) throw new Error(`waited ${seconds} s in vain for ${what}`);
    await delay(10);
  }
}

/** Whether no process listens on the port. A connection that is reset was waiting for one of several processes. */
export async function isRefused(server: Pick<LocalServer, 'port'>): Promise<boolean> {
  try {
    (await dial(server)).destroy();
    return false;
  } catch (error) {
    return errorCode(error) === 'ECONNREFUSED';
  }
}

export interface LogLine extends Record<string, unknown> {
  readonly level: number;
  readonly time: string;
  readonly msg: string;
}

/** The log so far; every line must be JSON. */
export const linesOf = ({ log }: Pick<LocalServer, 'log'>) => log.map((line) => JSON.parse(line) as LogLine);

/** Waits for the first line from `from` on that matches. */
export const logged = (server: Pick<LocalServer, 'log'>, said: RegExp, from = 0) =>
  until(`a log line like ${said}`, () =>
    linesOf(server)
      .slice(from)
      .find(({ msg }) => said.test(msg)),
  );

export function adminOf(server: LocalServer): Pick<LocalServer, 'port'> {
  const serving = linesOf(server).find(({ msg }) => msg === 'serving');
  return { port: Number(new URL(serving?.adminUrl as string).port) };
}

/** What the admin port says at /metrics now: for a second it gives all who ask one text, with an Age. */
export const askMetrics = (admin: Pick<LocalServer, 'port'>): Promise<Reply> =>
  until('metrics of now', async () => {
    const reply = await ask(admin, '/metrics');
    return reply.headers.age === undefined && reply;
  });

/** The metrics of the admin port: values by name and labels. */
export async function metricsOf(server: LocalServer): Promise<Map<string, number>> {
  const { body } = await askMetrics(adminOf(server));
  const samples = body.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    samples.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
}

export const USERS = 12;
const GENERATION = /generation (\d+)\b/g;

/** The same users in both families, user N with 2(N − 1) items; every text names the generation. */
export function generation(number: number): Raw[] {
  const text = `generation ${number} ${'of many '.repeat(number % 7)}`;
  const date = (item: number) => `2024-01-${String(item + 1).padStart(2, '0')} 00:00:00`;
  return Array.from({ length: USERS }, (_, index) => index + 1).flatMap((user) => [
    blog(user, `user${user}`, { totalPost: String(number), bio: text }),
    folio(user, `user${user}`, { totalShots: String(number), bio: text }),
    ...Array.from({ length: (user - 1) * 2 }, (_, item) => [
      post(user * 100 + item, user, { post_details: text, date: date(item) }),
      shot(user * 100 + item, user, { title: text, date: date(item) }),
    ]).flat(),
  ]);
}

/** The expected body of each address while a generation is served. */
export function bodiesOf(records: readonly Raw[]): Map<string, string> {
  return new Map(
    VARIANTS.flatMap(({ family, profile, item, collection, profileOf, itemsOf }) => {
      const member = family === 'microblog' ? 'totalPost' : 'totalShots';
      const items = records.filter((record) => record[item === 'post' ? 'user' : 'user_id'] !== undefined);
      return records
        .filter((record) => record[member] !== undefined)
        .flatMap((record) => [
          [profileOf(record.username as string), JSON.stringify(expectedRecord(profile, record))] as const,
          [
            itemsOf(record.username as string),
            JSON.stringify({ [collection]: expectedItems(item, items, record.id) }),
          ] as const,
        ]);
    }),
  );
}

/** The generation named in a body; undefined for an empty list. */
export function generationOf(body: string): number | undefined {
  const found = new Set([...body.matchAll(GENERATION)].map(([, number]) => Number(number)));
  if (found.size > 1) throw new Error(`a body of several generations: ${[...found]}`);
  return [...found][0];
}

/** Requests these addresses over keep-alive connections until stopped; `judge` describes faults of a response. */
export function startLoad(
  server: Pick<LocalServer, 'port'>,
  addresses: readonly string[],
  judge: (address: string, reply: Reply) => string | undefined,
  clients = 8,
) {
  const faults: string[] = [];
  let answered = 0;
  let going = true;

  async function client(seed: number): Promise<void> {
    for (let turn = seed; going; turn += 7) {
      const address = addresses[turn % addresses.length] as string;
      try {
        const reply = await ask(server, address);
        const fault = judge(address, reply);
        if (fault !== undefined) faults.push(`${address}: ${fault}`);
      } catch (error) {
        faults.push(`${address}: ${(error as Error).message}`);
      }
      answered++;
    }
  }

  const clientsDone = Promise.all(Array.from({ length: clients }, (_, seed) => client(seed)));
  return {
    /** The number of requests answered so far. */
    answered: () => answered,
    /** Waits until so many more have been answered. */
    more(many: number) {
      const before = answered;
      return until(`${many} more answers`, () => answered > before + many);
    },
    /** Stops the load; returns the faults found in responses. */
    async stop() {
      going = false;
      await clientsDone;
      return faults;
    },
  };
}
