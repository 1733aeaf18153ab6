// PostgreSQL has no gzip: what a change has stored as text is compressed at its end, in its transaction.
import type pg from 'pg';
import { PACKED_FROM, pack } from '../packing.ts';

interface Unpacked {
  readonly row: string;
  readonly text: string;
}

/** As in the indexes of the migrations, which hold only what is to be compressed. */
const TABLES = [
  {
    find: `SELECT ctid AS row, coalesce(served, record) AS text FROM profiles
      WHERE packed IS NULL AND octet_length(coalesce(served, record)) >= ${PACKED_FROM} LIMIT 16`,
    store: 'UPDATE profiles SET packed = $1 WHERE ctid = $2',
  },
  {
    find: `SELECT ctid AS row, convert_from(body, 'UTF8') AS text FROM lists
      WHERE octet_length(body) >= ${PACKED_FROM} AND substr(body, 1, 1) = '\\x7b' LIMIT 16`,
    store: 'UPDATE lists SET body = $1 WHERE ctid = $2',
  },
];

export async function packAnswers(client: pg.Client): Promise<void> {
  for (const { find, store } of TABLES) {
    for (;;) {
      const { rows } = await client.query<Unpacked>(find);
      if (rows.length === 0) break;
      for (const { row, text } of rows) await client.query(store, [pack(text), row]);
    }
  }
}
