// Who names which picture: the addresses in records, each with the users that name it. Triggers remove what a record names no
// more, and note in `unnamed_since` that perhaps no other does. What new and changed records name is filed before the table is used.

import {
  FAMILIES,
  type Family,
  KIND_NAMES,
  KINDS,
  type KindName,
  PICTURE_MEMBERS,
} from '../../records/kinds.ts';
import type { ShareListener } from '../steps.ts';
import { markDelivered, readDelivered, readGeneration, selectChanged } from './changes.ts';
import { copiedMembers, type MemberSql, tableName, userColumn } from './media-statements.ts';
import { type Change, countRows, firstRow, type SqlAdapter } from './sql-adapter.ts';

/** Its name among the subscribers. */
const NAMES = 'media names';

/** With LIMIT, PostgreSQL looks each address up, and does not read the whole table. */
export const IS_NAMED = '(SELECT 1 FROM media_names WHERE media_names.url = media.url LIMIT 1) IS NOT NULL';
export const IS_UNNAMED = `unnamed_since IS NOT NULL AND NOT (${IS_NAMED})`;

/** The SQL for the time, as `unnamed_since` has it. */
export const seconds = (db: SqlAdapter) => `${db.now} / 1000000`;

/** Files what users name that changed since the last time. All records are read if that is too long ago. */
export async function fileNames(db: SqlAdapter): Promise<void> {
  const { generation, since } = await readMark(db);
  if (since === generation) return;
  if (since !== undefined) await listChanged(db, since);
  await fileUsers(db, FAMILIES, since === undefined ? undefined : isListed);
  if (since === undefined) await doubtUnnamed(db);
  await markFiled(db);
}

const USERS_AT_ONCE = 5000;

/** Comes before `fileNames` where all records may have to be read. It reads them in steps, which let other writers in between. */
export async function fileAllNames(change: Change, onShare: ShareListener): Promise<void> {
  const { generation, since, users } = await change(readMark);
  if (since !== undefined) return;
  let filed = 0;
  for (const family of FAMILIES)
    for (let last: string | undefined = '0'; last !== undefined; ) {
      const after: string = last;
      const step = await change((db) => fileNext(db, family, after));
      filed += step.users;
      last = step.last;
      onShare(users === 0 ? 1 : Math.min(filed / users, 1));
    }
  await change(async (db) => {
    await doubtUnnamed(db);
    await markDelivered(db, [NAMES], generation);
  });
}

/** The next users from an id on. */
async function fileNext(db: SqlAdapter, family: Family, after: string) {
  const [last = null, found] = await firstRow(
    db,
    `SELECT CAST(max(id) AS text), count(*) FROM (
       SELECT id FROM profiles WHERE family = '${family}' AND id > ${after} ORDER BY id LIMIT ${USERS_AT_ONCE}) AS next`,
  );
  const users = Number(found);
  if (last !== null) await fileUsers(db, [family], () => `BETWEEN ${after} + 1 AND ${last}`);
  return { users, last: last === null || users < USERS_AT_ONCE ? undefined : last };
}

/** As of which generation names are filed. Undefined: all records have to be read. */
async function readMark(db: SqlAdapter) {
  const generation = await readGeneration(db);
  const users = await countRows(db, "SELECT sum(number) FROM counts WHERE kind LIKE '%profile'");
  return { generation, users, since: await readDelivered(db, NAMES, generation) };
}

const isListed = (family: Family) => `IN (SELECT id FROM listed WHERE listed.family = '${family}')`;

/** `users` is a condition on the ids of users of a family. */
async function fileUsers(
  db: SqlAdapter,
  families: readonly Family[],
  users?: (family: Family) => string,
): Promise<void> {
  const kinds = KIND_NAMES.filter((kind) => families.includes(KINDS[kind].family));
  const named = kinds
    .map((kind) => selectNamed(kind, db.member, users?.(KINDS[kind].family)))
    .join(' UNION ALL ');
  // In the order of the table: otherwise each row would change another page of it.
  const filed = await db.run(`
    INSERT INTO media_names (url, family, id, is_file)
    SELECT url, family, id, is_file FROM (${named}) AS named
    WHERE url <> '' AND octet_length(url) <= ${LONGEST_URL} ORDER BY url, family, id, is_file
    ON CONFLICT DO NOTHING`);
  await db.countForPlanner('media, media_names', filed);
}

async function doubtUnnamed(db: SqlAdapter): Promise<void> {
  await db.run(
    `UPDATE media SET unnamed_since = ${seconds(db)} WHERE unnamed_since IS NULL AND NOT (${IS_NAMED})`,
  );
}

/** Also for a change of answers that concerns no address in records. */
export const markFiled = async (db: SqlAdapter) => markDelivered(db, [NAMES], await readGeneration(db));

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

/** All members of one row after each other, so that its text is parsed once. `users` is a condition on the ids of their users. */
function selectNamed(kind: KindName, member: MemberSql, users?: string): string {
  const { family } = KINDS[kind];
  const members = copiedMembers(kind);
  const numbers = members.map((_, index) => `SELECT ${index} AS nth`).join(' UNION ALL ');
  const cases = members.map((name, index) => `WHEN ${index} THEN ${member(name)}`).join(' ');
  const isOfUsers = users === undefined ? '' : ` AND ${userColumn(kind)} ${users}`;
  return `
    SELECT CASE nth ${cases} END AS url, '${family}' AS family, id,
      CASE WHEN nth < ${PICTURE_MEMBERS[kind].length} THEN 0 ELSE 1 END AS is_file
    FROM (
      SELECT ${userColumn(kind)} AS id, record FROM ${tableName(kind)}
      WHERE family = '${family}'${isOfUsers}) AS records CROSS JOIN (${numbers}) AS numbers`;
}
