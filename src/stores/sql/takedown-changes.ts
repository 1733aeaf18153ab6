// Takedowns: what was taken down is removed, listed as salted hashes, and skipped by every later import. All inside the
// caller's transaction, with the work tables of an import.
import { randomBytes, randomUUID } from 'node:crypto';
import { FAMILIES, type Family } from '../../records/kinds.ts';
import { takedownKey } from '../../records/user-name.ts';
import { type RemovalCounts, removeItem, removeItems, removeUsers } from './removal.ts';
import type { SqlAdapter } from './sql-adapter.ts';
import {
  findListedUsers,
  findSpellings,
  hashSql,
  ID_TEXT,
  isListed,
  type TakedownKind,
  type TakedownList,
  type TakedownResult,
  type TakedownState,
  type TakedownSubject,
} from './takedowns.ts';

const SALT_BYTES = 32;

/** The value that a takedown of this kind is found by. */
const hashedValue = (kind: TakedownKind) => (kind === 'user' ? 'name' : 'item');

/** $1: a mark of this database, which no other has yet. */
const ADD_MARK = 'INSERT INTO takedown_marks (mark) VALUES ($1)';

export const addMark = async (db: SqlAdapter) => void (await db.run(ADD_MARK, [randomUUID()]));

/** Gives the database a salt of its own, unless it has one. $1: the salt. */
const ADD_SALT = 'INSERT INTO takedown_salts SELECT $1 WHERE NOT EXISTS (SELECT 1 FROM takedown_salts)';

const ONE_SALT = '(SELECT min(salt) AS salt FROM takedown_salts) AS one';

/** $1: the name for takedowns or the id of the item; $2: the day. */
const addEntry = (family: Family, kind: TakedownKind) => `
  INSERT INTO takedowns (hash, entry, family, kind, since)
  SELECT hash, hash, '${family}', '${kind}', $2
  FROM (SELECT ${hashSql(family, hashedValue(kind), '$1')} AS hash FROM ${ONE_SALT}) AS hashed
  WHERE NOT EXISTS (
    SELECT 1 FROM takedown_salts CROSS JOIN takedowns WHERE hash = ${hashSql(family, hashedValue(kind), '$1')})`;

/** Finds everybody who is here by a name, in any spelling. $1: the name for takedowns. */
const findSpelled = (family: Family) => `
  INSERT INTO gone SELECT id FROM profiles WHERE family = '${family}' AND user_key IN (
    SELECT CAST($1 AS text) UNION ALL SELECT user_key FROM spellings WHERE takedown_key = $1)`;

/** Adds the ids of users in `gone`, and those of their items, which may come back under another owner. */
const addIds = (family: Family) => `
  INSERT INTO takedowns (hash, entry, family, kind, since)
  SELECT hash, ${hashSql(family, 'name', '$1')}, '${family}', 'user', $2 FROM (
    SELECT salt, ${hashSql(family, 'id', 'CAST(id AS text)')} AS hash FROM gone CROSS JOIN ${ONE_SALT}
    UNION ALL
    SELECT salt, ${hashSql(family, 'item', ID_TEXT)} FROM items CROSS JOIN ${ONE_SALT}
    WHERE family = '${family}' AND owner IN (SELECT id FROM gone)) AS hashed
  WHERE true ON CONFLICT DO NOTHING`;

/** $1: the name for takedowns or the id of the item. */
const deleteEntry = (family: Family, kind: TakedownKind) => `
  DELETE FROM takedowns
  WHERE entry IN (SELECT ${hashSql(family, hashedValue(kind), '$1')} FROM takedown_salts)`;

export async function takeDown(
  db: SqlAdapter,
  subjects: readonly TakedownSubject[],
): Promise<TakedownResult> {
  await db.run(ADD_SALT, [randomBytes(SALT_BYTES).toString('hex')]);
  await findSpellings(db, 'SELECT user_key FROM profiles');
  const today = new Date().toISOString().slice(0, 10);
  const states: TakedownState[] = [];
  const sum = { users: 0, items: 0 };
  let added = 0;
  for (const { family, kind, value } of subjects) {
    const hashed = kind === 'user' ? takedownKey(value) : value;
    const isNew = (await db.run(addEntry(family, kind), [hashed, today])) > 0;
    if (kind === 'user') added += await addUser(db, family, hashed, today);
    const removed = await (kind === 'user' ? removeUsers(db, family) : removeItem(db, family, value));
    added += Number(isNew);
    const otherwise = isNew ? 'unknown' : 'known';
    states.push(removed.users + removed.items > 0 ? 'removed' : otherwise);
    add(sum, removed);
  }
  if (added > 0) await addMark(db);
  return { states, ...sum };
}

/** Finds the users with a name, and adds their ids; how many hashes that were. */
async function addUser(db: SqlAdapter, family: Family, name: string, today: string): Promise<number> {
  await db.run(findSpelled(family), [name]);
  // Without this, PostgreSQL reads all items even for one user.
  await db.run('ANALYZE gone');
  return await db.run(addIds(family), [name, today]);
}

/** Allows imports to bring it again; for each subject whether it had been taken down. */
export async function undoTakedowns(
  db: SqlAdapter,
  subjects: readonly TakedownSubject[],
): Promise<boolean[]> {
  const results: boolean[] = [];
  for (const { family, kind, value } of subjects) {
    const hashed = kind === 'user' ? takedownKey(value) : value;
    results.push((await db.run(deleteEntry(family, kind), [hashed])) > 0);
  }
  return results;
}

/** Values of other databases, as `ALL_ENTRIES` and `ALL_SALTS` read them. */
const COPY_MARK = 'INSERT INTO takedown_marks (mark) VALUES ($1) ON CONFLICT DO NOTHING';
const COPY_SALT = 'INSERT INTO takedown_salts VALUES ($1) ON CONFLICT DO NOTHING';
const COPY_ENTRY = `
  INSERT INTO takedowns (hash, entry, family, kind, since) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`;

/** Gathers the items in the list. */
const findListedItems = (family: Family) => `
  INSERT INTO gone SELECT DISTINCT id FROM items CROSS JOIN takedown_salts
  WHERE family = '${family}' AND ${isListed(family, 'item', ID_TEXT)}`;

/** Takes over the list of another database and removes what it names. */
export async function adoptTakedowns(
  db: SqlAdapter,
  { salts, marks, entries }: TakedownList,
): Promise<RemovalCounts> {
  let added = 0;
  for (const mark of marks) added += await db.run(COPY_MARK, [mark]);
  for (const salt of salts) await db.run(COPY_SALT, [salt]);
  for (const { hash, entry, family, kind, since } of entries)
    added += await db.run(COPY_ENTRY, [hash, entry, family, kind, since]);
  if (added > 0) await addMark(db);
  const removed = { users: 0, items: 0 };
  for (const family of FAMILIES) {
    const users = `SELECT id, user_key FROM profiles WHERE family = '${family}'`;
    await findListedUsers(db, family, { users, ids: users });
    add(removed, await removeUsers(db, family));
    await db.run(findListedItems(family));
    add(removed, await removeItems(db, family));
  }
  return removed;
}

function add(sum: { users: number; items: number }, { users, items }: RemovalCounts): void {
  sum.users += users;
  sum.items += items;
}
