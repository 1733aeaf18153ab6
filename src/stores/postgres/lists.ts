// The lists of an import: the program makes them of what a query reads, compresses them, and stores them as they are sent.

import type pg from 'pg';
import { computeEtag } from '../../records/etag.ts';
import type { Family } from '../../records/kinds.ts';
import { searchTags } from '../../records/search-words.ts';
import { collectionsOf } from '../../variants.ts';
import { listWithWords, REPLACE, selectListed } from '../sql/merge-statements.ts';
import { makeBody } from '../sql/packing.ts';
import { joinValues, numbersArray } from './long-values.ts';

type Listed = readonly [userKey: string, owner: string, items: string, stored: string | null];

/** Characters that are read at a time. The list of one user may have a million. */
const CHUNK = 256 * 1024;
const MOST_ROWS = 500;
const FIRST_ROWS = 16;

/** Stores the lists of `touched` that differ; of how many users. Inside the caller's transaction. */
export async function storeLists(client: pg.Client, family: Family, served: string): Promise<number> {
  let users = 0;
  await client.query(`DECLARE listed NO SCROLL CURSOR FOR ${selectListed(family, served)} ORDER BY id`);
  let rows = await fetchListed(client, FIRST_ROWS);
  while (rows.length > 0) {
    // The server reads on while the program compresses.
    const next = fetchListed(client, countNext(rows));
    // It is thrown by the next round.
    next.catch(() => {});
    const lists = makeLists(family, rows);
    if (lists.length > 0) await insertLists(client, family, lists);
    users += lists.length / collectionsOf(family).length;
    rows = await next;
  }
  await client.query('CLOSE listed');
  return users;
}

async function fetchListed(client: pg.Client, count: number): Promise<Listed[]> {
  const { rows } = await client.query<[string, string, string, string | null]>({
    text: `FETCH ${count} FROM listed`,
    rowMode: 'array',
  });
  return rows;
}

/** As many rows as make a chunk, if they are like these. */
function countNext(rows: readonly Listed[]): number {
  const length = rows.reduce((sum, [, , items]) => sum + items.length, 0);
  return Math.min(Math.ceil((CHUNK * rows.length) / length), MOST_ROWS);
}

const insertSql = (family: Family) => `
  INSERT INTO lists (family, user_key, collection, owner, etag, body, words)
  SELECT '${family}', user_key, collection, owner, etag, substr($1::bytea, start, length), words
  FROM unnest($2::integer[], $3::integer[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::text[])
  AS made (start, length, user_key, collection, owner, etag, words)
  ${REPLACE}`;

interface List {
  readonly userKey: string;
  readonly owner: string;
  readonly name: string;
  readonly etag: string;
  readonly body: Buffer;
  readonly words: string | null;
}

const makeLists = (family: Family, rows: readonly Listed[]): List[] =>
  rows.flatMap(([userKey, owner, items, stored]) => {
    const etag = computeEtag(items);
    if (etag === stored) return [];
    const makeList = (name: string) => ({
      userKey,
      owner,
      name,
      etag,
      body: makeBody(`{"${name}":${items}}`),
      words: name === listWithWords(family) ? searchTags(items) : null,
    });
    return collectionsOf(family).map(makeList);
  });

async function insertLists(client: pg.Client, family: Family, lists: readonly List[]): Promise<void> {
  const { bytes, starts, lengths } = joinValues(lists.map(({ body }) => body));
  await client.query(insertSql(family), [
    bytes,
    starts,
    lengths,
    lists.map(({ userKey }) => userKey),
    lists.map(({ name }) => name),
    numbersArray(lists.map(({ owner }) => owner)),
    lists.map(({ etag }) => etag),
    lists.map(({ words }) => words),
  ]);
}
