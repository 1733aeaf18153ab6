// Which rows are packed: profiles and lists of some length, at the end of each change of the data.
import type { Rows, StoreConnection } from './connection.ts';
import { isPacked, PACKED_FROM, pack } from './packing.ts';

interface PackedRow {
  readonly table: 'profiles' | 'lists';
  readonly family: string;
  /** The id of the user. */
  readonly id: string;
  readonly userKey: string;
}

const TABLES = [
  { table: 'profiles', key: 'id', text: 'coalesce(served, record)' },
  { table: 'lists', key: 'owner', text: 'items' },
] as const;

/** As in the indexes of the migrations, which hold only what is to be packed. */
const isUnpacked = (text: string) => `packed IS NULL AND octet_length(${text}) >= ${PACKED_FROM}`;
const BATCH = 16;

/** Packs what a change has stored without, in its transaction. */
export async function packAnswers(db: StoreConnection): Promise<void> {
  for (const { table, key, text } of TABLES) {
    const unpacked = `SELECT family, CAST(${key} AS text), ${text} FROM ${table} WHERE ${isUnpacked(text)} LIMIT ${BATCH}`;
    const store = `UPDATE ${table} SET packed = $1 WHERE family = $2 AND ${key} = $3`;
    for (;;) {
      const rows = await Array.fromAsync(db.rows(unpacked));
      if (rows.length === 0) break;
      for (const [family = '', id = '', text = ''] of rows) await db.run(store, [pack(text), family, id]);
    }
  }
}

/** Rows whose packed text is another than their text, or is missing. */
export async function* findWronglyPacked(db: Rows): AsyncGenerator<PackedRow> {
  for (const { table, key, text } of TABLES) {
    const all = `SELECT family, CAST(${key} AS text), user_key, ${db.hex('packed')}, ${text} FROM ${table}
      WHERE packed IS NOT NULL OR octet_length(${text}) >= ${PACKED_FROM}`;
    for await (const [family = '', id = '', userKey = '', packed, served = ''] of db.rows(all))
      if (!packed || !isPacked(Buffer.from(packed, 'hex'), served)) yield { table, family, id, userKey };
  }
}

/** Packs again what is packed wrongly; how many rows that were. */
export async function repairPacked(db: StoreConnection): Promise<number> {
  const wrong = await Array.fromAsync(findWronglyPacked(db));
  for (const { table, family, id } of wrong) {
    const key = table === 'lists' ? 'owner' : 'id';
    await db.run(`UPDATE ${table} SET packed = NULL WHERE family = $1 AND ${key} = $2`, [family, id]);
  }
  await packAnswers(db);
  return wrong.length;
}
