// Rows gathered for one statement, since calling it costs as much as its work on a row.
import type { Connection } from './sqlite.ts';

type Statement = ReturnType<Connection['prepare']>;

const ROWS = 64;
const BYTES = 256 << 10;

/**
 * `sql` is given the rows as a table: `column1` tells a row's place among them, what was added stands in the columns
 * behind it. `run` is given the statement, all values, and a way to those of one row.
 */
export function createBatch(
  db: Connection,
  columns: number,
  sql: (rows: string) => string,
  run: (statement: Statement, values: unknown[], row: (nth: number) => unknown[]) => void,
) {
  const row = ', ?'.repeat(columns);
  const ofRows = (count: number) =>
    db.prepare(sql(`(VALUES ${Array.from({ length: count }, (_, nth) => `(${nth}${row})`).join()})`));
  const full = ofRows(ROWS);
  // Records are lent until the next entry is read: hence a copy.
  const bytes = Buffer.allocUnsafeSlow(BYTES);
  let values: unknown[] = [];
  let rows = 0;
  let used = 0;

  function flush(): void {
    if (rows === 0) return;
    const statement = rows === ROWS ? full : ofRows(rows);
    const taken = values;
    values = [];
    rows = 0;
    used = 0;
    run(statement, taken, (nth) => taken.slice(nth * columns, (nth + 1) * columns));
  }

  return {
    add(row: readonly unknown[], from?: Buffer, start = 0, end = from?.length ?? 0): void {
      const length = end - start;
      if (used + length > BYTES) flush();
      for (const value of row) values.push(value);
      if (from !== undefined) {
        values.push(bytes.subarray(used, used + length));
        used += from.copy(bytes, used, start, end);
      }
      if (++rows === ROWS) flush();
    },
    flush,
  };
}
