// The users with answers that changed since a generation of the data, in SQL that SQLite and PostgreSQL both understand.
// derive.ts notes them, and former-names.ts erases what a takedown leaves of them.

import type { Family } from '../../records/kinds.ts';
import { countRows, firstRow, type Rows, type SqlAdapter } from './sql-adapter.ts';

/** A user with a profile or list that is not what it was. */
export interface Change {
  readonly family: Family;
  readonly key: string;
  /** As it was imported; undefined when the user is gone. */
  readonly username?: string;
  /** As it was imported before, if it was another spelling or the user is gone. */
  readonly earlier?: string;
  readonly profile: boolean;
  readonly list: boolean;
}

export interface ChangeSet {
  /** The generation that this leads to. */
  readonly generation: number;
  /**
   * In the order of families and keys. `everything` if the earlier generation is too long ago, before a takedown or a
   * restore, or not one of this database.
   */
  readonly changes: readonly Change[] | 'everything';
}

/** A generation, or `last` for the one that the newest change of the data replaced. */
export type Since = number | 'last' | undefined;

/** The most rows that are kept; then the older half goes. */
const MOST_CHANGES = 100_000;

export interface ChangeOptions {
  /** Also list users whose only changes are in items that are too old for the list. Pages of older items show those. */
  readonly withOldItems?: boolean;
}

export async function readChangeSet(db: Rows, from: Since, options: ChangeOptions = {}): Promise<ChangeSet> {
  const row = await firstRow(db, 'SELECT generation, erased_before FROM vitrine');
  const [generation = 0, erasedBefore = 0] = row.map(Number);
  const since = from === 'last' ? await readEarlier(db) : from;
  if (since === generation) return { generation, changes: [] };
  if (since === undefined || !(await knowsGeneration(db, since, generation)))
    return { generation, changes: 'everything' };
  if (since < erasedBefore) return { generation, changes: 'everything' };
  return { generation, changes: await listChanges(db, since, options) };
}

/** The newest of those that were replaced; 0, which is no generation, if none is known. */
const readEarlier = (db: Rows) => countRows(db, 'SELECT coalesce(max(generation), 0) FROM generations');

export const readGeneration = (db: Rows) => countRows(db, 'SELECT generation FROM vitrine');

/** As of which generation a subscriber knows the data. Undefined if not all changes since are known. */
export async function readDelivered(db: Rows, name: string, current: number): Promise<number | undefined> {
  const since = await countRows(db, `SELECT generation FROM subscribers WHERE name = '${name}'`);
  return (await knowsGeneration(db, since, current)) ? since : undefined;
}

/** Whether all changes since a generation are known; `current` is that of the data. */
export const knowsGeneration = async (db: Rows, since: number, current: number): Promise<boolean> =>
  Number.isSafeInteger(since) &&
  since > 0 &&
  (since === current ||
    (await countRows(db, `SELECT count(*) FROM generations WHERE generation = ${since}`)) > 0);

/** The SQL for whether a row of `changes` is of this generation or a later one; also of items that are too old for the list. */
const wasChanged = (since: number, withOldItems = true) =>
  withOldItems ? `changes.generation >= ${since}` : `(profile >= ${since} OR list >= ${since})`;

/** The SQL for users who are here and changed since a generation. */
export const selectChanged = (since: number, id = 'profiles.id') => `
  SELECT profiles.family, ${id} FROM changes CROSS JOIN profiles
  WHERE profiles.family = changes.family AND profiles.user_key = changes.user_key AND ${wasChanged(since)}`;

/** Those that replaced this generation or a later one. */
export async function listChanges(
  db: Rows,
  since: number,
  { withOldItems = false }: ChangeOptions = {},
): Promise<Change[]> {
  const rows = db.rows<ChangeRow>(`
    SELECT changes.family, changes.user_key, ${db.member('username')}, changes.username,
      CASE WHEN profile >= ${since} THEN 'profile' END, CASE WHEN list >= ${since} THEN 'list' END
    FROM changes LEFT JOIN profiles ON profiles.family = changes.family AND profiles.user_key = changes.user_key
    WHERE ${wasChanged(since, withOldItems)}
    ORDER BY changes.family, changes.user_key`);
  const changes: Change[] = [];
  for await (const row of rows) changes.push(readChange(row));
  return changes;
}

type ChangeRow = [
  family: Family,
  key: string,
  username: string | null,
  earlier: string | null,
  profile: string | null,
  list: string | null,
];

const readChange = ([family, key, username, earlier, profile, list]: ChangeRow): Change => ({
  family,
  key,
  ...(username && { username }),
  ...(earlier && earlier !== username && { earlier }),
  profile: profile !== null,
  list: list !== null,
});

/** Notes that all changes since the current generation are recorded. It comes before each new generation. */
export const keepGeneration = (condition: string) => `
  INSERT INTO generations SELECT generation FROM vitrine WHERE generation > 0 AND ${condition} ON CONFLICT DO NOTHING`;

/** Drops the oldest changes where there are too many: an import that changed everything leaves none. */
export async function boundChanges(db: SqlAdapter): Promise<void> {
  for (const table of ['changes', 'generations']) {
    if ((await countRows(db, `SELECT count(*) FROM ${table}`)) <= MOST_CHANGES) continue;
    const middle = `SELECT generation FROM ${table} ORDER BY generation DESC LIMIT 1 OFFSET ${MOST_CHANGES / 2}`;
    const last = await countRows(db, middle);
    await db.run(`DELETE FROM changes WHERE generation <= ${last}`);
    await db.run(`DELETE FROM generations WHERE generation <= ${last}`);
  }
}

/** Erases all changes: earlier generations can no longer be compared. */
export async function forgetChanges(db: SqlAdapter): Promise<void> {
  for (const table of ['changes', 'generations']) await db.run(`DELETE FROM ${table}`);
  await db.run('UPDATE vitrine SET erase_before = NULL');
}

// Up to which generation of the data each subscriber was notified of changes. The generation is negative where the last
// notification did not arrive, and 0 where none has.

/** The changes that one subscriber does not know, also those of old items. */
export interface PendingChanges extends ChangeSet {
  /** The generation that it knows. */
  readonly since: number | undefined;
  /** Whether the last notification arrived, or there was none. */
  readonly wasReached: boolean;
}

export interface Pending {
  readonly generation: number;
  /** In the order in which the subscribers were named. */
  readonly pending: readonly PendingChanges[];
  /** Whether names of a takedown are to be erased once every subscriber knows of it. */
  readonly erases: boolean;
}

export async function readPending(db: Rows, subscribers: readonly string[]): Promise<Pending> {
  const rows = await Array.fromAsync(db.rows<[string, string]>('SELECT name, generation FROM subscribers'));
  const known = new Map(rows.map(([name, generation]) => [name, Number(generation)]));
  const [generation, eraseBefore] = await firstRow(db, 'SELECT generation, erase_before FROM vitrine');
  const pending = [];
  for (const name of subscribers) {
    const marked = known.get(name);
    const since = marked ? Math.abs(marked) : undefined;
    const wasReached = marked === undefined || marked > 0;
    pending.push({ since, wasReached, ...(await readChangeSet(db, since, { withOldItems: true })) });
  }
  return { generation: Number(generation), pending, erases: eraseBefore !== null };
}

/** Remembers that subscribers know of everything up to a generation. */
export async function markDelivered(
  db: SqlAdapter,
  subscribers: readonly string[],
  generation: number,
): Promise<void> {
  for (const name of subscribers)
    await db.run(
      `INSERT INTO subscribers (name, generation) VALUES ($1, ${generation})
       ON CONFLICT (name) DO UPDATE SET generation = excluded.generation`,
      [name],
    );
}

/** Remembers that the last notification of these subscribers did not arrive. */
export async function markUnreached(db: SqlAdapter, subscribers: readonly string[]): Promise<void> {
  for (const name of subscribers)
    await db.run(
      `INSERT INTO subscribers (name, generation) VALUES ($1, 0)
       ON CONFLICT (name) DO UPDATE SET generation = -abs(subscribers.generation)`,
      [name],
    );
}
