// The lists of an import: SQL makes them with functions of this program, and stores them.

import type { Family } from '../../records/kinds.ts';
import { listWithWords, REPLACE, selectListed, selectNames } from '../sql/merge-statements.ts';

/** A limit that never cuts. It keeps SQLite from computing the list once for each mention of it. */
const MAX_ROWS = '9223372036854775807';

/** As bytes, etag_of() and body_of() take half the CPU. */
export const bytes = (text: string) => `CAST(${text} AS BLOB)`;

/** Stores the lists of `touched` that differ. ETag and body of an empty list are computed once: many users have no items. */
export const storeLists = (family: Family, served: string) => `
  INSERT INTO lists (family, user_key, collection, owner, etag, body, words)
  SELECT '${family}', user_key, collection, id, etag, CASE items WHEN '[]' THEN empty
    ELSE body_of(${bytes(`'{"' || collection || '":' || items || '}'`)}) END,
    CASE collection WHEN '${listWithWords(family) ?? ''}' THEN words_of_tags(items) END FROM (
    SELECT user_key, id, items, stored, CASE items WHEN '[]' THEN (SELECT etag_of(${bytes(`'[]'`)}))
      ELSE etag_of(${bytes('items')}) END AS etag FROM (
      ${selectListed(family, served)} LIMIT ${MAX_ROWS} OFFSET 0) AS listed
    LIMIT ${MAX_ROWS} OFFSET 0) AS built
  CROSS JOIN ${selectNames(family, (name) => `, body_of(${bytes(`'{"${name}":[]}'`)}) AS empty`)} WHERE etag IS NOT stored
  ${REPLACE}`;
