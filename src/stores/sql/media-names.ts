// Who names which picture: the addresses in records, each with the users that name it (derive.ts keeps them).
import { type Family, KINDS, type KindName, PICTURE_MEMBERS } from '../../records/kinds.ts';
import { copiedMembers, type MemberSql, tableName, userColumn } from './media-statements.ts';
import type { SqlAdapter } from './sql-adapter.ts';

/** With LIMIT, PostgreSQL looks each address up, and does not read the whole table. */
export const IS_NAMED = '(SELECT 1 FROM media_names WHERE media_names.url = media.url LIMIT 1) IS NOT NULL';

/** The SQL for the time, as `unnamed_since` has it. */
export const seconds = (db: SqlAdapter) => `${db.now} / 1000000`;

/** Longer addresses are never asked for, and indexes take none. */
export const LONGEST_URL = 2048;

/** Users of a family that name an address of which a condition holds. */
export const whoNames = (family: Family, condition: string) => `
  SELECT DISTINCT id FROM media CROSS JOIN media_names
  WHERE ${condition} AND media_names.url = media.url AND family = '${family}'`;

/** All members of one row after each other, so that its text is parsed once. `users` is a condition on the ids of their users. */
export function selectNamed(kind: KindName, member: MemberSql, users?: string): string {
  const { family } = KINDS[kind];
  const members = copiedMembers(kind);
  const numbers = members.map((_, index) => `SELECT ${index} AS nth`).join(' UNION ALL ');
  const cases = members.map((name, index) => `WHEN ${index} THEN ${member(name)}`).join(' ');
  const isOfUsers = users === undefined ? '' : ` AND ${userColumn(kind)} ${users}`;
  return `
    SELECT CASE nth ${cases} END AS url, id,
      CASE WHEN nth < ${PICTURE_MEMBERS[kind].length} THEN 0 ELSE 1 END AS is_file
    FROM (
      SELECT ${userColumn(kind)} AS id, record FROM ${tableName(kind)}
      WHERE family = '${family}'${isOfUsers}) AS records CROSS JOIN (${numbers}) AS numbers`;
}
