// One host that is read from: a few pipelined connections, and one more that watches whether it lives and what it holds.
import type { HostAddress, PostgresAddress } from '../../config/database-url.ts';
import { type Client, codeOf, connect, drop, nameOf, prepareClient, sentence } from './connect.ts';
import { refuseUnfit } from './database.ts';

/** How many connections a process reads through; each takes many queries one after another without waiting. */
const CONNECTIONS = 4;
/** How often a host is looked at: well within the second after which new data is to show. */
const GLANCE_MS = 250;
/** A host that takes longer to be reached or looked at is not used. */
const PATIENCE_MS = 600;
const QUERY_MS = 3000;
const MANNER = { rowMode: 'array', query_timeout: QUERY_MS } as const;
/** The server ends what nobody waits for any more. */
const OPTIONS = `-c default_transaction_read_only=on -c statement_timeout=${QUERY_MS}`;

export interface Query {
  readonly name: string;
  readonly text: string;
}

export interface HostTold {
  /** What was seen of the host's data, by looking or because it said so. */
  readonly onGeneration: (generation: number) => void;
  readonly onUp: (name: string, mayWrite: boolean) => void;
  readonly onDown: (reason: string) => void;
}

export type Host = ReturnType<typeof createHost>;

export function createHost(
  address: PostgresAddress,
  where: HostAddress,
  { onGeneration, onUp, onDown }: HostTold,
) {
  const name = nameOf(where);
  const slots: Slot[] = Array.from({ length: CONNECTIONS }, () => ({
    busy: 0,
    opening: undefined,
    client: undefined,
  }));
  let watcher: Client | undefined;
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> | undefined;
  let closed = false;

  const host = {
    name,
    /** Undefined until it was looked at. */
    up: undefined as boolean | undefined,
    /** What its data was when it was last heard of. */
    generation: 0,
    /** Why it is not used. */
    fault: undefined as unknown,

    /** The first row that a query gives. */
    ask,

    /** What a query failed with: a broken connection leaves the host out until it was looked at again. */
    failed(error: unknown): void {
      if (isOfTheData(error)) return;
      down(error);
      void look();
    },
    look,

    async close(): Promise<void> {
      closed = true;
      clearTimeout(timer);
      const clients = [watcher, ...slots.map(({ client }) => client)].filter(
        (client) => client !== undefined,
      );
      await Promise.all(clients.map(ended));
    },
  };

  async function ask(query: Query, values: string[]): Promise<(string | null)[]> {
    const slot = leastBusy(slots);
    slot.busy++;
    try {
      const client = slot.client ?? (await opened(slot));
      const { rows } = await client.query<(string | null)[]>({ ...query, ...MANNER, values });
      return rows[0] as (string | null)[];
    } finally {
      slot.busy--;
    }
  }

  function opened(slot: Slot): Promise<Client> {
    slot.opening ??= (async () => {
      const client = prepareClient(address, where, {
        pipeline: true,
        options: OPTIONS,
        connectionTimeoutMillis: PATIENCE_MS,
      });
      client.once('end', () => {
        if (slot.client === client) slot.client = undefined;
      });
      await client.connect();
      slot.client = client;
      return client;
    })().finally(() => {
      slot.opening = undefined;
    });
    return slot.opening;
  }

  /** Sees whether the host can be used; one glance at a time. */
  function look(): Promise<void> {
    clearTimeout(timer);
    looking ??= glance().finally(() => {
      looking = undefined;
      if (closed) return;
      timer = setTimeout(look, GLANCE_MS);
      timer.unref();
    });
    return looking;
  }

  async function glance(): Promise<void> {
    try {
      watcher ??= await startWatching();
      const [row = []] = (
        await within(PATIENCE_MS, watcher.query<string[]>({ text: GLANCE, rowMode: 'array' }))
      ).rows;
      const [generation, schema, standby, mayWrite, listening] = row;
      refuseUnfit(name, Number(schema));
      // A standby cannot listen; it may be promoted at any time.
      if (standby === 'f' && listening === 'f') await within(PATIENCE_MS, watcher.query(`LISTEN ${CHANNEL}`));
      if (closed) return;
      heard(Number(generation));
      if (host.up === true) return;
      host.up = true;
      host.fault = undefined;
      onUp(name, mayWrite === 't');
    } catch (error) {
      down(error);
    }
  }

  async function startWatching(): Promise<Client> {
    const client = await connect(address, where, { options: OPTIONS, connectionTimeoutMillis: PATIENCE_MS });
    client.on('notification', ({ payload }) => heard(Number(payload)));
    client.once('end', () => {
      if (watcher !== client) return;
      watcher = undefined;
      if (!closed) void look();
    });
    return client;
  }

  function heard(generation: number): void {
    host.generation = generation;
    onGeneration(generation);
  }

  function down(error: unknown): void {
    if (closed) return;
    const before = host.up;
    host.up = false;
    host.fault = error;
    const lost = watcher;
    watcher = undefined;
    if (lost !== undefined) drop(lost);
    for (const slot of slots) {
      if (slot.client !== undefined) drop(slot.client);
      slot.client = undefined;
    }
    if (before !== false) onDown(sentence(name, error));
  }

  return host;
}

interface Slot {
  busy: number;
  opening: Promise<Client> | undefined;
  client: Client | undefined;
}

/** An idle connection, else one that is not open yet, else the one with the least to do. */
function leastBusy(slots: readonly Slot[]): Slot {
  let best = slots[0] as Slot;
  for (const slot of slots) {
    if (
      slot.busy < best.busy ||
      (slot.busy === best.busy && best.client === undefined && slot.client !== undefined)
    )
      best = slot;
  }
  return best;
}

/** On which a primary tells of a new generation. */
export const CHANNEL = 'vitrine';

const GLANCE = `SELECT generation, schema, pg_is_in_recovery(), has_table_privilege('items', 'INSERT, UPDATE, DELETE, TRUNCATE'),
  '${CHANNEL}' IN (SELECT pg_listening_channels())
  FROM vitrine LEFT JOIN profiles ON false LEFT JOIN items ON false`;

/** Whether a query failed for its own sake and the connection is as good as before: a conflict on a standby, say. */
const isOfTheData = (error: unknown) => /^(40|57014|0A|26|42|XX)/.test(codeOf(error));

/** Fails when it takes too long, unless it was this process that was slow and the answer has come by now. */
function within<T>(milliseconds: number, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(Object.assign(new Error('it took too long'), { code: 'ETIMEDOUT' }));
    const timer = setTimeout(() => setImmediate(late), milliseconds);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** Says goodbye, but does not wait for a host that is not there. */
async function ended(client: Client): Promise<void> {
  await within(PATIENCE_MS, client.end()).catch(() => drop(client));
}
