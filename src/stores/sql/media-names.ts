// Who names which picture: the addresses in records, each with the users that name it. Triggers remove what a record names no
// more, and note in `unnamed_since` that perhaps no other does. What new and changed records name is filed before the table is used.

import { KIND_NAMES, KINDS, type KindName, PICTURE_MEMBERS } from '../../records/kinds.ts';
import { knowsGeneration, markDelivered, selectChanged } from './changes.ts';
import { copiedMembers, type MemberSql, tableName, userColumn } from './media-statements.ts';
import { countRows, type SqlAdapter } from './sql-adapter.ts';

/** Its name among the subscribers. */
const NAMES = 'media names';

/** With LIMIT, PostgreSQL looks each address up, and does not read the whole table. */
export const IS_NAMED = '(SELECT 1 FROM media_names WHERE media_names.url = media.url LIMIT 1) IS NOT NULL';
export const IS_UNNAMED = `unnamed_since IS NOT NULL AND NOT (${IS_NAMED})`;

/** The SQL for the time, as `unnamed_since` has it. */
export const seconds = (db: SqlAdapter) => `${db.now} / 1000000`;

/** Files what users name that changed since the last time. All records are read if that is too long ago. */
export async function fileNames(db: SqlAdapter): Promise<void> {
  const generation = await countRows(db, GENERATION);
  const since = await countRows(db, `SELECT generation FROM subscribers WHERE name = '${NAMES}'`);
  if (since === generation) return;
  const isKnown = await knowsGeneration(db, since, generation);
  if (isKnown) await listChanged(db, since);
  const named = KIND_NAMES.map((kind) => selectNamed(kind, isKnown, db.member)).join(' UNION ALL ');
  // In the order of the table: otherwise each row would change another page of it.
  const filed = await db.run(`
    INSERT INTO media_names (url, family, id, is_file)
    SELECT url, family, id, is_file FROM (${named}) AS named
    WHERE url <> '' AND octet_length(url) <= ${LONGEST_URL} ORDER BY url, family, id, is_file
    ON CONFLICT DO NOTHING`);
  await db.countForPlanner('media, media_names', filed);
  if (!isKnown)
    await db.run(
      `UPDATE media SET unnamed_since = ${seconds(db)} WHERE unnamed_since IS NULL AND NOT (${IS_NAMED})`,
    );
  await markFiled(db);
}

/** Also for a change of answers that concerns no address in records. */
export const markFiled = async (db: SqlAdapter) =>
  markDelivered(db, [NAMES], await countRows(db, GENERATION));

const GENERATION = 'SELECT generation FROM vitrine';

/** Addresses that a record names are no longer doubtful. */
export async function clearNamed(db: SqlAdapter): Promise<void> {
  const cleared = await db.run(
    `UPDATE media SET unnamed_since = NULL WHERE unnamed_since IS NOT NULL AND ${IS_NAMED}`,
  );
  await db.countForPlanner('media', cleared);
}

/** Longer addresses are never asked for, and indexes take none. */
const LONGEST_URL = 2048;

async function listChanged(db: SqlAdapter, since: number): Promise<void> {
  await db.run('DELETE FROM listed');
  await db.run(`INSERT INTO listed ${selectChanged(since)}`);
  // Without this, PostgreSQL reads all items even for one user.
  await db.run('ANALYZE listed');
}

/** All members of one row after each other, so that its text is parsed once. */
function selectNamed(kind: KindName, onlyListed: boolean, member: MemberSql): string {
  const { family } = KINDS[kind];
  const members = copiedMembers(kind);
  const numbers = members.map((_, index) => `SELECT ${index} AS nth`).join(' UNION ALL ');
  const cases = members.map((name, index) => `WHEN ${index} THEN ${member(name)}`).join(' ');
  const isListed = ` AND ${userColumn(kind)} IN (SELECT id FROM listed WHERE listed.family = '${family}')`;
  return `
    SELECT CASE nth ${cases} END AS url, '${family}' AS family, id,
      CASE WHEN nth < ${PICTURE_MEMBERS[kind].length} THEN 0 ELSE 1 END AS is_file
    FROM (
      SELECT ${userColumn(kind)} AS id, record FROM ${tableName(kind)}
      WHERE family = '${family}'${onlyListed ? isListed : ''}) AS records CROSS JOIN (${numbers}) AS numbers`;
}
