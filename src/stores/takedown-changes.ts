// Takedowns: what was taken down is removed, listed as salted hashes, and skipped by every later import. All inside the
// caller's transaction, with the work tables of an import.
import { randomBytes } from 'node:crypto';
import { FAMILIES, type Family } from '../records/kinds.ts';
import { takedownKey } from '../records/user-name.ts';
import type { StoreConnection } from './connection.ts';
import { forgetUnnamed } from './media.ts';
import { findItem, findUser, type RemovalCounts, removeItems, removeUsers } from './removal.ts';
import { findListedUsers } from './takedown-skips.ts';
import {
  hashSql,
  ID_TEXT,
  isListed,
  MAY_BE_UNUSUAL,
  type TakedownKind,
  type TakedownList,
  type TakedownResult,
  type TakedownState,
  type TakedownSubject,
  takedownKeys,
  unusualNames,
} from './takedowns.ts';
import type { RemoveFiles } from './writer.ts';

const SALT_BYTES = 32;

/** The value that a takedown of this kind is found by. */
const hashedValue = (kind: TakedownKind) => (kind === 'user' ? 'name' : 'item');

/** Gives the database a salt of its own, unless it has one. $1: the salt. */
const ADD_SALT = 'INSERT INTO takedown_salts SELECT $1 WHERE NOT EXISTS (SELECT 1 FROM takedown_salts)';

const ONE_SALT = '(SELECT min(salt) AS salt FROM takedown_salts) AS one';

/** $1: the name or the id of the item; $2: the day. */
const addEntry = (family: Family, kind: TakedownKind) => `
  INSERT INTO takedowns (hash, entry, family, kind, since)
  SELECT hash, hash, '${family}', '${kind}', $2
  FROM (SELECT ${hashSql(family, hashedValue(kind), '$1')} AS hash FROM ${ONE_SALT}) AS hashed
  WHERE NOT EXISTS (
    SELECT 1 FROM takedown_salts CROSS JOIN takedowns WHERE hash = ${hashSql(family, hashedValue(kind), '$1')})`;

/** Adds the id of a user who is here. $1: the name for takedowns; $2: the day; $3: the key. */
const addUserId = (family: Family) => `
  INSERT INTO takedowns (hash, entry, family, kind, since)
  SELECT ${hashSql(family, 'id', ID_TEXT)}, ${hashSql(family, 'name', '$1')}, '${family}', 'user', $2
  FROM profiles CROSS JOIN ${ONE_SALT} WHERE family = '${family}' AND user_key = $3 ON CONFLICT DO NOTHING`;

/** Adds the ids of the items of a user who is here: they may come back under another owner. The values are those of `addUserId`. */
const addUserItems = (family: Family) => `
  INSERT INTO takedowns (hash, entry, family, kind, since)
  SELECT ${hashSql(family, 'item', 'CAST(items.id AS text)')}, ${hashSql(family, 'name', '$1')}, '${family}', 'user', $2
  FROM profiles CROSS JOIN items CROSS JOIN ${ONE_SALT}
  WHERE profiles.family = '${family}' AND user_key = $3 AND items.family = '${family}' AND items.owner = profiles.id
  ON CONFLICT DO NOTHING`;

/** $1: the name or the id of the item. */
const deleteEntry = (family: Family, kind: TakedownKind) => `
  DELETE FROM takedowns
  WHERE entry IN (SELECT ${hashSql(family, hashedValue(kind), '$1')} FROM takedown_salts)`;

export async function takeDown(
  db: StoreConnection,
  subjects: readonly TakedownSubject[],
  removeFiles: RemoveFiles,
): Promise<TakedownResult> {
  await db.run(ADD_SALT, [randomBytes(SALT_BYTES).toString('hex')]);
  const today = new Date().toISOString().slice(0, 10);
  const states: TakedownState[] = [];
  const removed = { users: 0, items: 0 };
  for (const family of FAMILIES) {
    const unusual = await unusualNames(db.rows(mayBeUnusual(family)));
    for (const [index, subject] of subjects.entries()) {
      if (subject.family !== family) continue;
      states[index] =
        subject.kind === 'user'
          ? await takeDownUser(db, subject, today, unusual)
          : await takeDownItem(db, subject, today);
    }
    add(removed, await removeUsers(db, family));
    add(removed, await removeItems(db, family));
  }
  await forgetUnnamed(db, removeFiles);
  return { states, ...removed };
}

const mayBeUnusual = (family: Family) =>
  `SELECT user_key FROM profiles WHERE family = '${family}' AND ${MAY_BE_UNUSUAL}`;

/** Lists a name, and notes everybody who is here by it, in any spelling, in `touched`. */
async function takeDownUser(
  db: StoreConnection,
  { family, value }: TakedownSubject,
  today: string,
  unusual: readonly [key: string, forTakedowns: string][],
): Promise<TakedownState> {
  const name = takedownKey(value);
  const isNew = (await db.run(addEntry(family, 'user'), [name, today])) > 0;
  const spellings = unusual.filter(([, forTakedowns]) => forTakedowns === name).map(([key]) => key);
  let found = 0;
  for (const key of [name, ...spellings]) {
    await db.run(addUserId(family), [name, today, key]);
    await db.run(addUserItems(family), [name, today, key]);
    found += await db.run(findUser(family), [key]);
  }
  return subjectState(found, isNew);
}

/** Lists an item, and notes it in `gone`. */
async function takeDownItem(
  db: StoreConnection,
  { family, value }: TakedownSubject,
  today: string,
): Promise<TakedownState> {
  const isNew = (await db.run(addEntry(family, 'item'), [value, today])) > 0;
  return subjectState(await db.run(findItem(family), [value]), isNew);
}

const subjectState = (found: number, isNew: boolean): TakedownState =>
  found > 0 ? 'removed' : isNew ? 'unknown' : 'known';

/** Allows imports to bring it again; for each subject whether it had been taken down. */
export async function undoTakedowns(
  db: StoreConnection,
  subjects: readonly TakedownSubject[],
): Promise<boolean[]> {
  const results: boolean[] = [];
  for (const { family, kind, value } of subjects) {
    let deleted = 0;
    for (const key of kind === 'user' ? takedownKeys(value) : [value])
      deleted += await db.run(deleteEntry(family, kind), [key]);
    results.push(deleted > 0);
  }
  return results;
}

/** Values of other databases, as `ALL_ENTRIES` and `ALL_SALTS` read them. */
const COPY_SALT = 'INSERT INTO takedown_salts VALUES ($1) ON CONFLICT DO NOTHING';
const COPY_ENTRY = `
  INSERT INTO takedowns (hash, entry, family, kind, since) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`;

/** Gathers the items in the list. */
const findListedItems = (family: Family) => `
  INSERT INTO gone SELECT DISTINCT id FROM items CROSS JOIN takedown_salts
  WHERE family = '${family}' AND ${isListed(family, 'item', ID_TEXT)}`;

/** Takes over the list of another database and removes what it names. */
export async function adoptTakedowns(
  db: StoreConnection,
  { salts, entries }: TakedownList,
  removeFiles: RemoveFiles,
): Promise<RemovalCounts> {
  for (const salt of salts) await db.run(COPY_SALT, [salt]);
  for (const { hash, entry, family, kind, since } of entries)
    await db.run(COPY_ENTRY, [hash, entry, family, kind, since]);
  const removed = { users: 0, items: 0 };
  for (const family of FAMILIES) {
    const users = `SELECT id, user_key FROM profiles WHERE family = '${family}'`;
    await findListedUsers(db, family, 'touched', { users, ids: users });
    add(removed, await removeUsers(db, family));
    await db.run(findListedItems(family));
    add(removed, await removeItems(db, family));
  }
  await forgetUnnamed(db, removeFiles);
  return removed;
}

function add(sum: { users: number; items: number }, { users, items }: RemovalCounts): void {
  sum.users += users;
  sum.items += items;
}
