// The tables and statements of an import, in text that SQLite and PostgreSQL both understand. merge.ts runs them.
//
// CROSS JOIN is an inner join whose tables SQLite goes through in the order they are written in: without it, a small
// import could scan a whole table.
import { type Family, findKind, ITEM_CAP, KIND_NAMES, type KindName } from '../records/kinds.ts';

/** The columns that a writer fills; `n` numbers the rows in the order they came. */
export const STAGED_COLUMNS = ['kind', 'place', 'id', 'user_key', 'owner', 'date', 'record'] as const;
export const stagedKind = (kind: KindName) => KIND_NAMES.indexOf(kind);

/** Beside `staged`; each store creates them as temporary tables. */
export const WORK_TABLES = {
  changed: 'id bigint PRIMARY KEY, owner_before bigint',
  touched: 'owner bigint PRIMARY KEY',
  gone: 'id bigint PRIMARY KEY',
  named: 'url text PRIMARY KEY',
  spellings: 'user_key text PRIMARY KEY, takedown_key text',
  misfits: 'n bigint, place bigint, kind integer, id text, fault text, other text, record text',
};

export const INDEXES = [
  'CREATE INDEX staged_by_id ON staged (kind, id)',
  'CREATE INDEX staged_by_name ON staged (kind, user_key) WHERE owner IS NULL',
  'CREATE INDEX misfits_by_id ON misfits (kind, id)',
  'ANALYZE staged',
];

/** The list as the items of a row of `profiles` give it. `record` is the SQL for a record as it is served. */
export const listOfProfile = (record: string) => `(
  SELECT '[' || coalesce(string_agg(${record}, ','), '') || ']' FROM (
    SELECT record FROM items WHERE items.family = profiles.family AND items.owner = profiles.id
    ORDER BY date DESC, id DESC LIMIT ${ITEM_CAP}) AS newest)`;

/** A limit that never cuts. It keeps SQLite from computing the list once for each mention of it. */
const MAX_ROWS = '9223372036854775807';

/**
 * Rebuilds the lists of `touched`. A list that stays as it was is left alone, so that it does not count as changed. Users who
 * were renamed may have taken each other's names: their lists first lose their owner.
 */
export const listStatements = (family: Family, record: string) => [
  `UPDATE lists SET owner = -owner WHERE family = '${family}' AND owner IN (SELECT owner FROM touched) AND NOT EXISTS (
     SELECT 1 FROM profiles
     WHERE profiles.family = '${family}' AND profiles.id = lists.owner AND profiles.user_key = lists.user_key)`,
  `INSERT INTO lists (family, user_key, owner, etag, items)
   SELECT '${family}', user_key, id, etag_of(items), items FROM (
     SELECT user_key, id, ${listOfProfile(record)} AS items
     FROM touched CROSS JOIN profiles WHERE profiles.family = '${family}' AND profiles.id = touched.owner
     ORDER BY id LIMIT ${MAX_ROWS} OFFSET 0) AS built WHERE true
   ON CONFLICT (family, user_key) DO UPDATE
   SET owner = excluded.owner, etag = excluded.etag, items = excluded.items, packed = NULL
   WHERE lists.owner <> excluded.owner OR lists.etag <> excluded.etag OR lists.items <> excluded.items`,
  `DELETE FROM lists WHERE family = '${family}' AND owner < 0`,
  // Triggers record the lists. Items that are too old for them are in archives of feeds.
  `INSERT INTO changes (family, user_key, items)
   SELECT '${family}', user_key, generation FROM touched CROSS JOIN profiles CROSS JOIN vitrine
   WHERE profiles.family = '${family}' AND profiles.id = touched.owner AND generation > 0
   ON CONFLICT (family, user_key) DO UPDATE SET items = excluded.items`,
];

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

    /** A name stays with its current owner unless the import renames them; of two new users, the first gets it. */
    clashes: (replace: boolean) => selectClashes(family, profileKind, replace),

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

function selectClashes(family: Family, kind: number, replace: boolean): string {
  const keepsName = (row: string) =>
    `EXISTS (SELECT 1 FROM profiles WHERE family = '${family}' AND profiles.id = ${row}.id AND profiles.user_key = ${row}.user_key)`;
  const stored = `
    SELECT staged.n, profiles.id AS other, 0 AS position
    FROM staged CROSS JOIN profiles
    WHERE family = '${family}' AND profiles.user_key = staged.user_key AND kind = ${kind} AND profiles.id <> staged.id AND NOT EXISTS (
      SELECT 1 FROM staged AS renamed WHERE renamed.kind = ${kind} AND renamed.id = profiles.id)`;
  const position = (row: string) => `CASE WHEN ${keepsName(row)} THEN 0 ELSE ${row}.n END`;
  const staged = `
    SELECT n, other, position FROM (
      SELECT one.n, two.id AS other, ${position('two')} AS position, ${position('one')} AS own_position
      FROM staged AS one JOIN staged AS two ON two.kind = ${kind} AND two.user_key = one.user_key AND two.owner IS NULL
      WHERE one.kind = ${kind} AND two.id <> one.id AND one.owner IS NULL) AS pairs
    WHERE position < own_position`;
  return `
    SELECT staged.n, place, kind, CAST(staged.id AS text), 'name', CAST(other AS text), record FROM (
      SELECT n, other, row_number() OVER (PARTITION BY n ORDER BY position) AS nth
      FROM (${replace ? staged : `${stored} UNION ALL ${staged}`}) AS held) AS first_held
    JOIN staged ON staged.n = first_held.n WHERE nth = 1`;
}

/** How staged rows of one kind become rows of its table. */
export type KindStatements = ReturnType<typeof itemStatements>;

function profileStatements(family: Family, kind: number, served: string): KindStatements {
  const same = `profiles.family = '${family}' AND profiles.id = staged.id`;
  const isStaged = `EXISTS (SELECT 1 FROM staged WHERE kind = ${kind} AND staged.id = profiles.id)`;
  // User names cannot contain a tab. Without this, two users could not swap names.
  const parkNames = `
    UPDATE profiles SET user_key = '\t' || id WHERE family = '${family}' AND id IN (SELECT id FROM changed)
    AND user_key <> (SELECT staged.user_key FROM staged WHERE kind = ${kind} AND staged.id = profiles.id)`;
  const columns = `
    SELECT user_key, etag_of(text), record, nullif(text, record) FROM (
      SELECT user_key, record, ${served} AS text FROM staged
      WHERE kind = ${kind} AND staged.id = profiles.id) AS built`;
  const update = `
    UPDATE profiles SET packed = NULL, (user_key, etag, record, served) = (${columns})
    WHERE family = '${family}' AND id IN (SELECT id FROM changed)`;
  return {
    staged: `SELECT count(*) FROM staged WHERE kind = ${kind}`,
    // Also those who are renamed.
    touchNew: `
      INSERT INTO touched SELECT id FROM staged WHERE kind = ${kind}
      AND NOT EXISTS (SELECT 1 FROM profiles WHERE ${same} AND profiles.user_key = staged.user_key)
      ON CONFLICT DO NOTHING`,
    touchRemoved: `
      INSERT INTO touched SELECT id FROM profiles WHERE family = '${family}' AND NOT ${isStaged} ON CONFLICT DO NOTHING`,
    remove: `DELETE FROM profiles WHERE family = '${family}' AND NOT ${isStaged}`,
    findChanged: `
      INSERT INTO changed (id) SELECT staged.id FROM staged CROSS JOIN profiles
      WHERE ${same} AND kind = ${kind} AND (profiles.record <> staged.record OR profiles.user_key <> staged.user_key)`,
    change: [parkNames, update],
    insert: `
      INSERT INTO profiles (family, id, user_key, etag, record, served)
      SELECT '${family}', id, user_key, etag_of(text), record, nullif(text, record) FROM (
        SELECT id, user_key, record, ${served} AS text FROM staged
        WHERE kind = ${kind} AND NOT EXISTS (SELECT 1 FROM profiles WHERE ${same})) AS built ORDER BY id`,
  };
}

function itemStatements(family: Family, kind: number) {
  const same = `items.family = '${family}' AND items.id = staged.id`;
  const isStaged = `EXISTS (SELECT 1 FROM staged WHERE kind = ${kind} AND staged.id = items.id)`;
  const touchOwners = `
    INSERT INTO touched SELECT owner_before FROM changed
    UNION SELECT owner FROM staged WHERE kind = ${kind} AND id IN (SELECT id FROM changed) ON CONFLICT DO NOTHING`;
  const update = `
    UPDATE items SET (owner, date, record) = (
      SELECT staged.owner, staged.date, staged.record FROM staged WHERE kind = ${kind} AND staged.id = items.id)
    WHERE family = '${family}' AND id IN (SELECT id FROM changed)`;
  return {
    staged: `SELECT count(*) FROM staged WHERE kind = ${kind}`,
    touchNew: `
      INSERT INTO touched SELECT DISTINCT owner FROM staged
      WHERE kind = ${kind} AND NOT EXISTS (SELECT 1 FROM items WHERE ${same}) ON CONFLICT DO NOTHING`,
    touchRemoved: `
      INSERT INTO touched SELECT DISTINCT owner FROM items WHERE family = '${family}' AND NOT ${isStaged}
      ON CONFLICT DO NOTHING`,
    remove: `DELETE FROM items WHERE family = '${family}' AND NOT ${isStaged}`,
    findChanged: `
      INSERT INTO changed SELECT staged.id, items.owner FROM staged CROSS JOIN items
      WHERE ${same} AND kind = ${kind} AND items.record <> staged.record`,
    change: [touchOwners, update],
    // In the order of the lists, so that the rows of one user are neighbours.
    insert: `
      INSERT INTO items (family, id, owner, date, record)
      SELECT '${family}', id, owner, date, record FROM staged
      WHERE kind = ${kind} AND NOT EXISTS (SELECT 1 FROM items WHERE ${same}) ORDER BY owner, date DESC, id DESC`,
  };
}
