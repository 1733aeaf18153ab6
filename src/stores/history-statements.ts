// A user's items from one of them on, newest first, in text that SQLite and PostgreSQL both understand.
import { type Family, findKind } from '../records/kinds.ts';
import { type MemberSql, servedText } from './media-statements.ts';

/**
 * $1: the key of the user's name; $2: the id of the item to begin with, empty for the newest; $3: how many records to
 * return, each with the number of items from the first one on. It takes one scan of the index of the user's items.
 */
export const selectHistory = (family: Family, member: MemberSql) => `
  SELECT older, CASE WHEN media_url IS NULL THEN record ELSE ${servedText(findKind(family, 'item'), member)} END
  FROM (
    SELECT older, date, id, record FROM (
      SELECT owner, from_date, from_id, (
        SELECT count(*) FROM items
        WHERE family = '${family}' AND items.owner = start.owner AND (date, id) <= (from_date, from_id)) AS older
      FROM (
        SELECT owner, date AS from_date, id AS from_id FROM items
        WHERE family = '${family}' AND owner = (SELECT id FROM profiles WHERE family = '${family}' AND user_key = $1)
        AND ($2 = '' OR id = CAST(nullif($2, '') AS bigint))
        ORDER BY date DESC, id DESC LIMIT 1) AS start LIMIT 1) AS counted
    CROSS JOIN items
    WHERE family = '${family}' AND items.owner = counted.owner AND (date, id) <= (from_date, from_id)
    ORDER BY date DESC, id DESC LIMIT $3) AS page
  CROSS JOIN vitrine ORDER BY date DESC, id DESC`;
