// The statements of takedowns, in text that SQLite and PostgreSQL both understand. takedowns.ts runs them.
import { type Family, kindOf } from '../records/kinds.ts';
import { stagedKind } from './merge-statements.ts';
import type { HashedValue, TakedownKind } from './takedowns.ts';

const hashSql = (family: Family, what: HashedValue, value: string) =>
  `takedown_hash(salt, '${family}', '${what}', ${value})`;

/** Whether a value is in the list; `takedown_salts` must be among the tables of the query. */
const isListed = (family: Family, what: HashedValue, value: string) =>
  `${hashSql(family, what, value)} IN (SELECT hash FROM takedowns)`;

const ID_TEXT = 'CAST(id AS text)';

/** The value that a takedown of this kind is found by. */
const hashedValue = (kind: TakedownKind) => (kind === 'user' ? 'name' : 'item');

/** Gives the database a salt of its own, unless it has one. $1: the salt. */
export const ADD_SALT =
  'INSERT INTO takedown_salts SELECT $1 WHERE NOT EXISTS (SELECT 1 FROM takedown_salts)';

const ONE_SALT = '(SELECT min(salt) AS salt FROM takedown_salts) AS one';

/** $1: the name or the id of the item; $2: the day. */
export const addEntry = (family: Family, kind: TakedownKind) => `
  INSERT INTO takedowns (hash, entry, family, kind, since)
  SELECT hash, hash, '${family}', '${kind}', $2
  FROM (SELECT ${hashSql(family, hashedValue(kind), '$1')} AS hash FROM ${ONE_SALT}) AS hashed
  WHERE NOT EXISTS (
    SELECT 1 FROM takedown_salts CROSS JOIN takedowns WHERE hash = ${hashSql(family, hashedValue(kind), '$1')})`;

/** Adds the id of a user who is here. $1: the name for takedowns; $2: the day; $3: the key. */
export const addUserId = (family: Family) => `
  INSERT INTO takedowns (hash, entry, family, kind, since)
  SELECT ${hashSql(family, 'id', ID_TEXT)}, ${hashSql(family, 'name', '$1')}, '${family}', 'user', $2
  FROM profiles CROSS JOIN ${ONE_SALT} WHERE family = '${family}' AND user_key = $3 ON CONFLICT DO NOTHING`;

/** Adds the ids of the items of a user who is here: they may come back under another owner. The values are those of `addUserId`. */
export const addUserItems = (family: Family) => `
  INSERT INTO takedowns (hash, entry, family, kind, since)
  SELECT ${hashSql(family, 'item', 'CAST(items.id AS text)')}, ${hashSql(family, 'name', '$1')}, '${family}', 'user', $2
  FROM profiles CROSS JOIN items CROSS JOIN ${ONE_SALT}
  WHERE profiles.family = '${family}' AND user_key = $3 AND items.family = '${family}' AND items.owner = profiles.id
  ON CONFLICT DO NOTHING`;

/** $1: the name or the id of the item. */
export const deleteEntry = (family: Family, kind: TakedownKind) => `
  DELETE FROM takedowns
  WHERE entry IN (SELECT ${hashSql(family, hashedValue(kind), '$1')} FROM takedown_salts)`;

/** Values of other databases, as `ALL_ENTRIES` and `ALL_SALTS` read them. */
export const COPY_SALT = 'INSERT INTO takedown_salts VALUES ($1) ON CONFLICT DO NOTHING';
export const COPY_ENTRY = `
  INSERT INTO takedowns (hash, entry, family, kind, since) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`;

export const ALL_SALTS = 'SELECT salt FROM takedown_salts ORDER BY salt';
export const ALL_ENTRIES =
  'SELECT hash, entry, family, kind, since FROM takedowns ORDER BY since, entry, hash';
/** Changes with every takedown. */
export const TAKEDOWNS_MARK =
  "SELECT etag_of(coalesce(string_agg(hash, '' ORDER BY hash), '')) FROM takedowns";
export const LISTED_KINDS = 'SELECT DISTINCT family, kind FROM takedowns';

/** Only such names can have another key for takedowns. */
const MAY_BE_UNUSUAL = "(octet_length(user_key) <> length(user_key) OR user_key LIKE '% %')";

export const mayBeUnusual = (family: Family) =>
  `SELECT user_key FROM profiles WHERE family = '${family}' AND ${MAY_BE_UNUSUAL}`;

/** Users and items that are in the list and in the database, into `touched` and `gone`. */
export const findListed = (family: Family) => ({
  users: `
    INSERT INTO touched
    SELECT id FROM profiles CROSS JOIN takedown_salts
    WHERE family = '${family}' AND ${isListed(family, 'name', 'user_key')}
    UNION SELECT id FROM profiles CROSS JOIN takedown_salts
    WHERE family = '${family}' AND ${isListed(family, 'id', ID_TEXT)}`,
  /** $1: the key; $2: the key for takedowns. */
  unusualUsers: `
    INSERT INTO touched SELECT id FROM profiles CROSS JOIN takedown_salts
    WHERE family = '${family}' AND user_key = $1 AND ${isListed(family, 'name', '$2')} ON CONFLICT DO NOTHING`,
  items: `
    INSERT INTO gone SELECT DISTINCT id FROM items CROSS JOIN takedown_salts
    WHERE family = '${family}' AND ${isListed(family, 'item', ID_TEXT)}`,
});

/** What an import brings of users and items in the list. */
export function skipStatements(family: Family) {
  const profile = stagedKind(kindOf(family, 'profile'));
  const item = stagedKind(kindOf(family, 'item'));
  return {
    /** Users by name or id, also those of whom only items came. */
    findUsers: `
      INSERT INTO gone
      SELECT id FROM staged CROSS JOIN takedown_salts
      WHERE kind = ${profile} AND ${isListed(family, 'name', 'user_key')}
      UNION SELECT id FROM (
        SELECT id FROM staged WHERE kind = ${profile} UNION SELECT owner FROM staged WHERE kind = ${item}) AS named
      CROSS JOIN takedown_salts WHERE ${isListed(family, 'id', ID_TEXT)}`,
    mayBeUnusual: `SELECT DISTINCT user_key FROM staged WHERE kind = ${profile} AND ${MAY_BE_UNUSUAL}`,
    /** $1: the key; $2: the key for takedowns. */
    findUnusualUsers: `
      INSERT INTO gone SELECT id FROM staged CROSS JOIN takedown_salts
      WHERE kind = ${profile} AND owner IS NULL AND user_key = $1 AND ${isListed(family, 'name', '$2')}
      ON CONFLICT DO NOTHING`,
    profiles: `DELETE FROM staged WHERE kind = ${profile} AND id IN (SELECT id FROM gone)`,
    itemsOfUsers: `DELETE FROM staged WHERE kind = ${item} AND owner IN (SELECT id FROM gone)`,
    items: `
      DELETE FROM staged WHERE n IN (
        SELECT n FROM staged CROSS JOIN takedown_salts
        WHERE kind = ${item} AND ${isListed(family, 'item', ID_TEXT)})`,
  };
}
