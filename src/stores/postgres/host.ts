// One host that is read from, and a poll that finds out whether it can be used and how new its data is.
import type pg from 'pg';
import type { HostAddress, PostgresAddress } from '../../config/database-url.ts';
import { StoreError } from '../errors.ts';
import { hostName } from './connect.ts';
import type { TextRow } from './dialect.ts';
import { isQueryError } from './errors.ts';
import { refuseUnfit } from './migrate.ts';
import { createReadPool, type ReadPool, readRows, withTimeout } from './pool.ts';

/** New data must be visible within a second. */
const POLL_MS = 250;
/** A host that takes longer to answer a poll is not used. */
const ANSWER_MS = 600;

export interface Host {
  readonly name: string;
  /** Undefined before the first poll has ended. */
  up: boolean | undefined;
  /** Why it is not used. */
  fault: unknown;
  /** The newest that was read from it. */
  generation: number;
  /** It is no standby. */
  writable: boolean;
  /** The role in the URL may change the data. */
  mayWrite: boolean;
  query(query: pg.QueryConfig): Promise<TextRow[]>;
  /** Reports a failed query: unless only the query is at fault, the host is not used until a poll succeeds. */
  failed(error: unknown): void;
  /** Begins to poll; resolves after the first time. */
  start(): Promise<void>;
  close(): Promise<void>;
}

const UNKNOWN = { up: undefined, fault: undefined, generation: 0, writable: false, mayWrite: false };

/** Called after each poll and failure, with what `up` was before. */
type PollListener = (host: Host, wasUp: boolean | undefined) => void;

export function createHost(address: PostgresAddress, where: HostAddress, onPoll: PollListener): Host {
  const pool = createReadPool(address, where);
  const poller = createPoller(pool);
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  const host: Host = {
    name: hostName(where),
    ...UNKNOWN,
    query: pool.query,
    failed(error) {
      if (host.up && !isQueryError(error)) down(error);
    },
    start: poll,
    async close() {
      closed = true;
      clearTimeout(timer);
      poller.drop();
      await pool.close();
    },
  };
  return host;

  async function poll(): Promise<void> {
    try {
      update({ ...(await ask(host.name, await poller.connection())), up: true, fault: undefined });
    } catch (error) {
      down(error);
    }
    if (!closed) timer = setTimeout(poll, POLL_MS).unref();
  }

  function down(error: unknown): void {
    if (closed) return;
    poller.drop();
    pool.reset(error);
    update({ up: false, fault: error, writable: false });
  }

  function update(changes: Partial<Host>): void {
    if (closed) return;
    const wasUp = host.up;
    Object.assign(host, changes);
    onPoll(host, wasUp);
  }
}

/** Keeps a connection for the polls alone: lookups that wait for a lock may have all others. */
function createPoller(pool: ReadPool) {
  let current: Promise<pg.PoolClient> | undefined;

  function drop(): void {
    current?.then((client) => client.release(true)).catch(() => {});
    current = undefined;
  }

  function connect(): Promise<pg.PoolClient> {
    const connecting = pool.connect();
    // A connection that is closed between two polls says nothing about the host.
    const dropIfCurrent = () => void (current === connecting && drop());
    connecting.then((client) => client.once('end', dropIfCurrent)).catch(() => {});
    return connecting;
  }

  return { connection: () => (current ??= connect()), drop };
}

/** Fails if one of the tables is lost, and names it. */
const POLL = `
  SELECT generation, schema,
    has_table_privilege('profiles', 'SELECT') AND has_table_privilege('lists', 'SELECT'),
    has_table_privilege('items', 'INSERT, UPDATE, DELETE, TRUNCATE'),
    pg_is_in_recovery()
  FROM vitrine`;

/** What a poll learns about the host; throws if it cannot be used. */
async function ask(name: string, client: pg.PoolClient) {
  const [row = []] = await withTimeout(ANSWER_MS, readRows(client, { text: POLL }));
  const [generation, schema, mayRead, mayWrite, isStandby] = row;
  refuseUnfit(name, Number(schema));
  if (mayRead === 'f')
    throw new StoreError(
      `The database at ${name} does not let this role read: GRANT SELECT ON ALL TABLES IN SCHEMA public TO it.`,
    );
  return { generation: Number(generation), mayWrite: mayWrite === 't', writable: isStandby === 'f' };
}
