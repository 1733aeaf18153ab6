// Whether a database holds what it should: every list as its items give it, every ETag its text's, nothing misfiled.
import { computeEtag } from '../../records/etag.ts';
import { FAMILIES, type Family, findKind } from '../../records/kinds.ts';
import { WRONG_COUNTS } from './counts.ts';
import { SERVED_PROFILE } from './media-statements.ts';
import { readServedRecord, rebuildLists } from './merge.ts';
import { listOfProfile, selectNames } from './merge-statements.ts';
import { readBody } from './packing.ts';
import type { Rows, SqlAdapter, TextRow } from './sql-adapter.ts';
import { findUnsearchable } from './word-statements.ts';
import { findWrongRecords } from './wrong-records.ts';

/** Users with a list that is missing or is not what their items give, of some or all. */
const wrongListsOf = (family: Family, served: string, users = '') => `
  SELECT profiles.family, profiles.user_key, profiles.id AS owner FROM profiles CROSS JOIN ${selectNames(family)}
  LEFT JOIN lists ON lists.family = profiles.family AND lists.owner = profiles.id AND lists.collection = names.collection
  WHERE profiles.family = '${family}' ${users} AND (lists.user_key IS DISTINCT FROM profiles.user_key
    OR lists.etag IS DISTINCT FROM etag_of(${listOfProfile(served)}))`;

/** Also lists without a user or of an old name. */
const wrongLists = (family: Family, served: string) => `
  ${wrongListsOf(family, served)}
  UNION
  SELECT family, user_key, owner FROM lists
  WHERE family = '${family}' AND (collection NOT IN (SELECT collection FROM ${selectNames(family)}) OR NOT EXISTS (
    SELECT 1 FROM profiles WHERE profiles.family = lists.family AND profiles.id = lists.owner))`;

/** Whether the text or the ETag of a profile is not what its record gives; `served` is the SQL for that. */
const isProfileWrong = (served: string) =>
  `(served IS DISTINCT FROM nullif(${served}, record) OR etag <> etag_of(${SERVED_PROFILE}))`;

const OWNERLESS = `
  SELECT family, CAST(id AS text) FROM items
  WHERE NOT EXISTS (SELECT 1 FROM profiles WHERE profiles.family = items.family AND profiles.id = items.owner)`;

const NAMES_SHOWN = 5;
const REPAIR = 'run `vitrine check --repair`';
const REIMPORT = 'import the file of `vitrine export` again';

/** What is wrong, a sentence each. */
export async function findFaults(db: Rows, onStep: (name: string) => void): Promise<string[]> {
  const describe = (step: string, ...found: Parameters<typeof describeRows>) => {
    onStep(step);
    return describeRows(...found);
  };
  const ownerless = await describe('owners', db.rows(OWNERLESS), 'items have no owner');
  onStep('records');
  const records = await describeRecords(db);
  const misplaced = [ownerless, records.misfiled].filter((fault) => fault !== undefined);
  // What lists are made of must be right before they can be compared.
  if (misplaced.length > 0) return misplaced;
  const queries: { profiles: string; lists: string }[] = [];
  for (const family of FAMILIES) queries.push(await wrongRows(db, family));
  const all = (kind: 'profiles' | 'lists') => queries.map((query) => query[kind]).join(' UNION ALL ');
  return [
    await describe(
      'profiles',
      db.rows(all('profiles')),
      'profiles do not match their record or have the ETag of another text',
      REPAIR,
    ),
    await describe('lists', db.rows(all('lists')), 'lists do not match the items', REPAIR),
    await describe(
      'compressed answers',
      findAllWrongBodies(db),
      'answers do not match their compressed form',
      REPAIR,
    ),
    await describe('counts', db.rows(WRONG_COUNTS), 'counts are not those of the records', REPAIR),
    await describe('names', findUnsearchable(db), 'users are not found by their names', REPAIR),
    records.withOtherFields,
  ].filter((fault) => fault !== undefined);
}

/** The lists with another body than that of their ETag: family, name and id of the user. */
async function* findWrongBodies(db: Rows, family: Family): AsyncGenerator<[string, string, string]> {
  const lists = `SELECT CAST(owner AS text), user_key, ${db.hex('body')}, collection, etag FROM lists
    WHERE family = '${family}'`;
  for await (const [id, key, body, collection, etag] of db.rows<[string, string, string, string, string]>(
    lists,
  )) {
    const text = readBody(Buffer.from(body, 'hex')) ?? '';
    const start = `{"${collection}":`;
    if (!text.startsWith(start) || !text.endsWith('}') || computeEtag(text.slice(start.length, -1)) !== etag)
      yield [family, key, id];
  }
}

async function* findAllWrongBodies(db: Rows) {
  for (const family of FAMILIES) yield* findWrongBodies(db, family);
}

async function wrongRows(db: Rows, family: Family) {
  const profile = await readServedRecord(db, findKind(family, 'profile'));
  return {
    profiles: `SELECT family, user_key FROM profiles WHERE family = '${family}' AND ${isProfileWrong(profile)}`,
    lists: wrongLists(family, await readServedRecord(db, findKind(family, 'item'))),
  };
}

async function describeRecords(db: Rows) {
  const misfiled = createFault('records are filed under values they do not hold');
  const withOtherFields = createFault('records do not have the fields of this version', REIMPORT);
  for await (const { family, name, fault } of findWrongRecords(db))
    (fault === 'misfiled' ? misfiled : withOtherFields).add(family, name);
  return { misfiled: misfiled.describe(), withOtherFields: withOtherFields.describe() };
}

async function describeRows(
  rows: Iterable<TextRow> | AsyncIterable<TextRow>,
  problem: string,
  remedy?: string,
): Promise<string | undefined> {
  const fault = createFault(problem, remedy);
  for await (const [family = null, name = null] of rows) fault.add(family, name);
  return fault.describe();
}

/** How many rows there are, with the first of them by family and name. */
function createFault(problem: string, remedy?: string) {
  const names: string[] = [];
  let found = 0;
  return {
    add(family: string | null, name: string | null): void {
      if (found++ < NAMES_SHOWN) names.push(`${family} ${JSON.stringify(name)}`);
    },
    describe(): string | undefined {
      if (found === 0) return undefined;
      const more = found > NAMES_SHOWN ? ', …' : '';
      return `${found} ${problem} (${names.join(', ')}${more})${remedy === undefined ? '' : `: ${remedy}`}`;
    },
  };
}

/** Rebuilds what is served, where it is wrong; how many rows there were. Needs the work tables of an import. */
export async function repairContents(db: SqlAdapter): Promise<number> {
  let repaired = 0;
  for (const family of FAMILIES) {
    const { lists } = await wrongRows(db, family);
    repaired += (await repairProfiles(db, family)) + (await repairLists(db, family, lists));
  }
  return repaired;
}

/** The same for the users in `listed`. */
export async function repairListed(db: SqlAdapter): Promise<number> {
  let repaired = 0;
  for (const family of FAMILIES) {
    const users = `AND profiles.id IN (SELECT id FROM listed WHERE listed.family = '${family}')`;
    const lists = wrongListsOf(family, await readServedRecord(db, findKind(family, 'item')), users);
    repaired += (await repairProfiles(db, family, users)) + (await repairLists(db, family, lists));
  }
  return repaired;
}

async function repairProfiles(db: SqlAdapter, family: Family, users = ''): Promise<number> {
  const served = await readServedRecord(db, findKind(family, 'profile'));
  return await db.run(
    `UPDATE profiles SET served = nullif(${served}, record), etag = etag_of(${served})
     WHERE family = '${family}' ${users} AND ${isProfileWrong(served)}`,
  );
}

async function repairLists(db: SqlAdapter, family: Family, lists: string): Promise<number> {
  await db.run('DELETE FROM touched');
  const wrong = await db.run(`INSERT INTO touched SELECT DISTINCT owner FROM (${lists}) AS wrong`);
  await replaceLists(db, family);
  return wrong;
}

async function replaceLists(db: SqlAdapter, family: Family): Promise<void> {
  await db.run(`DELETE FROM lists WHERE family = '${family}' AND owner IN (SELECT owner FROM touched)`);
  await rebuildLists(db, family);
}

/** Makes the answers anew that are stored as they are sent and are wrong; how many there were. */
export async function repairBodies(db: SqlAdapter): Promise<number> {
  let repaired = 0;
  for (const family of FAMILIES) {
    await db.run('DELETE FROM touched');
    const wrong = await Array.fromAsync(findWrongBodies(db, family));
    for (const [, , id] of wrong) await db.run(TOUCH, [id]);
    await replaceLists(db, family);
    repaired += wrong.length;
  }
  return repaired;
}

const TOUCH = 'INSERT INTO touched VALUES ($1) ON CONFLICT DO NOTHING';
