// The connections that a host is read through: a pg.Pool of sessions that cannot write.
import pg from 'pg';
import type { HostAddress, PostgresAddress } from '../../config/database-url.ts';
import type { TextRow } from '../sql/sql-adapter.ts';
import { clientConfig } from './connect.ts';
import { firstValue } from './dialect.ts';
import { CANCELLED, NO_TURN } from './errors.ts';
import { withTimeout } from './with-timeout.ts';

const IDLE_MS = 60_000;
/** How long closing waits for a host that may not respond. */
const CLOSE_MS = 600;

// Compiling a query takes PostgreSQL up to a second; running it takes milliseconds.
const sessionOptions = (cancelAfter: number) =>
  `-c default_transaction_read_only=on -c statement_timeout=${cancelAfter} -c jit=off`;
/** What the session settings do, for one transaction. */
const beginSql = (cancelAfter: number) =>
  `BEGIN READ ONLY; SET LOCAL statement_timeout = ${cancelAfter}; SET LOCAL jit = off`;

/** Clients behind a pooler that dropped the session settings: nothing that belongs to a session works. */
const pooled = new WeakSet<pg.ClientBase>();

async function prepareClient(client: pg.Client, limit: number): Promise<void> {
  // Queries report that a connection broke; an idle one that breaks must not crash the process.
  client.on('error', () => {});
  const first = firstValue(client, 'SHOW default_transaction_read_only');
  try {
    if ((await withTimeout(limit, first, NO_TURN)) !== 'on') pooled.add(client);
  } catch (error) {
    // Otherwise it would wait for the query. A pooler lets clients in that cannot ask anything yet.
    client.connection.stream.destroy();
    throw error;
  }
}

async function readRows(
  client: pg.ClientBase,
  query: pg.QueryConfig,
  cancelAfter: number,
): Promise<TextRow[]> {
  const run = async (query: pg.QueryConfig) =>
    (await client.query<TextRow>({ ...query, rowMode: 'array' })).rows;
  if (!pooled.has(client)) return await run(query);
  const [, rows] = await Promise.all([
    client.query(beginSql(cancelAfter)),
    // Without a name: the next transaction may reach another server process, which has not prepared it.
    run({ ...query, name: undefined }),
    client.query('COMMIT'),
  ]);
  return rows;
}

interface PoolOptions {
  readonly connections: number;
  /** How long the server works on a query, in milliseconds: its client has gone by then. */
  readonly cancelAfter: number;
  /** How long a query may take. Connecting has a limit of its own, in the URL. */
  readonly answerWithin: number;
}

export function createReadPool(
  address: PostgresAddress,
  where: HostAddress,
  { connections, cancelAfter, answerWithin }: PoolOptions,
) {
  const options: pg.PoolConfig = {
    ...clientConfig(address, where),
    max: connections,
    idleTimeoutMillis: IDLE_MS,
    pipeline: true,
    options: sessionOptions(cancelAfter),
    // A pool makes clients of this class.
    onConnect: (client) => prepareClient(client as pg.Client, address.connectTimeout),
  };
  const pending = new Set<(error: unknown) => void>();
  let pool = openPool(options);

  async function run(query: pg.QueryConfig, call: { isOver: boolean }): Promise<TextRow[]> {
    const client = await pool.connect();
    try {
      // Under load, queries whose caller has given up would hold up all others.
      if (call.isOver) return [];
      return await withTimeout(answerWithin, readRows(client, query, cancelAfter));
    } finally {
      // The pool drops the client if its connection broke.
      client.release();
    }
  }

  return {
    /** Takes no longer than `limit`, in milliseconds, with the wait for a connection. */
    async query(query: pg.QueryConfig, limit?: number): Promise<TextRow[]> {
      const { promise, reject } = Promise.withResolvers<never>();
      pending.add(reject);
      const call = { isOver: false };
      const rows = run(query, call);
      try {
        const found = limit === undefined ? rows : withTimeout(limit, rows, CANCELLED);
        return await Promise.race([found, promise]);
      } finally {
        call.isOver = true;
        pending.delete(reject);
      }
    },

    /** Fails all queries at once, which pg.Pool does not do, and starts anew. */
    reset(error: unknown): void {
      void pool.end();
      pool = openPool(options);
      for (const reject of pending) reject(error);
      pending.clear();
    },

    close: () => withTimeout(CLOSE_MS, pool.end()).catch(() => {}),
  };
}

const openPool = (options: pg.PoolConfig) => new pg.Pool(options).on('error', () => {});
