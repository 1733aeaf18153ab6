// The tables and statements of an import, in text that SQLite and PostgreSQL both understand. merge.ts runs them.
//
// CROSS JOIN is an inner join; SQLite goes through its tables in the order they are written in: without it, a small
// import could scan a whole table.
import { type Family, findKind, ITEM_CAP, KIND_NAMES, type KindName } from '../../records/kinds.ts';
import { MEMBERS } from '../../records/schemas.ts';
import { collectionsOf } from '../../variants.ts';

/** The columns that a writer fills; `n` numbers the rows in the order they came. */
export const STAGED_COLUMNS = [
  'kind',
  'place',
  'id',
  'user_key',
  'words',
  'owner',
  'date',
  'record',
] as const;
export const stagedKind = (kind: KindName) => KIND_NAMES.indexOf(kind);

/** The kind with this number. */
export function readStagedKind(number: string): KindName {
  const kind = KIND_NAMES[Number(number)];
  if (kind === undefined) throw new Error(`no kind has the number ${number}`);
  return kind;
}

/** Beside `staged`; each store creates them as temporary tables. */
export const WORK_TABLES = {
  // `owner_before`: the owner an item had, or a profile's own id; NULL if the record is new.
  changed: 'id bigint PRIMARY KEY, owner_before bigint',
  // Users whose records change, with what they answered before (derive.ts).
  touched: 'owner bigint PRIMARY KEY, user_key text, username text, etag text, list text, words text',
  gone: 'id bigint PRIMARY KEY',
  // Records that change while names of pictures are kept, with what they named before and what they name now (media-names.ts).
  touched_records: 'kind text, id bigint, PRIMARY KEY (kind, id)',
  names_before: 'url text, kind text, id bigint, is_file integer, PRIMARY KEY (url, kind, id, is_file)',
  names_now: 'url text, kind text, id bigint, is_file integer, PRIMARY KEY (url, kind, id, is_file)',
  relinked: 'family text, id bigint, PRIMARY KEY (family, id)',
  named_urls: 'url text PRIMARY KEY',
  spellings: 'user_key text PRIMARY KEY, takedown_key text',
  misfits: 'n bigint, place bigint, kind integer, id text, fault text, other text, record text',
};

export const INDEXES = [
  'CREATE INDEX staged_by_id ON staged (kind, id)',
  // In the order of the lists: without it, a sort would hold every record on disk, twice.
  'CREATE INDEX staged_in_order ON staged (kind, owner, date DESC, id DESC) WHERE owner IS NOT NULL',
  'CREATE INDEX staged_by_name ON staged (kind, user_key) WHERE owner IS NULL',
  'CREATE INDEX IF NOT EXISTS misfits_by_id ON misfits (kind, id)',
  'ANALYZE staged',
];

/** The list as the items of a row of `profiles` give it. `served` is the SQL for a record as it is served. */
export const listOfProfile = (served: string) => `(
  SELECT '[' || coalesce(string_agg(${served}, ','), '') || ']' FROM (
    SELECT record FROM items WHERE items.family = profiles.family AND items.owner = profiles.id
    ORDER BY date DESC, id DESC LIMIT ${ITEM_CAP}) AS newest)`;

/** As a table: what the lists of a family are called, with further columns. */
export const selectNames = (family: Family, columns: (name: string) => string = () => '') =>
  `(${collectionsOf(family)
    .map((name) => `SELECT '${name}' AS collection${columns(name)}`)
    .join(' UNION ALL ')}) AS names`;

/** The list of a family that also has the words of its tags; undefined if its items have no tags. */
export const listWithWords = (family: Family): string | undefined =>
  'tags' in MEMBERS[findKind(family, 'item')] ? collectionsOf(family)[0] : undefined;

/** The ETag that all lists of a row of `profiles` have; null if one is missing, or they differ. */
export const listedOnce = (family: Family) => `(
  SELECT CASE WHEN count(*) = ${collectionsOf(family).length} AND min(lists.etag) = max(lists.etag) THEN min(lists.etag) END
  FROM lists WHERE lists.family = '${family}' AND lists.owner = profiles.id AND lists.user_key = profiles.user_key)`;

/** The users in `touched` with their lists, as they are and as stored. `served` is the SQL for a record as it is served. */
export const selectListed = (family: Family, served: string) => `
  SELECT profiles.user_key, id, ${listOfProfile(served)} AS items, ${listedOnce(family)} AS stored
  FROM touched CROSS JOIN profiles WHERE profiles.family = '${family}' AND profiles.id = touched.owner`;

export const REPLACE = `
  ON CONFLICT (family, user_key, collection) DO UPDATE
  SET owner = excluded.owner, etag = excluded.etag, body = excluded.body, words = excluded.words`;

export function statementsFor(family: Family) {
  const profileKind = stagedKind(findKind(family, 'profile'));
  const itemKind = stagedKind(findKind(family, 'item'));
  return {
    profileKind,
    itemKind,
    /** `served` is the SQL for a profile as it is served. */
    profiles: (served: string) => profileStatements(family, profileKind, served),
    items: itemStatements(family, itemKind),

    /** Of rows with one id only the last stays. */
    dropRepeats: `
      DELETE FROM staged WHERE n IN (
        SELECT earlier.n FROM (
          SELECT kind, id, max(n) AS last FROM staged WHERE kind IN (${profileKind}, ${itemKind})
          GROUP BY kind, id HAVING count(*) > 1) AS repeated
        JOIN staged AS earlier ON earlier.kind = repeated.kind AND earlier.id = repeated.id AND earlier.n < last)`,

    /** A name stays with its current owner unless the same import renames that owner; of two new users, the first gets it. */
    clashes: (replace: boolean) => selectClashes(family, profileKind, replace),
    keptNames: selectKeptNames(family, profileKind),

    /** When misfits refuse the import, a profile among them is reported without its items. */
    ownerless: (skipInvalid: boolean) => `
      SELECT n, place, kind, CAST(id AS text), 'owner', CAST(owner AS text), record FROM staged
      WHERE kind = ${itemKind} AND NOT EXISTS (
        SELECT 1 FROM profiles WHERE profiles.family = '${family}' AND profiles.id = staged.owner)${
          skipInvalid
            ? ''
            : ` AND NOT EXISTS (
        SELECT 1 FROM misfits WHERE misfits.kind = ${profileKind} AND misfits.id = CAST(staged.owner AS text))`
        }`,
  };
}

/**
 * The rows that cannot have their name, each with the id of who has it. Stored are 1 "ada" and 2 "bob"; these rows are staged:
 *
 *     n  id  name
 *     1   1  eve     gives "ada" up
 *     2   3  ada     the first that claims it: gets it
 *     3   4  ada     cannot have it: 3 has it
 *     4   5  bob     cannot have it: 2 has it, who is not in this import
 *
 * If row 1 were 1 "ada", rows 2 and 3 could not have it. It is linear, however many rows claim one name.
 */
function selectClashes(family: Family, kind: number, replace: boolean): string {
  const isProfile = `kind = ${kind} AND owner IS NULL`;
  const isStored = `family = '${family}' AND profiles.user_key = staged.user_key`;
  // Profiles that a replacement does not have go, and hold no name.
  const losers = [
    ...(replace ? [] : ['SELECT n, other, position FROM holders']),
    'SELECT n, winner AS other, position FROM winners WHERE winner <> id',
  ];
  return `
    WITH holders AS (
      SELECT staged.n, profiles.id AS other, 0 AS position FROM staged CROSS JOIN profiles
      WHERE ${isStored} AND kind = ${kind} AND profiles.id <> staged.id AND NOT EXISTS (
        SELECT 1 FROM staged AS renamed WHERE renamed.kind = ${kind} AND renamed.id = profiles.id)),
    claimants AS (
      SELECT n, id, user_key, CASE WHEN EXISTS (
        SELECT 1 FROM profiles WHERE ${isStored} AND profiles.id = staged.id) THEN 0 ELSE n END AS position
      FROM staged WHERE ${isProfile} AND user_key IN (
        SELECT user_key FROM staged WHERE ${isProfile} GROUP BY user_key HAVING count(*) > 1)),
    winners AS (
      SELECT n, id, first_value(id) OVER same_name AS winner, first_value(position) OVER same_name AS position
      FROM claimants WINDOW same_name AS (PARTITION BY user_key ORDER BY position)),
    losers AS (
      SELECT n, other, row_number() OVER (PARTITION BY n ORDER BY position) AS nth FROM (${losers.join(' UNION ALL ')}) AS held)
    SELECT staged.n, place, kind, CAST(staged.id AS text), 'name', CAST(other AS text), record
    FROM losers JOIN staged ON staged.n = losers.n WHERE nth = 1`;
}

/** The rows with names that stay with profiles which are left out, and with those that stay because of these rows. */
const selectKeptNames = (family: Family, kind: number) => `
  WITH RECURSIVE kept (n, id, other) AS (
    SELECT n, CAST(id AS bigint), CAST(NULL AS bigint) FROM misfits WHERE kind = ${kind}
    UNION
    SELECT staged.n, staged.id, profiles.id FROM kept CROSS JOIN profiles CROSS JOIN staged
    WHERE profiles.family = '${family}' AND profiles.id = kept.id
    AND staged.kind = ${kind} AND staged.owner IS NULL AND staged.user_key = profiles.user_key AND staged.id <> profiles.id)
  SELECT staged.n, place, kind, CAST(staged.id AS text), 'name', CAST(other AS text), record
  FROM kept JOIN staged ON staged.n = kept.n`;

export const COUNT_CHANGED = 'SELECT count(*) FROM changed WHERE owner_before IS NOT NULL';
const CHANGED = 'SELECT id FROM changed WHERE owner_before IS NOT NULL';

/** The staged rows with new records. */
const newOf = (kind: number) =>
  `staged CROSS JOIN changed WHERE kind = ${kind} AND changed.id = staged.id AND owner_before IS NULL`;

/** `order` is the column behind the family in an index. Without it, PostgreSQL looks through the rows of the other family. */
const countStatements = (table: string, order: string, family: Family, kind: number) => ({
  staged: `SELECT count(*) FROM staged WHERE kind = ${kind}`,
  /** 0 or 1: where nothing is stored, all rows are new, and nothing needs to be compared. */
  stored: `SELECT count(*) FROM (SELECT 1 FROM ${table} WHERE family = '${family}' ORDER BY ${order} LIMIT 1) AS one`,
});

/** How staged rows of one kind become rows of its table. */
export type KindStatements = ReturnType<typeof itemStatements>;

function profileStatements(family: Family, kind: number, served: string): KindStatements {
  const same = `profiles.family = '${family}' AND profiles.id = staged.id`;
  const isStaged = `EXISTS (SELECT 1 FROM staged WHERE kind = ${kind} AND staged.id = profiles.id)`;
  // User names cannot contain a tab. Without this, two users could not swap names.
  const parkNames = `
    UPDATE profiles SET user_key = '\t' || id WHERE family = '${family}' AND id IN (${CHANGED})
    AND user_key <> (SELECT staged.user_key FROM staged WHERE kind = ${kind} AND staged.id = profiles.id)`;
  const insert = (source: string) => `
    INSERT INTO profiles (family, id, user_key, words, etag, record, served)
    SELECT '${family}', id, user_key, words, etag_of(text), record, nullif(text, record) FROM (
      SELECT staged.id, user_key, words, record, ${served} AS text FROM ${source} ORDER BY staged.id) AS built`;
  const columns = `
    SELECT user_key, words, etag_of(text), record, nullif(text, record) FROM (
      SELECT user_key, words, record, ${served} AS text FROM staged
      WHERE kind = ${kind} AND staged.id = profiles.id) AS built`;
  const update = `
    UPDATE profiles SET (user_key, words, etag, record, served) = (${columns})
    WHERE family = '${family}' AND id IN (${CHANGED})`;
  return {
    ...countStatements('profiles', 'id', family, kind),
    stagedRecords: `SELECT id, id AS owner FROM staged WHERE kind = ${kind}`,
    insertAll: insert(`staged WHERE kind = ${kind}`),
    removedRecords: `SELECT id, id AS owner FROM profiles WHERE family = '${family}' AND NOT ${isStaged}`,
    remove: `DELETE FROM profiles WHERE family = '${family}' AND NOT ${isStaged}`,
    findChanged: `
      INSERT INTO changed SELECT staged.id, profiles.id FROM staged LEFT JOIN profiles ON ${same}
      WHERE kind = ${kind} AND (profiles.id IS NULL OR profiles.record <> staged.record OR profiles.user_key <> staged.user_key)`,
    changedRecords: 'SELECT id, id AS owner FROM changed',
    change: [parkNames, update],
    insert: insert(newOf(kind)),
  };
}

function itemStatements(family: Family, kind: number) {
  const same = `items.family = '${family}' AND items.id = staged.id`;
  const isStaged = `EXISTS (SELECT 1 FROM staged WHERE kind = ${kind} AND staged.id = items.id)`;
  const update = `
    UPDATE items SET (owner, date, record) = (
      SELECT staged.owner, staged.date, staged.record FROM staged WHERE kind = ${kind} AND staged.id = items.id)
    WHERE family = '${family}' AND id IN (${CHANGED})`;
  // As the index of their order wants it.
  const staged = `staged WHERE kind = ${kind} AND owner IS NOT NULL`;
  // In the order of the lists, so that the rows of one user are neighbours.
  const insert = (source: string) => `
    INSERT INTO items (family, id, owner, date, record)
    SELECT '${family}', staged.id, owner, date, record FROM ${source} ORDER BY owner, date DESC, staged.id DESC`;
  return {
    ...countStatements('items', 'owner', family, kind),
    stagedRecords: `SELECT id, owner FROM ${staged}`,
    insertAll: insert(staged),
    removedRecords: `SELECT id, owner FROM items WHERE family = '${family}' AND NOT ${isStaged}`,
    remove: `DELETE FROM items WHERE family = '${family}' AND NOT ${isStaged}`,
    findChanged: `
      INSERT INTO changed SELECT staged.id, items.owner FROM staged LEFT JOIN items ON ${same}
      WHERE kind = ${kind} AND (items.id IS NULL OR items.record <> staged.record)`,
    // Also with the owners that items had before.
    changedRecords: `
      SELECT id, owner_before AS owner FROM changed WHERE owner_before IS NOT NULL
      UNION ALL SELECT staged.id, owner FROM staged CROSS JOIN changed WHERE kind = ${kind} AND changed.id = staged.id`,
    change: [update],
    insert: insert(newOf(kind)),
  };
}
