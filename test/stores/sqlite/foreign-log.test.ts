import { randomInt } from 'node:crypto';
import { copyFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openForWriting } from '../../../src/stores/sqlite/connect.ts';
import { refuseForeignLog } from '../../../src/stores/sqlite/foreign-log.ts';
import { tempFolder } from '../../support/files.ts';

const SUFFIXES = ['', '-wal', '-journal'];

/** The file with what lies beside it, as a killed process leaves it. */
function kill(path: string): string {
  const killed = join(tempFolder(), 'killed.db');
  for (const suffix of SUFFIXES) if (existsSync(path + suffix)) copyFileSync(path + suffix, killed + suffix);
  return killed;
}

/** SQLite repairs the file by what lies beside it. */
function findDamage(path: string): unknown {
  const db = new Database(path);
  const damage = db.pragma('integrity_check', { simple: true });
  db.close();
  return damage;
}

const size = fc.integer({ min: 1, max: 400 });
const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.tuple(fc.constant('insert' as const), size) },
    fc.tuple(fc.constant('delete' as const), size),
    fc.tuple(
      fc.constantFrom('update', 'begin', 'end', 'undo', 'read', 'copy', 'empty', 'vacuum', 'table', 'other'),
      fc.constant(0),
    ),
  ),
  { minLength: 1, maxLength: 20 },
);

/** Two connections write in turns, one reads for long; what fails, fails. */
function createWriters(path: string, mode: string) {
  const [one, other, reader] = [0, 1, 2].map(() => new Database(path, { timeout: 0 })) as [
    Database.Database,
    Database.Database,
    Database.Database,
  ];
  for (const db of [one, other, reader]) {
    db.pragma(`journal_mode = ${mode}`);
    // Pages get into the file, or into the log, in the middle of a transaction.
    db.pragma('cache_size = 5');
    db.pragma('wal_autocheckpoint = 0');
  }
  let db = one;
  let tables = 0;
  const actions: Record<string, (rows: number) => unknown> = {
    insert: (rows) =>
      db.exec(
        `WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${rows})
         INSERT INTO words SELECT randomblob(200) FROM n`,
      ),
    delete: (rows) => db.exec(`DELETE FROM words WHERE rowid % ${rows} = 0`),
    update: () => db.exec('UPDATE words SET word = randomblob(length(word) * 2) WHERE rowid % 3 = 0'),
    begin: () => db.exec('BEGIN IMMEDIATE'),
    end: () => db.exec('COMMIT'),
    undo: () => db.exec('ROLLBACK'),
    read: () =>
      reader.inTransaction ? reader.exec('COMMIT') : reader.exec('BEGIN; SELECT count(*) FROM words'),
    copy: () => db.pragma('wal_checkpoint(PASSIVE)'),
    empty: () => db.pragma('wal_checkpoint(TRUNCATE)'),
    vacuum: () => db.exec('VACUUM'),
    table: () => db.exec(`CREATE TABLE t${tables++} (a UNIQUE)`),
    other: () => {
      db = db === one ? other : one;
    },
  };
  return {
    act(name: string, rows: number) {
      try {
        actions[name]?.(rows);
      } catch (error) {
        expect(error).toBeInstanceOf(Database.SqliteError);
      }
    },
    close: () => [one, other, reader].forEach((each) => void each.close()),
  };
}

function make(path: string, mode = 'WAL', rows = 50): void {
  const db = new Database(path);
  db.pragma(`journal_mode = ${mode}`);
  db.unsafeMode();
  // As a file of ours.
  db.pragma(`schema_version = ${randomInt(2 ** 30)}`);
  db.exec('CREATE TABLE words (word)');
  for (let row = 0; row < rows; row++) db.exec('INSERT INTO words VALUES (randomblob(200))');
  db.close();
}

test.each(['WAL', 'DELETE'])(
  'what a killed process leaves beside its own file is not refused: %s',
  (mode) => {
    fc.assert(
      fc.property(steps, (list) => {
        const path = join(tempFolder(), 'site.db');
        make(path, mode);
        const { act, close } = createWriters(path, mode);
        try {
          for (const [name, rows] of list) {
            act(name, rows);
            const killed = kill(path);
            expect(() => refuseForeignLog(killed)).not.toThrow();
            expect(findDamage(killed)).toBe('ok');
          }
        } finally {
          close();
        }
      }),
      { numRuns: 100 },
    );
  },
);

test.each(['begin', 'commit'])(
  'a killed command that was making the file leaves what belongs to it: %s',
  async (until) => {
    const path = join(tempFolder(), 'site.db');
    const db = await openForWriting(path);
    if (until === 'commit') db.exec('UPDATE vitrine SET last_run = 7');
    const killed = kill(path);
    db.close();
    expect(() => refuseForeignLog(killed)).not.toThrow();
    const again = await openForWriting(killed);
    expect(again.prepare('SELECT last_run FROM vitrine').pluck().get()).toBe(until === 'commit' ? 7 : 0);
    again.close();
  },
);

const LOG = /site\.db-wal holds changes to another file.* move .*site\.db-wal and .*site\.db-shm away/;
const JOURNAL = /site\.db-journal is of another file.* move .*site\.db-journal away/;

const KILLED: [string, string, string, RegExp][] = [
  ['a log that adds pages', 'WAL', 'INSERT INTO words SELECT word FROM words', LOG],
  ['a log that adds no pages', 'WAL', "UPDATE words SET word = 'a' WHERE rowid = 7", LOG],
  ['a log of a file made shorter', 'WAL', 'DELETE FROM words; VACUUM', LOG],
  [
    'a journal with the first page',
    'DELETE',
    "BEGIN; CREATE TABLE u (a); UPDATE words SET word = 'a'",
    JOURNAL,
  ],
  ['a journal without the first page', 'DELETE', "BEGIN; UPDATE words SET word = 'a'", JOURNAL],
];

// A file of its own has other counts. It may be older or newer, longer or shorter, and in another mode.
test.each(KILLED)('%s is refused beside another file', (_, mode, sql, message) => {
  const path = join(tempFolder(), 'site.db');
  make(path, mode, 200);
  const db = new Database(path);
  db.pragma('cache_size = 1');
  db.exec(sql);
  const killed = kill(path);
  db.close();
  expect(() => refuseForeignLog(killed)).not.toThrow();
  for (const rows of [1, 40, 150, 250, 900])
    for (const otherMode of ['WAL', 'DELETE']) {
      const other = join(tempFolder(), 'site.db');
      make(other, otherMode, rows);
      for (const suffix of SUFFIXES.slice(1))
        if (existsSync(killed + suffix)) copyFileSync(killed + suffix, other + suffix);
      expect(() => refuseForeignLog(other), `${rows} rows, ${otherMode}`).toThrow(message);
      expect(existsSync(`${other}-wal`) || existsSync(`${other}-journal`)).toBe(true);
    }
});
