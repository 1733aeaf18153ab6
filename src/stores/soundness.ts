// Whether a database holds what it should: every list as its items give it, every ETag its text's, nothing misfiled.
import { FAMILIES } from '../records/kinds.ts';
import { type MergeConnection, rebuildLists } from './merge.ts';
import { LIST_OF_PROFILE } from './merge-statements.ts';

/** Users whose list is missing, is not what their items give, or has another text's ETag; and lists of nobody. */
const WRONG_LISTS = `
  SELECT profiles.family, profiles.user_key, profiles.id AS owner FROM profiles
  LEFT JOIN lists ON lists.family = profiles.family AND lists.owner = profiles.id
  WHERE lists.user_key IS DISTINCT FROM profiles.user_key OR lists.items IS DISTINCT FROM ${LIST_OF_PROFILE}
    OR lists.etag IS DISTINCT FROM etag_of(lists.items)
  UNION ALL
  SELECT family, user_key, owner FROM lists
  WHERE NOT EXISTS (SELECT 1 FROM profiles WHERE profiles.family = lists.family AND profiles.id = lists.owner)`;

/** Profiles whose ETag is not their record's. */
const WRONG_ETAGS = 'SELECT family, user_key FROM profiles WHERE etag <> etag_of(record)';

const OWNERLESS = `
  SELECT family, CAST(id AS text) FROM items
  WHERE NOT EXISTS (SELECT 1 FROM profiles WHERE profiles.family = items.family AND profiles.id = items.owner)`;

/** The SQL for a member of a record, which is the one thing that differs between the stores. */
export type MemberOf = (name: string) => string;

/** Records whose columns say something else than their text. */
const misfiled = (member: MemberOf) => `
  SELECT family, CAST(id AS text) FROM items WHERE CASE WHEN json_valid(record) THEN
    CAST(id AS text) <> ${member('id')} OR date <> ${member('date')}
    OR CAST(owner AS text) <> coalesce(${member('user')}, ${member('user_id')}) ELSE true END
  UNION ALL
  SELECT family, user_key FROM profiles
  WHERE CASE WHEN json_valid(record) THEN CAST(id AS text) <> ${member('id')} ELSE true END`;

const NAMES_SHOWN = 5;
const REPAIR = 'run `vitrine check --repair`';

/** What is wrong, a sentence each. */
export async function findFaults(db: MergeConnection, member: MemberOf): Promise<string[]> {
  const faults = [
    await named(db, OWNERLESS, 'items have no owner'),
    await named(db, misfiled(member), 'records are filed under values they do not hold'),
  ].filter((fault) => fault !== undefined);
  // What lists are made of must be right before they can be compared.
  if (faults.length > 0) return faults;
  return [
    await named(db, WRONG_ETAGS, 'profiles have the ETag of another text', REPAIR),
    await named(db, WRONG_LISTS, 'lists do not match the items', REPAIR),
  ].filter((fault) => fault !== undefined);
}

/** How many rows a query finds, with the first of them by family and name. */
async function named(
  db: MergeConnection,
  query: string,
  problem: string,
  remedy?: string,
): Promise<string | undefined> {
  const names: string[] = [];
  let found = 0;
  for await (const [family, name] of db.rows(query))
    if (found++ < NAMES_SHOWN) names.push(`${family} ${JSON.stringify(name)}`);
  if (found === 0) return undefined;
  const more = found > NAMES_SHOWN ? ', …' : '';
  return `${found} ${problem} (${names.join(', ')}${more})${remedy === undefined ? '' : `: ${remedy}`}`;
}

/** Rebuilds the lists and ETags that are wrong; how many there were. Needs the work tables of an import. */
export async function repairContents(db: MergeConnection): Promise<number> {
  let repaired = await db.run('UPDATE profiles SET etag = etag_of(record) WHERE etag <> etag_of(record)');
  for (const family of FAMILIES) {
    await db.run('DELETE FROM touched');
    repaired += await db.run(
      `INSERT INTO touched SELECT owner FROM (${WRONG_LISTS}) AS wrong WHERE family = '${family}'`,
    );
    await rebuildLists(db, family);
  }
  return repaired;
}
