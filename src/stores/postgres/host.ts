// One host that is read from, and a poll that finds out whether it can be used and how new its data is.

import type pg from 'pg';
import type { HostAddress, PostgresAddress } from '../../config/database-url.ts';
import { StoreError } from '../errors.ts';
import type { TextRow } from '../sql/sql-adapter.ts';
import { hostName } from './connect.ts';
import { isQueryError } from './errors.ts';
import { refuseOtherContents, refuseUnfit } from './migrate.ts';
import { type createReadPool, STATEMENT_MS } from './pool.ts';

/** New data must be visible within a second. */
const POLL_MS = 250;
/** The server cancels a query first, which is no fault of the connection. */
const LOOKUPS = { connections: 9, answerWithin: STATEMENT_MS + 1000 };
/** A connection of its own: lookups that wait for a lock may have all others. A host that takes longer is not used. */
const POLLS = { connections: 1, answerWithin: 600 };

export interface Host {
  readonly name: string;
  /** Undefined before the first poll has ended. */
  up: boolean | undefined;
  fault: unknown;
  /** The newest that was read from it. */
  generation: number;
  /** It is no standby. */
  writable: boolean;
  query(query: pg.QueryConfig): Promise<TextRow[]>;
  /** Reports a failed query: unless only the query is at fault, the host is not used until a poll succeeds. */
  failed(error: unknown): void;
  /** Begins to poll; resolves after the first time. */
  start(): Promise<void>;
  close(): Promise<void>;
}

const UNKNOWN = { up: undefined, fault: new Error('timeout'), generation: 0, writable: false };

/** Called after each poll and failure, with what `up` was before. */
type PollListener = (host: Host, wasUp: boolean | undefined) => void;

export function createHost(
  address: PostgresAddress,
  where: HostAddress,
  onPoll: PollListener,
  createPool: typeof createReadPool,
): Host {
  const lookups = createPool(address, where, LOOKUPS);
  const polls = createPool(address, where, POLLS);
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  const host: Host = {
    name: hostName(where),
    ...UNKNOWN,
    query: lookups.query,
    failed(error) {
      if (host.up && !isQueryError(error)) down(error);
    },
    start: poll,
    async close() {
      closed = true;
      clearTimeout(timer);
      await Promise.all([lookups.close(), polls.close()]);
    },
  };
  return host;

  async function poll(): Promise<void> {
    try {
      const [row = []] = await polls.query({ text: POLL });
      const found = readPoll(host.name, row);
      if (found.generation !== host.generation)
        await refuseOtherContents(`The database at ${host.name}`, (text) => polls.query({ text }));
      update({ ...found, up: true, fault: undefined });
    } catch (error) {
      down(error);
    }
    if (!closed) timer = setTimeout(poll, POLL_MS).unref();
  }

  function down(error: unknown): void {
    if (closed) return;
    lookups.reset(error);
    polls.reset(error);
    update({ up: false, fault: error, writable: false });
  }

  function update(changes: Partial<Host>): void {
    if (closed) return;
    const wasUp = host.up;
    Object.assign(host, changes);
    onPoll(host, wasUp);
  }
}

/** Fails if one of the tables is lost, and names it. */
const POLL = `
  SELECT generation, schema,
    has_table_privilege('profiles', 'SELECT') AND has_table_privilege('lists', 'SELECT')
      AND has_table_privilege('items', 'SELECT'),
    pg_is_in_recovery()
  FROM vitrine`;

/** What a poll learns about the host; throws if it cannot be used. */
function readPoll(name: string, [generation, schema, mayRead, isStandby]: TextRow) {
  refuseUnfit(`The database at ${name}`, Number(schema));
  if (mayRead === 'f')
    throw new StoreError(
      `The database at ${name} does not let this role read: GRANT SELECT ON ALL TABLES IN SCHEMA public TO it.`,
    );
  return { generation: Number(generation), writable: isStandby === 'f' };
}
