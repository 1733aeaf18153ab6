// Removing users and items in set-based SQL that SQLite and PostgreSQL both understand, inside the caller's transaction.
// It needs the work tables of an import.

import { type Family, findKind } from '../../records/kinds.ts';
import { addToCount } from './counts.ts';
import { derive, touchRecords } from './derive.ts';
import type { SqlAdapter } from './sql-adapter.ts';

/** One user; undefined for an unknown one. */
export async function removeUser(
  db: SqlAdapter,
  family: Family,
  userKey: string,
): Promise<{ items: number } | undefined> {
  await db.run(`INSERT INTO gone SELECT id FROM profiles WHERE family = '${family}' AND user_key = $1`, [
    userKey,
  ]);
  const { users, items } = await removeUsers(db, family);
  return users === 0 ? undefined : { items };
}

/** The users in `gone`, with their items; how many there were. */
export async function removeUsers(db: SqlAdapter, family: Family): Promise<RemovalCounts> {
  await db.run('ANALYZE gone');
  const isGone = 'IN (SELECT id FROM gone)';
  await touchRecords(db, findKind(family, 'profile'), 'SELECT id, id AS owner FROM gone');
  const owned = `SELECT id, owner FROM items WHERE family = '${family}' AND owner ${isGone}`;
  await touchRecords(db, findKind(family, 'item'), owned);
  const users = await db.run(`DELETE FROM profiles WHERE family = '${family}' AND id ${isGone}`);
  const items = await db.run(`DELETE FROM items WHERE family = '${family}' AND owner ${isGone}`);
  await db.run('DELETE FROM gone');
  await derive(db, family, { notes: 'touched' });
  await addToCount(db, findKind(family, 'profile'), -users);
  await addToCount(db, findKind(family, 'item'), -items);
  return { users, items };
}

export interface RemovalCounts {
  readonly users: number;
  readonly items: number;
}

export async function removeItem(db: SqlAdapter, family: Family, id: string): Promise<RemovalCounts> {
  await db.run(`INSERT INTO gone SELECT id FROM items WHERE family = '${family}' AND id = $1`, [id]);
  return await removeItems(db, family);
}

/** The items in `gone`; the lists that they were in are rebuilt. */
export async function removeItems(db: SqlAdapter, family: Family): Promise<RemovalCounts> {
  await db.run('ANALYZE gone');
  const isGone = `family = '${family}' AND id IN (SELECT id FROM gone)`;
  await touchRecords(db, findKind(family, 'item'), `SELECT id, owner FROM items WHERE ${isGone}`);
  const items = await db.run(`DELETE FROM items WHERE ${isGone}`);
  await db.run('DELETE FROM gone');
  await derive(db, family, { notes: 'touched' });
  await addToCount(db, findKind(family, 'item'), -items);
  return { users: 0, items };
}
