// better-sqlite3 in this process: counts its calls on databases below one folder, and fails the k-th, where the shim does not
// reach: locks of others, and errors of SQLite's own. A server loads this first, and has its orders in TORTURE_SQLITE.
import { closeSync, openSync, writeSync } from 'node:fs';
import Database from 'better-sqlite3';

interface Orders {
  readonly folder: string;
  /** Which call fails, from 1; 0 only counts. */
  readonly k: number;
  readonly fault?: string;
  /** Gets the lines that the shim writes, too: 'K CALL SQL', and 'HIT …'. */
  readonly log: string;
}

let orders: Orders | undefined;
let [calls, log] = [0, -1];
const databases = new Set<Database.Database>();
/** The codes that SQLite itself reported meanwhile, and how often. */
export const reported: Record<string, number> = {};

/** Gives orders; without any, all calls pass. What is open still is closed, as at the end of a process. */
export function commandSqlite(next?: Orders): void {
  orders = next;
  if (log !== -1) closeSync(log);
  [calls, log] = [0, next === undefined ? -1 : openSync(next.log, 'w')];
  for (const db of databases) db.close();
  databases.clear();
}

/** ROLLBACK ends a transaction whatever happens, and these only set something in memory. */
const CANNOT_FAIL = /^(ROLLBACK|PRAGMA (temp\.)?(busy_timeout|cache_size|query_only|trusted_schema)\b)/;

function decide(db: Database.Database, call: string, sql: string): void {
  if (!orders || !db.name.startsWith(`${orders.folder}/`) || CANNOT_FAIL.test(sql)) return;
  databases.add(db);
  const line = `${++calls} ${call} ${sql.trim().split(/\s+/, 3).join(' ')}\n`;
  writeSync(log, line);
  if (calls !== orders.k) return;
  writeSync(log, `HIT ${line}`);
  const { fault = '' } = orders;
  orders = undefined;
  // SQLite undoes the transaction when the disk is full, and may leave it open after other errors.
  if (fault === 'SQLITE_FULL' && db.inTransaction) db.exec('ROLLBACK');
  throw new Database.SqliteError('failed on purpose', fault);
}

type Method = (...args: unknown[]) => unknown;

/** Lets `before` see each call of a method. */
function wrap<This>(prototype: object, name: string, before: (self: This, args: unknown[]) => void): void {
  const methods = prototype as Record<string, Method>;
  const real = methods[name] as Method;
  methods[name] = function (this: This, ...args) {
    before(this, args);
    try {
      return real.apply(this, args);
    } catch (error) {
      const { code = '' } = error as { code?: string };
      if (orders !== undefined && code.startsWith('SQLITE_')) reported[code] = (reported[code] ?? 0) + 1;
      throw error;
    }
  };
}

const memory = new Database(':memory:');
const statements = Object.getPrototypeOf(memory.prepare('SELECT 1'));
memory.close();
for (const name of ['prepare', 'exec', 'backup'])
  wrap<Database.Database>(Database.prototype, name, (db, [sql]) => decide(db, name, String(sql)));
for (const name of ['run', 'get', 'all', 'iterate'])
  wrap<Database.Statement>(statements, name, ({ database, source }) => decide(database, 'step', source));
const iterate = statements.iterate as Method;
statements.iterate = function (this: Database.Statement, ...args: unknown[]) {
  const rows = iterate.apply(this, args) as Iterator<unknown>;
  wrap(rows, 'next', () => {
    try {
      decide(this.database, 'step', this.source);
    } catch (error) {
      // As after an error of a step, the statement is at its end.
      rows.return?.();
      throw error;
    }
  });
  return rows;
};

const { TORTURE_SQLITE } = process.env;
if (TORTURE_SQLITE !== undefined) commandSqlite(JSON.parse(TORTURE_SQLITE));
