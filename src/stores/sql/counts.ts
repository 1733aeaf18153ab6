// How many records there are, kept with the data: counting them takes seconds where there are millions. Each change of records
// keeps the numbers, `vitrine check` compares them, and `check --repair` sets them right.
import { KIND_NAMES, KINDS, type KindName, perKind } from '../../records/kinds.ts';
import type { Counts } from '../reader.ts';
import { tableName } from './media-statements.ts';
import type { Rows, SqlAdapter } from './sql-adapter.ts';

type CountRow = readonly [kind: string, number: string | number];

export const KEPT_COUNTS = 'SELECT kind, number FROM counts';

/** Reads every key. */
const COUNTED = KIND_NAMES.map(
  (kind) =>
    `SELECT '${kind}' AS kind, count(*) AS number FROM ${tableName(kind)} WHERE family = '${KINDS[kind].family}'`,
).join(' UNION ALL ');

export function countsFrom(rows: readonly CountRow[]): Counts {
  const numbers = new Map(rows);
  return perKind((kind) => Number(numbers.get(kind) ?? 0));
}

/** Before there is data. */
export const NO_COUNTS = countsFrom([]);

export const readCounts = async ({ rows }: Pick<Rows, 'rows'>): Promise<Counts> =>
  countsFrom(await Array.fromAsync(rows<[string, string]>(KEPT_COUNTS)));

export async function addToCount(db: SqlAdapter, kind: KindName, difference: number): Promise<void> {
  if (difference !== 0)
    await db.run(`UPDATE counts SET number = number + ${difference} WHERE kind = '${kind}'`);
}

/** The kinds with another number than that of their records. */
export const WRONG_COUNTS = `
  SELECT counted.kind, CAST(counted.number AS text) FROM (${COUNTED}) AS counted
  LEFT JOIN counts ON counts.kind = counted.kind WHERE counts.number IS DISTINCT FROM counted.number`;

export const repairCounts = (db: SqlAdapter) =>
  db.run(`
    INSERT INTO counts (kind, number)
    SELECT counted.kind, counted.number FROM (${COUNTED}) AS counted LEFT JOIN counts ON counts.kind = counted.kind
    WHERE counts.number IS DISTINCT FROM counted.number
    ON CONFLICT (kind) DO UPDATE SET number = excluded.number`);
