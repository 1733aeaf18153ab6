// One host that is read from, and a poll that finds out whether it can be used and how new its data is.

import type pg from 'pg';
import type { HostAddress, PostgresAddress } from '../../config/database-url.ts';
import { errorCode } from '../../records/thrown.ts';
import { StoreError } from '../errors.ts';
import type { TextRow } from '../sql/sql-adapter.ts';
import { NEWEST_MARK } from '../sql/takedowns.ts';
import { hostName } from './connect.ts';
import { CANCELLED, isQueryError, isSlow } from './errors.ts';
import { refuseOtherContents, refuseUnfit, refuseUnusable } from './migrate.ts';
import type { createReadPool } from './pool.ts';

/** New data must be visible within a second. */
const POLL_MS = 250;
const LOOKUP_CONNECTIONS = 9;
/** The server cancels a query first, which is no fault of the connection. */
const CANCELLING_MS = 1000;
/** A connection of its own: lookups that wait for a lock may have all others. A host that takes longer is not used. */
const POLLS = { connections: 1, cancelAfter: 3000, answerWithin: 600 };

export interface Host {
  readonly name: string;
  /** Undefined before the first poll has ended. */
  up: boolean | undefined;
  fault: unknown;
  /** The newest that was read from it. */
  generation: number;
  /** Of the last takedown there. */
  mark: string | undefined;
  /** It is no standby. */
  writable: boolean;
  replay: Replay;
  /** Fails after `limit` milliseconds. */
  query(query: pg.QueryConfig, limit: number): Promise<TextRow[]>;
  /** Resolves when a poll has seen this generation, or that the host cannot be used. */
  confirm(generation: number): Promise<void>;
  /** Reports a failed query: unless only the query is at fault, the host is not used until a poll succeeds. */
  failed(error: unknown): void;
  /** Begins to poll; resolves after the first time. */
  start(): Promise<void>;
  close(): Promise<void>;
}

/** Of a standby: whether it shows all that it has received. */
export interface Replay {
  /** Seconds since the newest change that it shows, while it has received more; 0 if it shows all. */
  readonly lag: number;
  readonly isPaused: boolean;
}

const NO_LAG: Replay = { lag: 0, isPaused: false };

const UNKNOWN = {
  up: undefined,
  fault: new Error('timeout'),
  generation: 0,
  mark: undefined,
  writable: false,
  replay: NO_LAG,
};

interface HostOptions {
  readonly address: PostgresAddress;
  readonly where: HostAddress;
  readonly createPool: typeof createReadPool;
  /** How long a lookup may take, in milliseconds. */
  readonly waitMs: number;
  /** The takedown that data of this generation must have. One that is behind is not read, and may still receive it. */
  readonly requiredMark: (generation: number) => string | undefined;
  /** Called after each poll and failure, with what `up` was before. */
  readonly onPoll: (host: Host, wasUp: boolean | undefined) => void;
}

export function createHost(options: HostOptions): Host {
  const { address, where, waitMs } = options;
  const lookupLimits = { cancelAfter: waitMs, answerWithin: waitMs + CANCELLING_MS };
  const lookups = options.createPool(address, where, { connections: LOOKUP_CONNECTIONS, ...lookupLimits });
  const polls = options.createPool(address, where, POLLS);
  const rows: ReadRows = (text, values) => polls.query({ text, ...(values && { values }) });
  const polling = createPolling(look);
  /** A lookup took too long. */
  let isDoubted = false;
  const host: Host = {
    name: hostName(where),
    ...UNKNOWN,
    query: lookups.query,
    async confirm(generation) {
      // A poll that runs already may have begun before.
      await polling.look();
      if (host.up && generation > host.generation) await polling.look();
    },
    failed(error) {
      if (isSlow(error)) isDoubted = true;
      if (host.up && !isQueryError(error)) down(error);
    },
    start: polling.start,
    async close() {
      polling.stop();
      await Promise.all([lookups.close(), polls.close()]);
    },
  };
  return host;

  async function look(): Promise<void> {
    try {
      const found = await readState(host, rows, options.requiredMark);
      if (isDoubted) await rows(PROBE).catch(throwSlow);
      isDoubted = false;
      update(found);
    } catch (error) {
      down(error);
    }
  }

  function down(error: unknown): void {
    if (polling.hasStopped()) return;
    lookups.reset(error);
    polls.reset(error);
    update({ up: false, fault: error, writable: false, replay: NO_LAG });
  }

  function update(changes: Partial<Host>): void {
    if (polling.hasStopped()) return;
    const wasUp = host.up;
    Object.assign(host, changes);
    options.onPoll(host, wasUp);
  }
}

/** Looks at a host four times a second, once at a time. */
function createPolling(lookNow: () => Promise<void>) {
  let timer: NodeJS.Timeout | undefined;
  let hasStopped = false;
  let looking: Promise<void> | undefined;

  async function start(): Promise<void> {
    await look();
    if (!hasStopped) timer = setTimeout(start, POLL_MS).unref();
  }

  /** The look that goes on, or a new one. */
  function look(): Promise<void> {
    looking ??= lookNow().finally(() => {
      looking = undefined;
    });
    return looking;
  }

  return {
    start,
    look,
    stop() {
      hasStopped = true;
      clearTimeout(timer);
    },
    hasStopped: () => hasStopped,
  };
}

type ReadRows = (text: string, values?: string[]) => Promise<TextRow[]>;

/** What a poll finds; throws if the host cannot be used. */
async function readState(
  host: Host,
  rows: ReadRows,
  requiredMark: HostOptions['requiredMark'],
): Promise<Partial<Host>> {
  const [row = []] = await rows(POLL).catch(async (error) => {
    if (errorCode(error) === '42P01') await refuseUnusable(host.name, rows);
    throw error;
  });
  const found = readPoll(host.name, row);
  const isKnown = host.up === true && found.generation === host.generation;
  const mark = isKnown ? host.mark : await readNewer(host, rows, requiredMark(found.generation));
  const replay = found.writable ? NO_LAG : await rows(REPLAY).then(readReplay, () => NO_LAG);
  return { ...found, mark, replay, up: true, fault: undefined };
}

/** Data that is new to this host must have the contents of this program, and the takedowns of what was served. */
async function readNewer(
  host: Host,
  rows: ReadRows,
  required: string | undefined,
): Promise<string | undefined> {
  await refuseOtherContents(`The database at ${host.name}`, rows);
  const [[mark = null] = []] = await rows(NEWEST_MARK);
  if (required !== undefined && mark !== required && (await rows(HAS_MARK, [required])).length === 0)
    throw lostTakedowns(host);
  return mark ?? undefined;
}

/** Fails if one of the tables is lost, and names it. */
const POLL = `
  SELECT generation, schema,
    has_table_privilege('profiles', 'SELECT') AND has_table_privilege('lists', 'SELECT')
      AND has_table_privilege('items', 'SELECT'),
    pg_is_in_recovery()
  FROM vitrine`;

/** Of a standby. Without its primary it receives nothing, and cannot know what it lacks. */
const REPLAY = `
  SELECT CASE WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() THEN 0
      ELSE extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()) END,
    pg_is_wal_replay_paused()`;

const HAS_MARK = 'SELECT 1 FROM takedown_marks WHERE mark = $1';

/** After a lookup that took too long: whether another session has the tables locked. */
const PROBE = `SELECT (SELECT 1 FROM profiles LIMIT 1), (SELECT 1 FROM lists LIMIT 1), (SELECT 1 FROM items LIMIT 1)`;

function throwSlow(error: unknown): never {
  throw Object.assign(new Error('timeout', { cause: error }), { code: CANCELLED });
}

function readReplay([row = []]: TextRow[]): Replay {
  const [lag, isPaused] = row;
  return { lag: Math.max(Number(lag ?? 0), 0), isPaused: isPaused === 't' };
}

/** A time in a sentence. A generation is the time of a change, in microseconds. */
export const timeOf = (generation: number) => new Date(generation / 1000).toISOString();

/** Of a host that was promoted, and has lost what its primary had last. An import there does not bring that back. */
const lostTakedowns = ({ name, generation }: Host) =>
  new StoreError(
    `The database at ${name} lacks takedowns of what was served before` +
      `${generation === 0 ? '' : `: those since ${timeOf(generation)} may be lost`}. Repeat them first, then restart the servers.`,
  );

/** What a poll learns about the host; throws if it cannot be used. */
function readPoll(name: string, [generation, schema, mayRead, isStandby]: TextRow) {
  refuseUnfit(`The database at ${name}`, Number(schema));
  if (mayRead === 'f')
    throw new StoreError(
      `The database at ${name} does not let this role read: GRANT SELECT ON ALL TABLES IN SCHEMA public TO it.`,
    );
  return { generation: Number(generation), writable: isStandby === 'f' };
}
