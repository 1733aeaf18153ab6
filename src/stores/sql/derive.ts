// What follows from the records, in SQL that SQLite and PostgreSQL both understand: what is served of a profile, the words it is found
// by, the lists, who names which picture, and who is noted as changed. Each change of the data touches users before it writes
// records, and derives what follows from them at its end, in its transaction. Only what differs is written.
import { setImmediate } from 'node:timers/promises';
import { FAMILIES, type Family, findKind, KINDS, type KindName } from '../../records/kinds.ts';
import { noStep, type StepListener } from '../steps.ts';
import { deriveNames, nameEverything, touchNames } from './media-names.ts';
import { HAS_COPIES, SERVED_PROFILE, servedRecord } from './media-statements.ts';
import { listedOnce, listOfProfile, listWithWords, selectNames } from './merge-statements.ts';
import { countRows, firstRow, type Rows, type SqlAdapter } from './sql-adapter.ts';

const hasCopies = async (db: Rows) => (await countRows(db, HAS_COPIES)) > 0;

/** `servedRecord`. While there are no copies, that is the record itself. */
export const readServedRecord = async (db: Rows, kind: KindName) =>
  (await hasCopies(db)) ? servedRecord(kind, db.member) : 'record';

const isTouched = (id: string) => `${id} IN (SELECT owner FROM touched)`;

/** Remembers what users answer now, before their records change. `ids` is a query of ids. */
export const touch = (db: SqlAdapter, family: Family, ids: string, values?: readonly string[]) =>
  db.run(
    `
    INSERT INTO touched (owner, user_key, username, etag, list, words)
    SELECT ids.id, user_key, CASE WHEN json_valid(record) THEN ${db.member('username')} END, etag, ${listEtag(family, 'ids.id')},
      ${allWords(family)}
    FROM (${ids}) AS ids LEFT JOIN profiles ON profiles.family = '${family}' AND profiles.id = ids.id
    WHERE true ON CONFLICT DO NOTHING`,
    values,
  );

/**
 * The same for the users of records that are to change. `records` is a query of the ids of records and of their users, and `named`
 * of the ids of those that may name other pictures.
 */
export async function touchRecords(
  db: SqlAdapter,
  kind: KindName,
  records: string,
  named = `SELECT id FROM (${records}) AS records`,
): Promise<void> {
  const distinct = KINDS[kind].role === 'item' ? 'DISTINCT ' : '';
  await touch(db, KINDS[kind].family, `SELECT ${distinct}owner AS id FROM (${records}) AS records`);
  await touchNames(db, kind, named);
}

/** All lists of a user have one ETag. */
const listEtag = (family: Family, id: string) =>
  `(SELECT min(lists.etag) FROM lists WHERE lists.family = '${family}' AND lists.owner = ${id})`;

/** The words of a row of `profiles` and of its lists: JSON arrays in an array. */
const allWords = (family: Family) => `(
  SELECT '[' || profiles.words || ',' || coalesce(max(lists.words), '[]') || ']'
  FROM lists WHERE lists.family = '${family}' AND lists.owner = profiles.id)`;

export interface Derivation {
  /** Which users to note as changed: all that were touched, or those of them with other answers. */
  readonly notes: 'touched' | 'different';
  /** Each profile was stored as it is served, by the same expressions. */
  readonly hasProfiles?: boolean;
  /** The family had no user before. */
  readonly isFirst?: boolean;
}

/** Derives what follows from the records of `touched`, which it empties. Returns how many profiles and lists that changed. */
export async function derive(
  db: SqlAdapter,
  family: Family,
  { notes, hasProfiles = false, isFirst = false }: Derivation,
): Promise<number> {
  await db.countForPlanner('touched');
  const profiles = hasProfiles ? 0 : await deriveProfiles(db, family);
  const lists = await deriveLists(db, family);
  await deriveWords(db, family, isFirst);
  await deriveNames(db, family);
  await noteChanges(db, family, notes);
  await db.clear('touched');
  return profiles + lists;
}

/** Whether the text or the ETag of a profile is not what its record gives; `served` is the SQL for that. */
const isProfileWrong = (served: string, etag = 'etag') =>
  `(served IS DISTINCT FROM nullif(${served}, record) OR ${etag} IS DISTINCT FROM etag_of(${SERVED_PROFILE}))`;

async function deriveProfiles(db: SqlAdapter, family: Family): Promise<number> {
  const served = await readServedRecord(db, findKind(family, 'profile'));
  // The ETag that it had is that of `touched`: so PostgreSQL compares only these users, and not all before it joins them.
  return await db.run(`
    UPDATE profiles SET served = nullif(${served}, record), etag = etag_of(${served}) FROM touched
    WHERE profiles.family = '${family}' AND profiles.id = touched.owner AND ${isProfileWrong(served, 'touched.etag')}`);
}

// `profiles.words` is made of the profile by the program, as `user_key` is, and `lists.words` of the tags of the list.

async function deriveWords(db: SqlAdapter, family: Family, isFirst: boolean): Promise<void> {
  // In their order, each page of the index is written once.
  if (isFirst) return void (await addWords(db, family));
  const each = (arrays: string) =>
    `CROSS JOIN ${db.each(arrays)} AS part CROSS JOIN ${db.each('part.value')} AS each`;
  const compared = `(
    SELECT owner, touched.words AS before, ${allWords(family)} AS now
    FROM touched LEFT JOIN profiles ON profiles.family = '${family}' AND profiles.id = touched.owner) AS compared`;
  await db.run(`
    DELETE FROM words WHERE family = '${family}' AND (word, id) IN (
      SELECT each.value, owner FROM ${compared} ${each('before')} WHERE now IS DISTINCT FROM before)`);
  await db.run(`
    INSERT INTO words (family, word, id) SELECT '${family}', each.value, owner FROM ${compared} ${each('now')}
    WHERE now IS DISTINCT FROM before ON CONFLICT DO NOTHING`);
}

/** All words of all users. A word may come twice for a user. */
function selectWords(db: Pick<Rows, 'each'>, family: Family): string {
  const ofProfiles = `SELECT word, id FROM words_of_profiles WHERE family = '${family}'`;
  const list = listWithWords(family);
  return list === undefined
    ? ofProfiles
    : `${ofProfiles} UNION ALL SELECT each.value, owner FROM lists CROSS JOIN ${db.each('words')} AS each
       WHERE family = '${family}' AND collection = '${list}'`;
}

const addWords = (db: SqlAdapter, family: Family) =>
  db.run(`
    INSERT INTO words SELECT '${family}', word, id FROM (${selectWords(db, family)}) AS found
    ORDER BY word, id ON CONFLICT DO NOTHING`);

/** How many users have other lists. */
async function deriveLists(db: SqlAdapter, family: Family): Promise<number> {
  // Names may have been handed over, so these go first.
  await db.run(`
    DELETE FROM lists WHERE family = '${family}' AND ${isTouched('owner')} AND (
      collection NOT IN (SELECT collection FROM ${selectNames(family)}) OR NOT EXISTS (
      SELECT 1 FROM profiles
      WHERE profiles.family = '${family}' AND profiles.id = lists.owner AND profiles.user_key = lists.user_key))`);
  return await db.storeLists(family, await readServedRecord(db, findKind(family, 'item')));
}

/** What each name answered when it was touched, and what it answers now. The first import leaves no notes. */
const noteChanges = (db: SqlAdapter, family: Family, notes: Derivation['notes']) =>
  db.run(`
    INSERT INTO changes (family, user_key, generation, profile, list, username)
    SELECT '${family}', user_key, generation, CASE WHEN other_profile THEN generation END,
      CASE WHEN other_list THEN generation END, CASE WHEN other_profile THEN username END
    FROM vitrine CROSS JOIN (
      SELECT user_key, max(etag) IS DISTINCT FROM max(etag_now) AS other_profile,
        max(list) IS DISTINCT FROM max(list_now) AS other_list, max(username) AS username FROM (
        SELECT user_key, username, etag, list, NULL AS etag_now, NULL AS list_now FROM touched WHERE user_key IS NOT NULL
        UNION ALL
        SELECT profiles.user_key, NULL, NULL, NULL, profiles.etag, ${listEtag(family, 'profiles.id')}
        FROM touched CROSS JOIN profiles WHERE profiles.family = '${family}' AND profiles.id = touched.owner) AS answers
      GROUP BY user_key) AS compared
    WHERE generation > 0 ${notes === 'different' ? 'AND (other_profile OR other_list)' : ''}
    ON CONFLICT (family, user_key) DO UPDATE SET generation = excluded.generation,
      profile = coalesce(excluded.profile, changes.profile), list = coalesce(excluded.list, changes.list),
      username = coalesce(excluded.username, changes.username)`);

/** The same selections, for `vitrine check`: the rows that are not what the records give. */
export async function wrongRows(db: Rows, family: Family) {
  const profile = await readServedRecord(db, findKind(family, 'profile'));
  const list = await readServedRecord(db, findKind(family, 'item'));
  const words = `SELECT word, id FROM words WHERE family = '${family}'`;
  const wordsNow = `SELECT DISTINCT word, id FROM (${selectWords(db, family)}) AS found`;
  return {
    profiles: `SELECT family, user_key FROM profiles WHERE family = '${family}' AND ${isProfileWrong(profile)}`,
    lists: `
      SELECT profiles.family, profiles.user_key FROM profiles
      WHERE profiles.family = '${family}' AND ${listedOnce(family)} IS DISTINCT FROM etag_of(${listOfProfile(list)})
      UNION
      SELECT family, user_key FROM lists
      WHERE family = '${family}' AND (collection NOT IN (SELECT collection FROM ${selectNames(family)}) OR NOT EXISTS (
        SELECT 1 FROM profiles WHERE profiles.family = lists.family AND profiles.id = lists.owner))`,
    // Both have a row once, so what is there once is in one of them only.
    words: `
      SELECT DISTINCT '${family}', CAST(id AS text) FROM (
        SELECT word, id FROM (${words} UNION ALL ${wordsNow}) AS either GROUP BY word, id HAVING count(*) = 1) AS wrong`,
  };
}

export interface DeriveOptions {
  readonly onStep?: StepListener;
  /** How many users are derived at a time. */
  readonly usersAtOnce?: number | undefined;
}

/** So few that signals are heard within a second, and so many that these statements cost nothing beside their users. */
const USERS_AT_ONCE = 5000;

/** Derives everything anew, also where something else than records is wrong. */
export async function deriveEverything(
  db: SqlAdapter,
  { onStep = noStep, usersAtOnce = USERS_AT_ONCE }: DeriveOptions = {},
): Promise<void> {
  onStep('deriving search words');
  await dropMisfiled(db);
  for (const family of FAMILIES) {
    await db.run(`DELETE FROM words WHERE family = '${family}' AND NOT EXISTS (
      SELECT 1 FROM (${selectWords(db, family)}) AS now WHERE now.word = words.word AND now.id = words.id)`);
    await addWords(db, family);
  }
  const total = await countRows(db, 'SELECT count(*) FROM profiles');
  const step = 'deriving profiles and lists';
  onStep(step);
  let derived = 0;
  for (const family of FAMILIES)
    for await (const users of touchInTurn(db, family, usersAtOnce)) {
      await derive(db, family, { notes: 'different' });
      derived += users;
      onStep(step, derived / total);
      // SQLite works within each call: only here does the process hear signals.
      await setImmediate();
    }
  onStep('deriving who names which picture');
  await nameEverything(db);
}

/** Touches all users of a family, some at a time; how many. */
async function* touchInTurn(db: SqlAdapter, family: Family, usersAtOnce: number): AsyncGenerator<number> {
  await db.clear('touched');
  const next = `SELECT id FROM profiles WHERE family = '${family}' AND id > $1 ORDER BY id LIMIT ${usersAtOnce}`;
  for (let last = '0'; ; ) {
    const users = await touch(db, family, next, [last]);
    if (users === 0) return;
    last = (await firstRow(db, 'SELECT max(owner) FROM touched'))[0] ?? last;
    yield users;
  }
}

/** Drops lists that are not filed under the name of their owner. These names are noted here, since they may be those of no user. */
async function dropMisfiled(db: SqlAdapter): Promise<void> {
  const isMisfiled = `NOT EXISTS (
    SELECT 1 FROM profiles
    WHERE profiles.family = lists.family AND profiles.id = lists.owner AND profiles.user_key = lists.user_key)`;
  await db.run(`
    INSERT INTO changes (family, user_key, generation, list)
    SELECT DISTINCT family, user_key, generation, generation FROM vitrine CROSS JOIN lists
    WHERE generation > 0 AND ${isMisfiled}
    ON CONFLICT (family, user_key) DO UPDATE SET generation = excluded.generation, list = excluded.list`);
  await db.run(`DELETE FROM lists WHERE ${isMisfiled}`);
}
