// What was taken down and comes again: an import leaves it out, inside the caller's transaction.
import { type Family, findKind } from '../records/kinds.ts';
import type { StoreConnection } from './connection.ts';
import { stagedKind } from './merge-statements.ts';
import { ID_TEXT, isListed, MAY_BE_UNUSUAL, unusualNames } from './takedowns.ts';

/** The families and kinds that have takedowns: without any, nothing has to be hashed. */
export async function listedKinds(db: StoreConnection): Promise<ReadonlySet<string>> {
  const listed = await Array.fromAsync(db.rows('SELECT DISTINCT family, kind FROM takedowns'));
  return new Set(listed.map(([family, kind]) => `${family} ${kind}`));
}

/** Leaves out what was taken down. It is in this transaction, so a takedown during a long import counts as well. */
export async function skipTakenDown(db: StoreConnection, family: Family, listed: ReadonlySet<string>) {
  const statements = skipStatements(family);
  const skipped = { profiles: 0, items: 0 };
  if (listed.has(`${family} user`)) {
    await db.run(statements.findUsers);
    for (const keys of await unusualNames(db.rows(statements.mayBeUnusual)))
      await db.run(statements.findUnusualUsers, keys);
    skipped.profiles = await db.run(statements.profiles);
    skipped.items = await db.run(statements.itemsOfUsers);
    await db.run('DELETE FROM gone');
  }
  // A user's entry has the ids of items as well.
  if (listed.has(`${family} user`) || listed.has(`${family} item`))
    skipped.items += await db.run(statements.items);
  return skipped;
}

/** What an import brings of users and items in the list. */
function skipStatements(family: Family) {
  const profile = stagedKind(findKind(family, 'profile'));
  const item = stagedKind(findKind(family, 'item'));
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
