// PostgreSQL as it is served: each read goes to a host that lives, and never back behind what was read before.
import { setTimeout as delay } from 'node:timers/promises';
import { parsePostgresUrl } from '../../config/database-url.ts';
import { ITEM_CAP } from '../../records/kinds.ts';
import { type Counts, type Reader, StoreError } from '../store.ts';
import { isLasting, isUnprepared, sentence } from './connect.ts';
import { allRecords, countRecords, NO_COUNTS, prepareDatabase } from './database.ts';
import { createHost, type Host, type Query } from './host.ts';

/** How long a read is tried on one host after another. */
const READ_MS = 1000;
const PAUSE_MS = 20;

// The generation comes with the record from the same statement, hence of the same moment.
const PROFILE: Query = {
  name: 'profile',
  text: `SELECT generation, (SELECT record FROM profiles WHERE family = $1 AND user_key = $2) FROM vitrine`,
};
const ITEMS: Query = {
  name: 'items',
  text: `SELECT generation, (
    SELECT '{"' || $3::text || '":[' || coalesce((
      SELECT string_agg(record, ',' ORDER BY date DESC, id DESC) FROM (
        SELECT date, id, record FROM items WHERE items.family = profiles.family AND owner = profiles.id
        ORDER BY date DESC, id DESC LIMIT ${ITEM_CAP}) AS newest), '') || ']}'
    FROM profiles WHERE family = $1 AND user_key = $2) FROM vitrine`,
};

export interface ServedOptions {
  /** Told of what happened to the data, in a sentence. */
  readonly onChange: (what: string) => void;
  readonly onWarning: (what: string) => void;
  readonly onFault: (what: string) => void;
}

export async function openServed(
  url: string,
  { onChange, onWarning, onFault }: ServedOptions,
): Promise<Reader> {
  const address = parsePostgresUrl(url);
  let newest = 0;
  let aliveAt = 0;
  let failure: unknown;
  let turn = 0;
  let warned = false;
  let started = false;

  const hosts = address.hosts.map((where) =>
    createHost(address, where, {
      onGeneration: learn,
      onUp(name, mayWrite) {
        if (started) onChange(`the database at ${name} answers again`);
        if (!mayWrite || warned) return;
        warned = true;
        onWarning('the role in DATABASE_URL may change the data: give the server one that may only read');
      },
      onDown(reason) {
        aliveAt = performance.now();
        if (started) onFault(reason);
      },
    }),
  );
  await start();

  function learn(generation: number): void {
    if (generation <= newest) return;
    newest = generation;
    if (started) onChange('the data changed');
  }

  async function start(): Promise<void> {
    const look = async () => void (await Promise.all(hosts.map((host) => host.look())));
    await look();
    if (!hosts.some((host) => host.up) && hosts.some(({ fault }) => isUnprepared(fault))) {
      await prepareDatabase(url).catch(() => {});
      await look();
    }
    const faults = hosts.filter((host) => !host.up);
    const reasons = faults.map(({ name, fault }) => sentence(name, fault));
    if (faults.length === hosts.length && faults.every(({ fault }) => isLasting(fault))) {
      await Promise.all(hosts.map((host) => host.close()));
      throw new StoreError(reasons.join(' '));
    }
    started = true;
    reasons.forEach(onFault);
  }

  /** The host to ask next: one with the newest data, in turns; else one that may have caught up by now. */
  function choose(tried: ReadonlySet<Host>): Host | undefined {
    let best: Host | undefined;
    for (let i = 0; i < hosts.length; i++) {
      const host = hosts[(turn + i) % hosts.length] as Host;
      if (!host.up || tried.has(host)) continue;
      if (host.generation >= newest) {
        turn = (turn + i + 1) % hosts.length;
        return host;
      }
      best ??= host;
    }
    return best;
  }

  async function read(query: Query, ...values: string[]): Promise<Buffer | undefined> {
    const tried = new Set<Host>();
    for (const deadline = performance.now() + READ_MS; ; ) {
      const host = choose(tried);
      if (host === undefined) {
        const now = performance.now();
        if (hosts.some(({ up }) => up)) aliveAt = now;
        // What was cut off gets its second; what comes when it has long been away is not kept waiting.
        if (now > deadline || now - aliveAt > READ_MS)
          throw new StoreError(reason() ?? `The data cannot be read: ${(failure as Error).message}`);
        await delay(PAUSE_MS);
        tried.clear();
        continue;
      }
      tried.add(host);
      try {
        const [generation, body] = (await host.ask(query, values)) as [string, string | null];
        host.generation = Number(generation);
        learn(host.generation);
        if (host.generation < newest) continue;
        return body === null ? undefined : Buffer.from(body);
      } catch (error) {
        failure = error;
        host.failed(error);
      }
    }
  }

  function reason(): string | undefined {
    const alive = hosts.filter(({ up }) => up);
    if (alive.length === 0) return hosts.map(({ name, fault }) => sentence(name, fault)).join(' ');
    if (alive.some(({ generation }) => generation >= newest)) return undefined;
    return 'The databases that answer are behind what was served before; they have to catch up, or to be imported into again.';
  }

  let known = { at: Number.NaN, counts: NO_COUNTS };
  let counting: Promise<Counts> | undefined;

  /** Counting reads every key: it is done once for each generation. */
  async function count(): Promise<Counts> {
    const at = newest;
    try {
      known = { at, counts: await countRecords(url) };
    } catch {
      // What was counted before is still the best there is to say.
    }
    counting = undefined;
    return known.counts;
  }

  return {
    events: { swaps: 0, refusals: 0 },
    version: () => newest,
    profile: (family, userKey) => read(PROFILE, family, userKey),
    items: (family, userKey, collection) => read(ITEMS, family, userKey, collection),
    counts() {
      if (known.at === newest) return known.counts;
      counting ??= count();
      return counting;
    },
    records: () => allRecords(url),
    fault: reason,
    async close() {
      await Promise.all(hosts.map((host) => host.close()));
    },
  };
}
