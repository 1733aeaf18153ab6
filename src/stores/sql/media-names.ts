// Who names which picture: the addresses in records, each with the records that name it. Kept once there are copies, or addresses that
// were tried, and complete from then on. A change of records reads their names before it writes, and files what they name after it
// (derive.ts), so that it costs what these records cost, however many others their users have.
import {
  type Family,
  findKind,
  KIND_NAMES,
  KINDS,
  type KindName,
  PICTURE_MEMBERS,
} from '../../records/kinds.ts';
import { copiedMembers, MEDIA_URL, type MemberSql, tableName } from './media-statements.ts';
import { countRows, firstRow, type Rows, type SqlAdapter } from './sql-adapter.ts';

/** With LIMIT, PostgreSQL looks each address up, and does not read the whole table. */
const IS_NAMED = '(SELECT 1 FROM media_names WHERE media_names.url = media.url LIMIT 1) IS NOT NULL';

/** The SQL for the time, as `unnamed_since` has it. */
export const seconds = (db: SqlAdapter) => `${db.now} / 1000000`;

/** `unnamed_since` of an address that becomes known. */
export const unnamedSince = (db: SqlAdapter, url: string) =>
  `CASE WHEN NOT EXISTS (SELECT 1 FROM media_names WHERE media_names.url = ${url}) THEN ${seconds(db)} END`;

/** Longer addresses are never asked for, and indexes take none. */
const LONGEST_URL = 2048;

/** Names are kept while this is so: they are of no use before. */
const hasMedia = async (db: Rows) =>
  (await countRows(db, 'SELECT count(*) FROM (SELECT 1 FROM media LIMIT 1) AS one')) > 0;

const kindsOf = (family: Family) => KIND_NAMES.filter((kind) => KINDS[kind].family === family);

/** Users of a family that name an address of which a condition holds. */
export const whoNames = (family: Family, condition: string) => `
  SELECT media_names.id FROM media CROSS JOIN media_names
  WHERE ${condition} AND media_names.url = media.url AND kind = '${findKind(family, 'profile')}'
  UNION
  SELECT owner FROM media CROSS JOIN media_names CROSS JOIN items
  WHERE ${condition} AND media_names.url = media.url AND kind = '${findKind(family, 'item')}'
    AND items.family = '${family}' AND items.id = media_names.id`;

/** What records of a kind name, each address once for a record. `ids` is a query; without it, what all of them name. */
function selectNames(kind: KindName, member: MemberSql, ids?: string): string {
  const members = copiedMembers(kind);
  const numbers = members.map((_, index) => `SELECT ${index} AS nth`).join(' UNION ALL ');
  const cases = members.map((name, index) => `WHEN ${index} THEN ${member(name)}`).join(' ');
  // All members of one row after each other, so that its text is parsed once. One that is damaged names nothing.
  return `
    SELECT DISTINCT url, '${kind}' AS kind, id, is_file FROM (
      SELECT CASE nth ${cases} END AS url, id, CASE WHEN nth < ${PICTURE_MEMBERS[kind].length} THEN 0 ELSE 1 END AS is_file
      FROM (
        SELECT id, record FROM ${tableName(kind)}
        WHERE family = '${KINDS[kind].family}'${ids === undefined ? '' : ` AND id IN (${ids})`} AND json_valid(record)
      ) AS records CROSS JOIN (${numbers}) AS numbers) AS found
    WHERE url <> '' AND octet_length(url) <= ${LONGEST_URL}`;
}

const touchedRecords = (kind: KindName) => `SELECT id FROM touched_records WHERE kind = '${kind}'`;

/** Remembers what records name before they change. `ids` is a query of the ids of records, also of those that are not here yet. */
export async function touchNames(db: SqlAdapter, kind: KindName, ids: string): Promise<void> {
  if (!(await hasMedia(db))) return;
  await db.run(
    `INSERT INTO touched_records SELECT '${kind}', id FROM (${ids}) AS ids WHERE true ON CONFLICT DO NOTHING`,
  );
  await db.run(
    `INSERT INTO names_before ${selectNames(kind, db.member, touchedRecords(kind))} ON CONFLICT DO NOTHING`,
  );
}

/** Files what the records in `touched_records` name now, and empties it. */
export async function deriveNames(db: SqlAdapter, family: Family): Promise<void> {
  if ((await countRows(db, 'SELECT count(*) FROM (SELECT 1 FROM touched_records LIMIT 1) AS one')) === 0)
    return;
  await db.countForPlanner('touched_records');
  for (const kind of kindsOf(family))
    await db.run(`INSERT INTO names_now ${selectNames(kind, db.member, touchedRecords(kind))}`);
  await db.countForPlanner('names_before');
  await db.countForPlanner('names_now');
  await db.run(
    'DELETE FROM media_names WHERE (url, kind, id, is_file) IN (SELECT * FROM names_before EXCEPT SELECT * FROM names_now)',
  );
  await db.run(
    'INSERT INTO media_names SELECT * FROM names_now WHERE true ORDER BY url, kind, id, is_file ON CONFLICT DO NOTHING',
  );
  await db.run(`
    UPDATE media SET unnamed_since = ${seconds(db)}
    WHERE url IN (SELECT url FROM names_before) AND unnamed_since IS NULL AND NOT (${IS_NAMED})`);
  await db.run(`
    UPDATE media SET unnamed_since = NULL WHERE unnamed_since IS NOT NULL AND url IN (SELECT url FROM names_now)`);
  for (const table of ['touched_records', 'names_before', 'names_now']) await db.run(`DELETE FROM ${table}`);
}

const selectAllNames = (db: Rows) =>
  KIND_NAMES.map((kind) => selectNames(kind, db.member)).join(' UNION ALL ');

/** Files the names of all records anew, once there are copies. */
export async function nameEverything(db: SqlAdapter): Promise<void> {
  if (!(await hasMedia(db))) return;
  await fileNames(db);
  // Earlier versions have not done it when they linked copies.
  const [mediaUrl = null] = await firstRow(db, MEDIA_URL);
  if (mediaUrl !== null) await addOwnAddresses(db, mediaUrl, 'true');
}

/**
 * Records may have named copies by their own address before there were any (`namedCopies`). It becomes an original of the copy, so
 * that a takedown of somebody else leaves the file. `condition` is that of the rows of `media` to look at. Without a file there is no such
 * address; if the condition said so, SQLite would look through all that have one.
 */
export const addOwnAddresses = (db: SqlAdapter, mediaUrl: string, condition: string) =>
  db.run(
    `
    INSERT INTO media (url, file)
    SELECT url, file FROM (
      SELECT DISTINCT CAST($1 AS text) || '/' || file AS url, file FROM media WHERE ${condition}) AS own
    WHERE EXISTS (SELECT 1 FROM media_names WHERE media_names.url = own.url)
    ON CONFLICT (url) DO UPDATE SET file = excluded.file, reason = NULL WHERE media.file IS NULL`,
    [mediaUrl],
  );

/** Files the names of all records before there are copies: from now on they are kept. */
export async function beginNames(db: SqlAdapter): Promise<void> {
  if (!(await hasMedia(db))) await fileNames(db);
}

async function fileNames(db: SqlAdapter): Promise<void> {
  await db.run('DELETE FROM media_names');
  await db.run(
    `INSERT INTO media_names SELECT * FROM (${selectAllNames(db)}) AS names ORDER BY url, kind, id, is_file`,
  );
  await db.countForPlanner('media_names');
  await db.run(`
    UPDATE media SET unnamed_since = CASE WHEN NOT (${IS_NAMED}) THEN ${seconds(db)} END
    WHERE (unnamed_since IS NULL) <> (${IS_NAMED})`);
}

/** The records of which other names are filed than they have, for `vitrine check`. Each selection has a row once. */
export const wrongNames = async (db: Rows): Promise<string | undefined> =>
  (await hasMedia(db))
    ? `
      SELECT DISTINCT kind, CAST(id AS text) FROM (
        SELECT url, kind, id, is_file FROM (SELECT * FROM media_names UNION ALL ${selectAllNames(db)}) AS either
        GROUP BY url, kind, id, is_file HAVING count(*) = 1) AS wrong`
    : undefined;
