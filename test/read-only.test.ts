// The server opens its database read-only. That no request changes a byte of the file is shown in fuzz.test.ts.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openForReading } from '../src/stores/sqlite/connect.ts';
import { fixture, stateOf } from './files.ts';
import { ask, databaseOf, startServer } from './rig.ts';

/** The open flags of each file of a process whose name starts like this. */
function flagsOf(pid: number, start: string): Map<string, number> {
  const flags = new Map<string, number>();
  for (const fd of readdirSync(`/proc/${pid}/fd`)) {
    const name = readlinkSync(`/proc/${pid}/fd/${fd}`);
    const said = /^flags:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'utf8'))?.[1] ?? '';
    if (name.startsWith(start)) flags.set(name, Number.parseInt(said, 8));
  }
  return flags;
}

const ACCESS = 0o3;

test.runIf(process.platform === 'linux')('the database is opened with O_RDONLY', async () => {
  const path = await databaseOf(fixture('microblog.ndjson'));
  const server = await startServer({ DATABASE_URL: path });
  await ask(server, '/a/api/?user=ada');
  // SQLite opens the WAL and its index read-write even for readers, which record their read marks there.
  expect((flagsOf(server.child.pid as number, path).get(path) ?? ACCESS) & ACCESS).toBe(0);
});

test('the database handle refuses every write and cannot be made writable', async () => {
  const path = await databaseOf(fixture('microblog.ndjson'));
  const before = stateOf(path);
  const db = openForReading(path, path);
  expect([db.readonly, db.pragma('query_only', { simple: true })]).toEqual([true, 1]);
  const STATEMENTS = [
    'DELETE FROM items',
    "UPDATE profiles SET record = ''",
    'CREATE TABLE t (x)',
    'DROP VIEW posts',
    'PRAGMA user_version = 9',
    'VACUUM',
  ];
  const tryAll = () => {
    for (const sql of STATEMENTS) expect(() => db.exec(sql), sql).toThrow(/readonly|query_only|read-only/);
  };
  tryAll();
  db.pragma('query_only = OFF');
  tryAll();
  db.close();
  expect(stateOf(path)).toEqual(before);
});
