// A PostgreSQL database as a whole: finding the primary, bringing its tables up to date, reading all of it, checking it.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type PostgresAddress, parsePostgresUrl } from '../../config/database-url.ts';
import { KIND_NAMES, KINDS } from '../../records/kinds.ts';
import { type Counts, StoreError } from '../store.ts';
import { type Client, connect, explained, firstOf, nameOf, rowsOf, sentence } from './connect.ts';

const MIGRATIONS = join(import.meta.dirname, '../../../migrations/postgres');
/** 'VITR': the lock that migrations hold, so that many nodes may start at once. */
const LOCK = 0x56495452;
const CONNECT_MS = 5000;

const migrations = readdirSync(MIGRATIONS)
  .filter((file) => /^\d{3}-[\w-]+\.sql$/.test(file))
  .map((file) => ({ version: Number(file.slice(0, 3)), file }))
  .sort((a, b) => a.version - b.version);

export const SCHEMA_VERSION = migrations.at(-1)?.version ?? 0;

/** A session with one host, chosen among those of the URL. */
export interface Session {
  readonly client: Client;
  readonly name: string;
}

/** Connects to the host that can be written; of two, should an old primary still run, to the one with the newest data. */
export async function openPrimary(url: string): Promise<Session> {
  const { sessions, reasons } = await reachAll(parsePostgresUrl(url));
  const primaries = sessions.filter(({ standby }) => !standby);
  const chosen = newest(primaries);
  await closeAll(sessions, chosen);
  if (chosen !== undefined) return chosen;
  throw new StoreError(
    [
      ...reasons,
      ...sessions.map(({ name }) => `The database at ${name} is a standby, which cannot be written.`),
    ].join(' '),
  );
}

/** Connects to the host with the newest data, standby or not, for reading only. */
export async function openNewest(url: string): Promise<Session> {
  const { sessions, reasons } = await reachAll(parsePostgresUrl(url), '-c default_transaction_read_only=on');
  const chosen = newest(sessions);
  await closeAll(sessions, chosen);
  if (chosen !== undefined) return chosen;
  throw new StoreError(reasons.join(' '));
}

interface Reached extends Session {
  readonly standby: boolean;
  readonly generation: number;
}

async function reachAll(address: PostgresAddress, options?: string) {
  const sessions: Reached[] = [];
  const reasons: string[] = [];
  await Promise.all(
    address.hosts.map(async (host) => {
      const name = nameOf(host);
      try {
        const client = await connect(address, host, { connectionTimeoutMillis: CONNECT_MS, options });
        const standby = (await firstOf(client, 'SELECT pg_is_in_recovery()')) === 't';
        const known = await firstOf(client, "SELECT to_regclass('vitrine')");
        const generation =
          known === null ? -1 : Number(await firstOf(client, 'SELECT generation FROM vitrine'));
        sessions.push({ client, name, standby, generation });
      } catch (error) {
        reasons.push(sentence(name, error));
      }
    }),
  );
  return { sessions, reasons };
}

const newest = (sessions: readonly Reached[]) => sessions.toSorted((a, b) => b.generation - a.generation)[0];

const closeAll = (sessions: readonly Reached[], but: Reached | undefined) =>
  Promise.all(sessions.filter((session) => session !== but).map(({ client }) => client.end()));

/** Makes the tables, or brings them to today's schema. */
export async function migrate({ client, name }: Session): Promise<void> {
  await explained(name, async () => {
    if ((await firstOf(client, 'SHOW server_encoding')) !== 'UTF8')
      throw new StoreError(`The database at ${name} must be made with ENCODING 'UTF8'.`);
    if ((await schemaOf(client, name)) === SCHEMA_VERSION) return;
    await client.query('BEGIN');
    try {
      await client.query(`SELECT pg_advisory_xact_lock(${LOCK})`);
      const current = await schemaOf(client, name);
      for (const { version, file } of migrations.filter((migration) => migration.version > current)) {
        await client.query(readFileSync(join(MIGRATIONS, file), 'utf8'));
        await client.query('UPDATE vitrine SET schema = $1', [version]);
      }
      await client.query('COMMIT');
    } catch (error) {
      await client.query('ROLLBACK');
      throw error;
    }
  });
}

async function schemaOf(client: Client, name: string): Promise<number> {
  if ((await firstOf(client, "SELECT to_regclass('vitrine')")) === null) return 0;
  const schema = Number(await firstOf(client, 'SELECT schema FROM vitrine'));
  refuseUnfit(name, schema, 0);
  return schema;
}

/** Throws, with a sentence, unless a schema is one of those that this program can use. */
export function refuseUnfit(name: string, schema: number, least = SCHEMA_VERSION): void {
  if (schema > SCHEMA_VERSION)
    throw new StoreError(
      `The database at ${name} was made by a newer version of Vitrine (schema ${schema}, this one knows ${SCHEMA_VERSION}).`,
    );
  if (schema < least)
    throw new StoreError(
      `The database at ${name} has an older schema (${schema}, wanted ${SCHEMA_VERSION}): run any writing command on it, such as import, to migrate it.`,
    );
}

/** Before it is served: makes or migrates the tables, if this role may; many nodes may do so at once. */
export async function prepareDatabase(url: string): Promise<void> {
  const session = await openPrimary(url);
  try {
    await migrate(session);
  } finally {
    await session.client.end();
  }
}

const PROFILES = 'SELECT record FROM profiles ORDER BY family, user_key';
const ITEMS = 'SELECT record FROM items ORDER BY family, owner, date DESC, id DESC';

/** Every record as of one moment. */
export async function* allRecords(url: string): AsyncGenerator<string> {
  const { client, name } = await openNewest(url);
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    for (const sql of [PROFILES, ITEMS])
      for await (const [record] of rowsOf(client, sql)) yield record as string;
  } catch (error) {
    throw new StoreError(sentence(name, error), { cause: error });
  } finally {
    await client.end();
  }
}

export interface CheckResult {
  readonly faults: readonly string[];
  readonly counts: Counts | undefined;
}

/** Reads all of it: that every item has an owner, and that every record is JSON. */
export async function check(url: string): Promise<CheckResult> {
  const { client, name } = await openNewest(url);
  return await explained(name, async () => {
    refuseUnfit(name, Number(await firstOf(client, 'SELECT schema FROM vitrine')));
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const faults: string[] = [];
    const ownerless = await firstOf(
      client,
      'SELECT count(*) FROM items LEFT JOIN profiles ON profiles.family = items.family AND profiles.id = items.owner WHERE profiles.id IS NULL',
    );
    if (ownerless !== '0') faults.push(`${ownerless} items have no owner`);
    for (const table of ['profiles', 'items']) {
      let broken = 0;
      for await (const [record] of rowsOf(client, `SELECT record FROM ${table}`))
        if (!isJson(record as string)) broken++;
      if (broken > 0) faults.push(`${broken} ${table} are not valid JSON`);
    }
    return { faults, counts: await counted(client) };
  }).finally(() => client.end());
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const COUNTS = `SELECT 'profiles', family, count(*) FROM profiles GROUP BY family
  UNION ALL SELECT 'items', family, count(*) FROM items GROUP BY family`;

export async function countRecords(url: string): Promise<Counts> {
  const { client } = await openNewest(url);
  return await counted(client).finally(() => client.end());
}

async function counted(client: Client): Promise<Counts> {
  const { rows } = await client.query<string[]>({ text: COUNTS, rowMode: 'array' });
  const of = (table: string, family: string) =>
    Number(rows.find((row) => row[0] === table && row[1] === family)?.[2] ?? 0);
  return Object.fromEntries(
    KIND_NAMES.map((kind) => [kind, of('owner' in KINDS[kind] ? 'items' : 'profiles', KINDS[kind].family)]),
  ) as Counts;
}

export const NO_COUNTS = Object.fromEntries(KIND_NAMES.map((kind) => [kind, 0])) as Counts;
