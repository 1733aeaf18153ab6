// Whether a database holds what it should: every list as its items give it, every ETag its text's, nothing misfiled.
import { FAMILIES, type Family, findKind } from '../records/kinds.ts';
import type { Rows, StoreConnection } from './connection.ts';
import type { MemberSql } from './media-statements.ts';
import { rebuildLists, servedIn } from './merge.ts';
import { listOfProfile } from './merge-statements.ts';
import { findWronglyPacked } from './packed-rows.ts';

/** Users whose list is missing, is not what their items give, or has another text's ETag; and lists of nobody. */
const wrongLists = (family: Family, record: string) => `
  SELECT profiles.family, profiles.user_key, profiles.id AS owner FROM profiles
  LEFT JOIN lists ON lists.family = profiles.family AND lists.owner = profiles.id
  WHERE profiles.family = '${family}' AND (lists.user_key IS DISTINCT FROM profiles.user_key
    OR lists.items IS DISTINCT FROM ${listOfProfile(record)} OR lists.etag IS DISTINCT FROM etag_of(lists.items))
  UNION ALL
  SELECT family, user_key, owner FROM lists
  WHERE family = '${family}' AND NOT EXISTS (SELECT 1 FROM profiles WHERE profiles.family = lists.family AND profiles.id = lists.owner)`;

/** Whether the text or the ETag of a profile is not what its record gives; `record` is the SQL for it as it is served. */
const isProfileWrong = (record: string) =>
  `(served IS DISTINCT FROM nullif(${record}, record) OR etag <> etag_of(coalesce(served, record)))`;

const OWNERLESS = `
  SELECT family, CAST(id AS text) FROM items
  WHERE NOT EXISTS (SELECT 1 FROM profiles WHERE profiles.family = items.family AND profiles.id = items.owner)`;

/** Records whose columns say something else than their text. */
const misfiled = (member: MemberSql) => `
  SELECT family, CAST(id AS text) FROM items WHERE CASE WHEN json_valid(record) THEN
    CAST(id AS text) <> ${member('id')} OR date <> ${member('date')}
    OR CAST(owner AS text) <> coalesce(${member('user')}, ${member('user_id')}) ELSE true END
  UNION ALL
  SELECT family, user_key FROM profiles
  WHERE CASE WHEN json_valid(record) THEN CAST(id AS text) <> ${member('id')} ELSE true END`;

const NAMES_SHOWN = 5;
const REPAIR = 'run `vitrine check --repair`';

/** What is wrong, a sentence each. */
export async function findFaults(db: Rows): Promise<string[]> {
  const misplaced = [
    await named(db.rows(OWNERLESS), 'items have no owner'),
    await named(db.rows(misfiled(db.member)), 'records are filed under values they do not hold'),
  ].filter((fault) => fault !== undefined);
  // What lists are made of must be right before they can be compared.
  if (misplaced.length > 0) return misplaced;
  const queries: { profiles: string; lists: string }[] = [];
  for (const family of FAMILIES) queries.push(await wrongRows(db, family));
  const all = (kind: 'profiles' | 'lists') => queries.map((query) => query[kind]).join(' UNION ALL ');
  return [
    await named(
      db.rows(all('profiles')),
      'profiles do not match their record or have the ETag of another text',
      REPAIR,
    ),
    await named(db.rows(all('lists')), 'lists do not match the items', REPAIR),
    await named(wronglyPacked(db), 'answers do not match their compressed form', REPAIR),
  ].filter((fault) => fault !== undefined);
}

async function* wronglyPacked(db: Rows): AsyncGenerator<string[]> {
  for await (const { family, userKey } of findWronglyPacked(db)) yield [family, userKey];
}

async function wrongRows(db: Rows, family: Family) {
  const profile = await servedIn(db, findKind(family, 'profile'));
  return {
    profiles: `SELECT family, user_key FROM profiles WHERE family = '${family}' AND ${isProfileWrong(profile)}`,
    lists: wrongLists(family, await servedIn(db, findKind(family, 'item'))),
  };
}

/** How many rows there are, with the first of them by family and name. */
async function named(
  rows: Iterable<string[]> | AsyncIterable<string[]>,
  problem: string,
  remedy?: string,
): Promise<string | undefined> {
  const names: string[] = [];
  let found = 0;
  for await (const [family, name] of rows)
    if (found++ < NAMES_SHOWN) names.push(`${family} ${JSON.stringify(name)}`);
  if (found === 0) return undefined;
  const more = found > NAMES_SHOWN ? ', …' : '';
  return `${found} ${problem} (${names.join(', ')}${more})${remedy === undefined ? '' : `: ${remedy}`}`;
}

/** Rebuilds what is served, where it is wrong; how many rows there were. Needs the work tables of an import. */
export async function repairContents(db: StoreConnection): Promise<number> {
  let repaired = 0;
  for (const family of FAMILIES)
    repaired += (await repairProfiles(db, family)) + (await repairLists(db, family));
  return repaired;
}

async function repairProfiles(db: StoreConnection, family: Family): Promise<number> {
  const record = await servedIn(db, findKind(family, 'profile'));
  return await db.run(
    `UPDATE profiles SET served = nullif(${record}, record), etag = etag_of(${record}), packed = NULL
     WHERE family = '${family}' AND ${isProfileWrong(record)}`,
  );
}

async function repairLists(db: StoreConnection, family: Family): Promise<number> {
  const { lists } = await wrongRows(db, family);
  await db.run('DELETE FROM touched');
  const wrong = await db.run(`INSERT INTO touched SELECT owner FROM (${lists}) AS wrong`);
  await rebuildLists(db, family);
  return wrong;
}
