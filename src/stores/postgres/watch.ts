// One more connection to a host, which looks four times a second whether it can be used and how new its data is.
import { StoreError } from '../errors.ts';
import { type Client, drop, end, type ReadingSession, startReading, within } from './connect.ts';
import { MISSING_TABLES, refuseMissing, refuseUnfit } from './migrate.ts';

/** Well within the second after which new data is to show. */
const LOOK_MS = 250;
/** A host that takes longer to answer a look is not used. */
const PATIENCE_MS = 600;

/** On which a primary announces a new generation. The payload is not read: any role may send one. */
export const CHANNEL = 'vitrine';

export interface Seen {
  readonly generation: number;
  /** Whether the role may change the data. */
  readonly mayWrite: boolean;
}

export interface WatchOptions {
  readonly name: string;
  readonly newClient: () => Client;
  readonly onSeen: (seen: Seen) => void;
  readonly onFault: (error: unknown) => void;
}

export type Watch = ReturnType<typeof createWatch>;

export function createWatch({ name, newClient, onSeen, onFault }: WatchOptions) {
  let client: Client | undefined;
  let session: Promise<ReadingSession> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> | undefined;
  let again = false;
  let closed = false;

  /** One look at a time. */
  function look(): Promise<void> {
    clearTimeout(timer);
    again = looking !== undefined;
    looking ??= lookOnce().finally(() => {
      looking = undefined;
      if (!closed) timer = setTimeout(look, again ? 0 : LOOK_MS).unref();
    });
    return looking;
  }

  async function lookOnce(): Promise<void> {
    try {
      const seen = await see(name, await (session ??= connect()));
      if (!closed) onSeen(seen);
    } catch (error) {
      forget();
      if (!closed) onFault(error);
    }
  }

  function connect(): Promise<ReadingSession> {
    const made = newClient();
    client = made;
    made.on('notification', () => void look());
    made.once('end', () => {
      if (client !== made || closed) return;
      forget();
      void look();
    });
    return startReading(made);
  }

  function forget(): void {
    if (client !== undefined) drop(client);
    client = undefined;
    session = undefined;
  }

  return {
    look,
    async close(): Promise<void> {
      closed = true;
      clearTimeout(timer);
      if (client !== undefined) await end(client);
    },
  };
}

const LOOK = `
  SELECT generation, schema, ${MISSING_TABLES} AS missing,
    has_table_privilege(to_regclass('profiles'), 'SELECT') AND has_table_privilege(to_regclass('lists'), 'SELECT'),
    has_table_privilege(to_regclass('items'), 'INSERT, UPDATE, DELETE, TRUNCATE'),
    pg_is_in_recovery() OR '${CHANNEL}' IN (SELECT pg_listening_channels())
  FROM vitrine`;

/** Throws unless the host can be used. */
async function see(name: string, { pooled, query }: ReadingSession): Promise<Seen> {
  const [row = []] = await within(PATIENCE_MS, query({ text: LOOK }));
  const [generation, schema, missing, mayRead, mayWrite, settled] = row;
  refuseUnfit(name, Number(schema));
  refuseMissing(name, missing);
  if (mayRead === 'f')
    throw new StoreError(
      `The database at ${name} does not let this role read: GRANT SELECT ON ALL TABLES IN SCHEMA public TO it.`,
    );
  // A standby cannot listen. It may be promoted at any time, so this is asked each time.
  if (settled === 'f' && !pooled) await within(PATIENCE_MS, query({ text: `LISTEN ${CHANNEL}` }));
  return { generation: Number(generation), mayWrite: mayWrite === 't' };
}
