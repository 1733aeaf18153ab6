// Removing users and items in set-based SQL that SQLite and PostgreSQL both understand, inside the caller's transaction.
// It needs the work tables of an import.

import { type Family, findKind } from '../../records/kinds.ts';
import { addToCount } from './counts.ts';
import { rebuildLists } from './merge.ts';
import type { SqlAdapter } from './sql-adapter.ts';

/** One user; undefined for an unknown one. */
export async function removeUser(
  db: SqlAdapter,
  family: Family,
  userKey: string,
): Promise<{ items: number } | undefined> {
  await db.run(`INSERT INTO touched SELECT id FROM profiles WHERE family = '${family}' AND user_key = $1`, [
    userKey,
  ]);
  const { users, items } = await removeUsers(db, family);
  return users === 0 ? undefined : { items };
}

/** The users in `touched`, with their lists and items; how many there were. */
export async function removeUsers(db: SqlAdapter, family: Family): Promise<RemovalCounts> {
  // Without this, PostgreSQL reads all items even for one user.
  await db.run('ANALYZE touched');
  const users = await db.run(
    `DELETE FROM profiles WHERE family = '${family}' AND id IN (SELECT owner FROM touched)`,
  );
  await db.run(`DELETE FROM lists WHERE family = '${family}' AND owner IN (SELECT owner FROM touched)`);
  const items = await db.run(
    `DELETE FROM items WHERE family = '${family}' AND owner IN (SELECT owner FROM touched)`,
  );
  await db.run('DELETE FROM touched');
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
  await db.run(
    `INSERT INTO touched SELECT DISTINCT owner FROM items WHERE family = '${family}' AND id IN (SELECT id FROM gone)`,
  );
  const items = await db.run(`DELETE FROM items WHERE family = '${family}' AND id IN (SELECT id FROM gone)`);
  await rebuildLists(db, family);
  await db.run('DELETE FROM touched');
  await db.run('DELETE FROM gone');
  await addToCount(db, findKind(family, 'item'), -items);
  return { users: 0, items };
}
