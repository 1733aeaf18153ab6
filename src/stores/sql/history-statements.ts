// A user's items from one of them on, in text that SQLite and PostgreSQL both understand.
import { type Family, findKind, ITEM_CAP } from '../../records/kinds.ts';
import { MOST_BYTES } from '../reader.ts';
import { SERVED_PROFILE, servedRecord } from './media-statements.ts';
import type { SqlAdapter } from './sql-adapter.ts';

const SIDES = { older: ['<=', 'DESC'], newer: ['>=', 'ASC'] } as const;
export type Side = keyof typeof SIDES;

/**
 * Columns of items, towards one side. $1 is the key of the user's name. $2 is the id of the item to begin with, empty for the
 * newest. $3 is how many to return, and $4 how many to leave out before. With a bare `LIMIT $3`, SQLite would plan anew for
 * each call, which takes longer than to read an item.
 */
export function selectHistory(family: Family, side: Side, columns: string): string {
  const [reaches, order] = SIDES[side];
  const ofUser = `items.family = '${family}'
    AND owner = (SELECT id FROM profiles WHERE family = '${family}' AND user_key = $1)`;
  return `
  SELECT ${columns} FROM items
  WHERE ${ofUser} AND (items.date, items.id) ${reaches} (
    SELECT date, id FROM items
    WHERE ${ofUser} AND ($2 = '' OR id = CAST(nullif($2, '') AS bigint))
    ORDER BY date DESC, id DESC LIMIT 1)
  ORDER BY items.date ${order}, items.id ${order} LIMIT $3 + 0 OFFSET $4 + 0`;
}

const ITEMS_OF_USER = 'FROM items WHERE items.family = profiles.family AND items.owner = profiles.id';

/**
 * Of a row of profiles and lists: the list's body, whether there are more items, and whether records may name copies. The body is
 * null if the list or its records are too long for one page. Where copies are named, records may be longer than the list. Pages
 * of older items begin by the sizes of records.
 */
export const NEWEST_COLUMNS = `
  CASE WHEN octet_length(body) <= ${MOST_BYTES} AND ((SELECT media_url FROM vitrine) IS NULL OR ${MOST_BYTES} >= (
    SELECT coalesce(sum(bytes), 0) FROM (
      SELECT octet_length(record) AS bytes ${ITEMS_OF_USER} ORDER BY date DESC, id DESC LIMIT ${ITEM_CAP}) AS newest))
    THEN body END,
  EXISTS (SELECT 1 ${ITEMS_OF_USER} ORDER BY date DESC, id DESC LIMIT 1 OFFSET ${ITEM_CAP}),
  (SELECT media_url FROM vitrine) IS NOT NULL`;

/**
 * An item with its user: the profile's ETag and text, the record as it is served, and the ids of the next older and newer ones.
 * $1: the key of the user's name; $2: the item's id.
 */
export function selectItem(family: Family, { member, bytes }: Pick<SqlAdapter, 'member' | 'bytes'>): string {
  const beside = (sign: string, order: string) => `(
    SELECT CAST(other.id AS text) FROM items AS other
    WHERE other.family = '${family}' AND other.owner = items.owner AND (other.date, other.id) ${sign} (items.date, items.id)
    ORDER BY other.date ${order}, other.id ${order} LIMIT 1)`;
  const record = `CASE WHEN (SELECT media_url FROM vitrine) IS NULL THEN record ELSE ${servedRecord(findKind(family, 'item'), member)} END`;
  return `
  SELECT etag, ${bytes('profile')} AS profile, ${bytes(record)} AS record,
    ${beside('<', 'DESC')} AS older, ${beside('>', 'ASC')} AS newer
  FROM (
    SELECT id AS user_id, etag, ${SERVED_PROFILE} AS profile FROM profiles
    WHERE family = '${family}' AND user_key = $1 || '') AS person
  CROSS JOIN items WHERE family = '${family}' AND items.id = CAST($2 AS bigint) AND owner = user_id`;
}

export const perFamily = <T>(make: (family: Family) => T): Record<Family, T> => ({
  microblog: make('microblog'),
  portfolio: make('portfolio'),
});

export const forEachSide = <T>(make: (family: Family, side: Side) => T): Record<Family, Record<Side, T>> =>
  perFamily((family) => ({ older: make(family, 'older'), newer: make(family, 'newer') }));
