// What was taken down and comes again: an import leaves it out, inside the caller's transaction.
import { type Family, findKind } from '../records/kinds.ts';
import { stagedKind } from './merge-statements.ts';
import { countRows, type SqlAdapter } from './sql-adapter.ts';
import { findSpellings, ID_TEXT, isListed } from './takedowns.ts';

/** Leaves out what was taken down. It is in this transaction, so a takedown during a long import counts as well. */
export async function skipTakenDown(db: SqlAdapter, family: Family) {
  const profile = stagedKind(findKind(family, 'profile'));
  const item = stagedKind(findKind(family, 'item'));
  // Without any takedown, nothing has to be hashed.
  if ((await countRows(db, `SELECT count(*) FROM takedowns WHERE family = '${family}'`)) === 0)
    return { profiles: 0, items: 0 };
  // Also those that only items name.
  await findListedUsers(db, family, 'gone', {
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

/** The queries among whose rows users are looked for: by id and name, and by id. */
interface Candidates {
  readonly users: string;
  readonly ids: string;
}

/** Gathers the ids of users in the list in a work table. */
export async function findListedUsers(
  db: SqlAdapter,
  family: Family,
  into: 'gone' | 'touched',
  { users, ids }: Candidates,
): Promise<void> {
  await findSpellings(db, users);
  await db.run(`
    INSERT INTO ${into}
    SELECT id FROM (${users}) AS users LEFT JOIN spellings ON spellings.user_key = users.user_key
    CROSS JOIN takedown_salts WHERE ${isListed(family, 'name', 'coalesce(takedown_key, users.user_key)')}
    UNION SELECT id FROM (${ids}) AS ids CROSS JOIN takedown_salts WHERE ${isListed(family, 'id', ID_TEXT)}`);
}
