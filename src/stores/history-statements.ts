// A user's items from one of them on, in text that SQLite and PostgreSQL both understand.
import { type Family, findKind } from '../records/kinds.ts';
import { type MemberSql, servedText } from './media-statements.ts';

const SIDES = { older: ['<=', 'DESC'], newer: ['>=', 'ASC'] } as const;
export type Side = keyof typeof SIDES;

/**
 * Towards one side. $1: the key of the user's name; $2: the id of the item to begin with, empty for the newest; $3: how many
 * to return; $4: how many to leave out before.
 */
export function selectHistory(family: Family, member: MemberSql, side: Side): string {
  const [reaches, order] = SIDES[side];
  return `
  SELECT CASE WHEN media_url IS NULL THEN record ELSE ${servedText(findKind(family, 'item'), member)} END
  FROM (
    SELECT date, id, record FROM (
      SELECT owner AS from_owner, date AS from_date, id AS from_id FROM items
      WHERE family = '${family}' AND owner = (SELECT id FROM profiles WHERE family = '${family}' AND user_key = $1)
      AND ($2 = '' OR id = CAST(nullif($2, '') AS bigint))
      ORDER BY date DESC, id DESC LIMIT 1) AS start
    CROSS JOIN items
    WHERE family = '${family}' AND owner = from_owner AND (date, id) ${reaches} (from_date, from_id)
    ORDER BY date ${order}, id ${order} LIMIT $3 OFFSET $4) AS page
  CROSS JOIN vitrine ORDER BY date ${order}, id ${order}`;
}
