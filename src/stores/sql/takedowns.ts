// Takedowns: what the database keeps of each is a salted hash of a user's name, a user's id or an item's id.
import { hash } from 'node:crypto';
import { type Family, findKind } from '../../records/kinds.ts';
import { ORDINARY_RANGES, takedownKey } from '../../records/user-name.ts';
import { stagedKind } from './merge-statements.ts';
import { countRows, type SqlAdapter } from './sql-adapter.ts';

export type TakedownKind = 'user' | 'item';

/** Who or what is to be taken down: the key of a user's name, or the id of an item. */
export interface TakedownSubject {
  readonly family: Family;
  readonly kind: TakedownKind;
  readonly value: string;
}

/** `removed` was here, `unknown` was not, and `known` was taken down before. */
export type TakedownState = 'removed' | 'unknown' | 'known';

export interface TakedownResult {
  /** In the order of the subjects. */
  readonly states: readonly TakedownState[];
  readonly users: number;
  readonly items: number;
}

/** A hash in the list. The name and the id of a user, and the ids of their items, share the entry, which is the hash of the name. */
interface TakedownEntry {
  readonly hash: string;
  readonly entry: string;
  readonly family: Family;
  readonly kind: TakedownKind;
  /** The day, as YYYY-MM-DD. */
  readonly since: string;
}

export interface TakedownList {
  readonly salts: readonly string[];
  /** Of the takedowns that it holds. */
  readonly marks: readonly string[];
  readonly entries: readonly TakedownEntry[];
}

type HashedValue = 'name' | 'id' | 'item';

/** The salt is of a fixed length, so it can stand before the text. PostgreSQL has a function of its own for the same. */
export const takedownHash = (salt: string, family: string, what: string, value: string): string =>
  hash('sha256', `${salt} ${family} ${what} ${value}`, 'hex');

/** The SQL for the hash of a value, with one salt. */
export const hashSql = (family: Family, what: HashedValue, value: string) =>
  `takedown_hash(salt, '${family}', '${what}', ${value})`;

/** Whether a value is in the list; `takedown_salts` must be among the tables of the query. */
export const isListed = (family: Family, what: HashedValue, value: string) =>
  `${hashSql(family, what, value)} IN (SELECT hash FROM takedowns)`;

export const ID_TEXT = 'CAST(id AS text)';

/** Only such names can have another key for takedowns. The index `profiles_unusual` holds those of all users. */
const MAY_BE_UNUSUAL = "octet_length(user_key) <> length(replace(user_key, ' ', ''))";

/** Fills `spellings` with the names, among those of a query, that have another key for takedowns. */
export async function findSpellings(db: SqlAdapter, users: string): Promise<void> {
  await db.run('DELETE FROM spellings');
  // SQL leaves out most names of other scripts, which would take ten times as long here.
  const unusual = `
    SELECT DISTINCT user_key FROM (${users}) AS users WHERE ${MAY_BE_UNUSUAL} AND (
      ${db.hasOthers('user_key', ORDINARY_RANGES)} OR user_key <> trim(user_key) OR user_key LIKE '%  %')`;
  // Of those, few have another key: only these are held in memory.
  const spellings: [key: string, forTakedowns: string][] = [];
  for await (const [key] of db.rows<[string]>(unusual))
    if (takedownKey(key) !== key) spellings.push([key, takedownKey(key)]);
  for (const spelling of spellings) await db.run('INSERT INTO spellings VALUES ($1, $2)', spelling);
}

/** Whether a list names a value of a family; users by their names or ids. */
export function createTakedownFilter({ salts, entries }: TakedownList, family: Family) {
  const hashes = new Set(entries.map(({ hash }) => hash));
  return (what: HashedValue, value: string): boolean => {
    const hashed = what === 'name' ? takedownKey(value) : value;
    return salts.some((salt) => hashes.has(takedownHash(salt, family, what, hashed)));
  };
}

export const ALL_SALTS = 'SELECT salt FROM takedown_salts ORDER BY salt';
export const ALL_ENTRIES =
  'SELECT hash, entry, family, kind, since FROM takedowns ORDER BY since, entry, hash';
export const ALL_MARKS = 'SELECT mark FROM takedown_marks ORDER BY n';
/** That of the last takedown. Another database that has it has all takedowns of this one. */
export const NEWEST_MARK = 'SELECT mark FROM takedown_marks ORDER BY n DESC LIMIT 1';

export const takedownList = (
  salts: readonly [string][],
  marks: readonly [string][],
  entries: readonly [hash: string, entry: string, family: Family, kind: TakedownKind, since: string][],
): TakedownList => ({
  salts: salts.map(([salt]) => salt),
  marks: marks.map(([mark]) => mark),
  entries: entries.map(([hash, entry, family, kind, since]) => ({ hash, entry, family, kind, since })),
});

// What was taken down and comes again: an import leaves it out, inside the caller's transaction.

/** Leaves out what was taken down. It is in this transaction, so a takedown during a long import counts as well. */
export async function skipTakenDown(db: SqlAdapter, family: Family) {
  const profile = stagedKind(findKind(family, 'profile'));
  const item = stagedKind(findKind(family, 'item'));
  // Without any takedown, nothing has to be hashed.
  const one = `SELECT 1 FROM takedowns WHERE family = '${family}' LIMIT 1`;
  if ((await countRows(db, `SELECT count(*) FROM (${one}) AS one`)) === 0) return { profiles: 0, items: 0 };
  // Also those that only items name.
  await findListedUsers(db, family, {
    users: `SELECT id, user_key FROM staged WHERE kind = ${profile} AND owner IS NULL`,
    ids: `SELECT id FROM staged WHERE kind = ${profile} UNION SELECT owner FROM staged WHERE kind = ${item}`,
  });
  const isGone = 'IN (SELECT id FROM gone)';
  const profiles = await db.run(`DELETE FROM staged WHERE kind = ${profile} AND id ${isGone}`);
  const ofUsers = await db.run(`DELETE FROM staged WHERE kind = ${item} AND owner ${isGone}`);
  await db.run('DELETE FROM gone');
  const others = await db.run(`
    DELETE FROM staged WHERE n IN (
      SELECT n FROM staged CROSS JOIN takedown_salts
      WHERE kind = ${item} AND ${isListed(family, 'item', ID_TEXT)})`);
  return { profiles, items: ofUsers + others };
}

/** The queries to look for users in: by id and name, and by id. */
interface Candidates {
  readonly users: string;
  readonly ids: string;
}

/** Gathers the ids of users in the list in `gone`. */
export async function findListedUsers(
  db: SqlAdapter,
  family: Family,
  { users, ids }: Candidates,
): Promise<void> {
  await findSpellings(db, users);
  await db.run(`
    INSERT INTO gone
    SELECT id FROM (${users}) AS users LEFT JOIN spellings ON spellings.user_key = users.user_key
    CROSS JOIN takedown_salts WHERE ${isListed(family, 'name', 'coalesce(takedown_key, users.user_key)')}
    UNION SELECT id FROM (${ids}) AS ids CROSS JOIN takedown_salts WHERE ${isListed(family, 'id', ID_TEXT)}`);
}
