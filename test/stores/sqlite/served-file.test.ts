// The file of a SQLite database: what is refused before it is opened, and which changes a server reports.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs, {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import {
  checkDatabase,
  migrateDatabase,
  openArchive,
  openReader,
  openServed,
  openWriter,
  snapshotDatabase,
} from '../../../src/stores/open.ts';
import type { StoreEvent } from '../../../src/stores/reader.ts';
import { openForWriting } from '../../../src/stores/sqlite/connect.ts';
import { toStoreError } from '../../../src/stores/sqlite/errors.ts';
import { FIRST_IMPORT_ID, refuseForeignLog } from '../../../src/stores/sqlite/file.ts';
import { endWithTests } from '../../support/at-end.ts';
import { addRecords } from '../../support/database.ts';
import { copyOf, ndjson, ROOT, tempFile, tempFolder } from '../../support/files.ts';
import { folio } from '../../support/records.ts';
import { done, spawned, vitrine } from '../../support/run.ts';
import { until } from '../../support/stress.ts';

const OPENERS: Record<string, (path: string) => Promise<unknown>> = {
  checkDatabase,
  migrateDatabase,
  openWriter,
  openArchive,
  openReader,
  openServed: (path) => openServed(path, () => {}),
  'openWriter to try': (path) => openWriter(path, { isTrial: true }),
  snapshotDatabase: (path) => snapshotDatabase(path, `${path}.snapshot`),
};

let database: string;
beforeAll(async () => {
  database = join(tempFolder(), 'site.db');
  await addRecords(database, folio(1, 'ada'), folio(2, 'bea'));
});

describe.each(Object.entries(OPENERS))('%s refuses', (name, open) => {
  test.each([
    ['of another program', 'PRAGMA application_id = 7', /is a database of another program/],
    ['of a newer version', 'PRAGMA user_version = 99', /was made by a newer version/],
  ])('a database %s, and leaves it unchanged', async (_, sql, said) => {
    const path = altered(sql);
    const before = readFileSync(path);
    await expect(open(path)).rejects.toThrow(said);
    expect([name, readFileSync(path).equals(before)]).toEqual([name, true]);
  });

  test('what is no regular file', async () => {
    const pipe = join(tempFolder(), 'pipe');
    expect(spawnSync('mkfifo', [pipe]).status).toBe(0);
    await expect(open(pipe)).rejects.toThrow(/pipe is not a regular file/);
    await expect(open('/dev/zero')).rejects.toThrow(/not a regular file/);
    await expect(open(tempFolder())).rejects.toThrow(/is a folder/);
  });

  test('a log of another file, which a crash has left', async () => {
    const crashed = copyOf(database);
    const writing = new Database(crashed);
    writing.exec("UPDATE profiles SET record = '{}'");
    const log = readFileSync(`${crashed}-wal`);
    writing.close();
    const restored = tempFile('site.db-wal', log).replace('-wal', '');
    await snapshotDatabase(database, restored);
    await expect(open(restored)).rejects.toThrow(
      /site\.db-wal holds changes to another file.* move .* away, and repeat the takedowns/,
    );
  });
});

test('a log that disappears during the check is not reported as one of another file', async () => {
  const path = copyOf(database);
  const other = new Database(path);
  other.exec("UPDATE profiles SET user_key = 'cid' WHERE id = 1");
  const { openSync } = fs;
  const spy = vi.spyOn(fs, 'openSync').mockImplementation((file, ...rest) => {
    if (file === path && other.open) {
      // As at the end of an import that made the file, and was refused.
      other.pragma('journal_mode = DELETE');
      other.close();
    }
    return openSync(file, ...rest);
  });
  syncBuiltinESMExports();
  expect(() => refuseForeignLog(path)).not.toThrow();
  spy.mockRestore();
  syncBuiltinESMExports();
  expect(other.open).toBe(false);
});

/** Something happens before or after SQLite is asked for this, as by another process. */
function atPragma(when: 'before' | 'after', asked: string, happen: () => unknown): void {
  const { pragma } = Database.prototype;
  const spy = vi.spyOn(Database.prototype, 'pragma').mockImplementation(function (
    this: Database.Database,
    ...args
  ) {
    const isIt = args[0] === asked;
    if (isIt) spy.mockRestore();
    if (isIt && when === 'before') happen();
    const found = pragma.apply(this, args);
    if (isIt && when === 'after') happen();
    return found;
  });
}

const ONE = { faults: [], counts: { 'portfolio profile': 1 } };

test('a file that another process removes while it is opened is made anew', async () => {
  const path = tempFile('site.db', '');
  atPragma('before', 'journal_mode = WAL', () => rmSync(path));
  await addRecords(path, folio(1, 'ada'));
  expect(await checkDatabase(path)).toMatchObject(ONE);
});

test('a file that another process is making is not taken for a foreign one', async () => {
  const path = tempFile('site.db', '');
  const other = new Database(path);
  other.pragma('journal_mode = WAL');
  atPragma('after', 'application_id', () => void openForWriting(path).then((db) => db.close()));
  await addRecords(path, folio(1, 'ada'));
  other.close();
  expect(await checkDatabase(path)).toMatchObject(ONE);
});

// Left by a crash, it would cut a file that is renamed over the snapshot.
test('a writer makes no journal beside a snapshot', async () => {
  const path = join(tempFolder(), 'site.db');
  await snapshotDatabase(database, path);
  const made = new Set<string | null>();
  const watcher = fs.watch(dirname(path), (_, name) => made.add(name));
  await addRecords(path, folio(3, 'cid'));
  await until('the events of the folder', () => made.has('site.db-wal'));
  watcher.close();
  expect([...made].filter((name) => name?.endsWith('-journal'))).toEqual([]);
  expect(await checkDatabase(path)).toMatchObject({ faults: [], counts: { 'portfolio profile': 3 } });
});

test('the journal of a first import that was killed is gone after the next import', async () => {
  const path = copyOf(database);
  const db = new Database(path);
  db.pragma('journal_mode = DELETE');
  db.pragma(`application_id = ${FIRST_IMPORT_ID}`);
  db.close();
  // SQLite counts the pages of a journal in its head once they are on the disk: until then, it undoes nothing by it.
  writeFileSync(`${path}-journal`, Buffer.alloc(1024));
  await expect(openReader(path)).rejects.toThrow('run `vitrine import` again');
  await addRecords(path, folio(1, 'ada'));
  expect(await checkDatabase(path)).toMatchObject({ faults: [], counts: { 'portfolio profile': 2 } });
  expect(readdirSync(dirname(path))).not.toContain('site.db-journal');
});

test('a file in the place of one that was moved away has its own log', async () => {
  const path = copyOf(database);
  const { poll, has } = await serveHere(path);
  const before = [inode(`${path}-wal`), inode(`${path}-shm`)];
  renameSync(path, `${path}.moved`);
  const writer = await openWriter(path);
  expect(before).not.toContain(undefined);
  for (const suffix of ['-wal', '-shm']) expect(before).not.toContain(inode(path + suffix));
  expect(await has('ada')).toBe(true);
  await poll(2);
  expect(await has('ada')).toBe(true);
  await writer.close();
});

test('a moved snapshot is not read by the log of the file in its place', async () => {
  const path = join(tempFolder(), 'site.db');
  await snapshotDatabase(database, path);
  const { poll, has } = await serveHere(path);
  renameSync(path, `${path}.moved`);
  await poll();
  const writer = await openWriter(path);
  expect(statSync(`${path}-wal`).size).toBeGreaterThan(0);
  expect(await has('ada')).toBe(true);
  await poll(2);
  expect(await has('ada')).toBe(true);
  await writer.close();
  renameSync(`${path}.moved`, path);
  await poll();
  await addRecords(path, folio(3, 'cid'));
  await poll();
  expect(await has('cid')).toBe(true);
});

test('a log that belongs to its file is read', async () => {
  const path = copyOf(database);
  const writing = new Database(path);
  writing.exec("UPDATE profiles SET user_key = 'cid' WHERE id = 1");
  const reader = await openReader(path);
  expect(await reader.profile('portfolio', 'cid')).toBeDefined();
  await reader.close();
  writing.close();
});

test('zeros in the place of a log, which a power failure leaves, are not read', async () => {
  const path = copyOf(database);
  writeFileSync(`${path}-wal`, Buffer.alloc(4096));
  expect(await checkDatabase(path)).toMatchObject({ faults: [] });
  const reader = await openServed(path, () => {});
  expect(await reader.profile('portfolio', 'ada')).toBeDefined();
  await reader.close();
});

/** A served file whose path is looked at when the test says so. */
async function serveHere(path: string) {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const events: StoreEvent[] = [];
  const reader = await openServed(path, (event) => void events.push(event));
  const poll = async (times = 1) => {
    for (; times > 0; times--) {
      vi.advanceTimersByTime(250);
      // Reads of one turn share a transaction.
      await new Promise(setImmediate);
    }
  };
  atEnd.push(() => reader.close());
  return {
    reader,
    events,
    poll,
    has: async (user: string) => (await reader.profile('portfolio', user)) !== undefined,
  };
}

const atEnd: (() => unknown)[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  for (const end of atEnd.splice(0)) await end();
  vi.useRealTimers();
});

const SWAPPED = { type: 'data-swapped', message: 'another file took the place of the data' };

test('only imports that change something change the version, and are reported, once', async () => {
  const path = copyOf(database);
  const { reader, events, poll } = await serveHere(path);
  const before = reader.version();
  await addRecords(path, folio(1, 'ada'));
  await poll(2);
  expect([reader.version(), events]).toEqual([before, []]);
  await addRecords(path, folio(3, 'cid'));
  await poll(3);
  expect(reader.version()).toBeGreaterThan(before);
  expect(events).toEqual([{ type: 'data-changed', message: 'the data changed' }]);
});

test('a file that is damaged in place is replaced by one with its takedowns', async () => {
  const [path, lacking] = [copyOf(database), copyOf(database)];
  await done(['takedown', '--database-url', path, '--family', 'portfolio', 'bea']);
  const sound = copyOf(path);
  const { events, poll, has } = await serveHere(path);
  writeFileSync(path, readFileSync(path).fill(0xa5, 8192));
  await poll();
  renameSync(lacking, path);
  await poll(2);
  const message = expect.stringMatching(/lacks takedowns of the file that is served.* The data before stays/);
  expect(events).toEqual([{ type: 'data-fault', message }]);
  renameSync(sound, path);
  await poll();
  expect([await has('ada'), await has('bea'), events.at(-1)]).toEqual([true, false, SWAPPED]);
});

test('a takedown that was made just before the file is replaced is not lost', async () => {
  const [path, lacking] = [copyOf(database), copyOf(database)];
  const { events, poll, has } = await serveHere(path);
  await done(['takedown', '--database-url', path, '--family', 'portfolio', 'bea']);
  expect(await has('bea')).toBe(false);
  renameSync(lacking, path);
  await poll(3);
  expect(await has('bea')).toBe(false);
  expect(events.at(-1)?.message).toMatch(
    /lacks takedowns of .* repeat the takedowns on this one, then restart/,
  );
  await done(['takedown', '--database-url', path, '--family', 'portfolio', 'bea']);
  const restarted = await serveHere(path);
  expect([await restarted.has('ada'), await restarted.has('bea')]).toEqual([true, false]);
});

test('a file that is copied over the served one is served once it has its takedowns', async () => {
  const [path, lacking] = [copyOf(database), join(tempFolder(), 'lacking.db')];
  await snapshotDatabase(path, lacking);
  await done(['takedown', '--database-url', path, '--family', 'portfolio', 'bea']);
  const before = copyOf(path);
  const { reader, events, poll, has } = await serveHere(path);
  writeFileSync(path, readFileSync(lacking));
  await poll(3);
  await expect(has('bea')).rejects.toThrow(/lacks takedowns of the file that is served/);
  const message = expect.stringMatching(/lacks takedowns .* every lookup is answered with 503/);
  expect([reader.fault(), events]).toEqual([expect.any(String), [{ type: 'data-warning', message }]]);
  await done(['takedown', '--database-url', path, '--from', before]);
  await poll();
  expect([await has('ada'), await has('bea'), reader.fault()]).toEqual([true, false, undefined]);
});

test('takedowns that cannot be read after a change are those of before', async () => {
  const [path, lacking] = [copyOf(database), copyOf(database)];
  await done(['takedown', '--database-url', path, '--family', 'portfolio', 'bea']);
  const { events, poll } = await serveHere(path);
  const db = new Database(path);
  const size = db.pragma('page_size', { simple: true }) as number;
  const { page } = db
    .prepare("SELECT rootpage AS page FROM sqlite_master WHERE name = 'takedown_marks'")
    .get() as {
    page: number;
  };
  const bytes = readFileSync(path);
  writeFileSync(path, bytes.fill(0xa5, (page - 1) * size, page * size));
  db.exec('UPDATE vitrine SET generation = generation + 1');
  await poll();
  expect(events).toEqual([{ type: 'data-changed', message: 'the data changed' }]);
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
  renameSync(lacking, path);
  await poll(2);
  expect(events.at(-1)?.message).toMatch(/lacks takedowns of the file that is served/);
});

test.runIf(process.platform === 'linux')(
  'neither a start nor a change of data nor another file reads all takedowns',
  async () => {
    const path = copyOf(database);
    const db = new Database(path);
    db.exec(`INSERT INTO takedowns (hash, entry, family, kind, since)
      WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < 60000)
      SELECT printf('%064d', id), printf('%064d', id), 'portfolio', 'item', '2026-01-01' FROM n;
      INSERT INTO takedown_marks (mark) VALUES ('one')`);
    db.pragma('wal_checkpoint(TRUNCATE)');
    db.close();
    expect(statSync(path).size).toBeGreaterThan(8_000_000);
    const readBytes = () => Number(/^rchar: (\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);
    const next = copyOf(path);
    const began = readBytes();
    const { reader, poll, has, events } = await serveHere(path);
    const other = new Database(path);
    other.exec('UPDATE vitrine SET generation = generation + 1');
    other.pragma('wal_checkpoint(TRUNCATE)');
    other.close();
    await poll(2);
    renameSync(next, path);
    await poll(2);
    expect([await has('ada'), events.map(({ type }) => type), reader.version()]).toEqual([
      true,
      ['data-changed', 'data-swapped'],
      3,
    ]);
    expect(readBytes() - began).toBeLessThan(2_000_000);
  },
);

test('what a first import has committed is served by the next lookup, without a poll', async () => {
  const path = join(tempFolder(), 'site.db');
  const { poll, has } = await serveHere(path);
  await poll(2);
  await expect(has('ada')).rejects.toThrow();
  await addRecords(path, folio(1, 'ada'));
  expect(await has('ada')).toBe(true);
});

test('a database without an import is opened once, not for each lookup', async () => {
  const path = altered('UPDATE vitrine SET generation = 0');
  const { has } = await serveHere(path);
  await expect(has('ada')).rejects.toThrow('was never imported into');
  const close = vi.spyOn(Database.prototype, 'close');
  for (let nth = 0; nth < 5; nth++) await expect(has('ada')).rejects.toThrow('was never imported into');
  expect(close).not.toHaveBeenCalled();
  vi.restoreAllMocks();
  await addRecords(path, folio(3, 'cid'));
  expect(await has('cid')).toBe(true);
});

test('commits of a writer that opened the file before it was noticed are served', async () => {
  const [path, other] = [copyOf(database), await fileOf('dan')];
  const { poll, has } = await serveHere(path);
  const beside = () => [inode(`${path}-wal`), inode(`${path}-shm`)];
  const [log, index] = beside();
  renameSync(other, path);
  const writer = vitrine(['import', '--database-url', path, '-']);
  expect(log).toBeDefined();
  // It shares neither with the server, which would read pages of the new file as those of the old one. While it finds out
  // whether the log that lies there is in use, it has that open.
  await until(
    'the writer to open a log of its own',
    () => openFiles(writer.pid, `${path}-wal`) > 0 && !beside().includes(log),
  );
  expect(beside()).not.toContain(index);
  await poll();
  expect(await has('dan')).toBe(true);
  writer.stdin?.end(ndjson(folio(9, 'eve')));
  expect(await once(writer, 'close')).toEqual([0, null]);
  await poll();
  expect(await has('eve')).toBe(true);
});

test('a log with commits to an earlier file refuses the new one', async () => {
  const [path, other] = [copyOf(database), await fileOf('dan')];
  const { events, poll, has } = await serveHere(path);
  const killed = new Database(path);
  killed.exec("UPDATE profiles SET user_key = 'cid' WHERE id = 1");
  renameSync(other, path);
  await poll(3);
  const message = expect.stringMatching(
    /site\.db-wal holds changes to another file.* move .* away.* The data before stays/,
  );
  expect([await has('cid'), events]).toEqual([true, [{ type: 'data-fault', message }]]);
  killed.close();
  for (const suffix of ['-wal', '-shm'])
    if (existsSync(path + suffix)) renameSync(path + suffix, `${path}.moved${suffix}`);
  await poll();
  expect([await has('dan'), events.at(-1)]).toEqual([true, SWAPPED]);
});

test('a log that is moved in place together with its file is read, and kept', async () => {
  const [path, other] = [copyOf(database), await fileOf('dan')];
  const { poll, has } = await serveHere(path);
  const writing = new Database(other);
  writing.exec("UPDATE profiles SET user_key = 'eve'");
  const moved = join(tempFolder(), 'moved.db');
  for (const suffix of ['', '-wal']) copyFileSync(other + suffix, moved + suffix);
  writing.close();
  for (const suffix of ['-wal', '']) renameSync(moved + suffix, path + suffix);
  await poll(2);
  expect([await has('eve'), statSync(`${path}-wal`).size > 0]).toEqual([true, true]);
});

/** A program that opens a database as it lies there, and commits when it is told to. */
const OTHER_WRITER = `
  const db = require(process.argv[1])(process.argv[2]);
  db.prepare('SELECT count(*) FROM profiles').get();
  process.stdout.write('open');
  process.stdin.once('data', () => {
    db.exec("UPDATE profiles SET user_key = 'eve'; UPDATE vitrine SET generation = generation + 1");
    db.pragma('wal_checkpoint(TRUNCATE)');
  });`;

test('commits through an earlier log are served once they are in the file', async () => {
  const [path, other] = [copyOf(database), await fileOf('dan')];
  const { poll, has } = await serveHere(path);
  expect(await has('ada')).toBe(true);
  renameSync(other, path);
  const sqlite = join(ROOT, 'node_modules/better-sqlite3');
  const writer = endWithTests(spawn(process.execPath, ['-e', OTHER_WRITER, sqlite, path]));
  await once(writer.stdout, 'data');
  await poll();
  expect([await has('dan'), openFiles(writer.pid, `${path}-wal`)]).toEqual([true, 0]);
  writer.stdin.end('commit');
  expect(await once(writer, 'close')).toEqual([0, null]);
  await poll();
  expect(await has('eve')).toBe(true);
});

const inode = (path: string) => statSync(path, { throwIfNoEntry: false })?.ino;

/** A file with these users. */
async function fileOf(...users: string[]): Promise<string> {
  const path = join(tempFolder(), 'site.db');
  await addRecords(path, ...users.map((user, index) => folio(index + 1, user)));
  return path;
}

test('another file of the same generation changes the version and has its own log', async () => {
  const [path, other] = [copyOf(database), copyOf(database)];
  const { reader, events, poll } = await serveHere(path);
  await reader.profile('portfolio', 'ada');
  const [before, index, log] = [reader.version(), inode(`${path}-shm`), inode(`${path}-wal`)];
  renameSync(other, path);
  await poll();
  expect(reader.version()).not.toBe(before);
  expect([inode(`${path}-shm`), inode(`${path}-wal`)]).not.toContain(index);
  expect([inode(`${path}-shm`), inode(`${path}-wal`)]).not.toContain(log);
  expect(events).toEqual([SWAPPED]);
});

test('of files that follow each other quickly, each poll serves the one that is there', async () => {
  const path = copyOf(database);
  const { events, poll, has } = await serveHere(path);
  for (const user of ['dan', 'eve', 'fay']) {
    for (const file of [copyOf(database), await fileOf(user)]) renameSync(file, path);
    await poll();
    expect(await has(user)).toBe(true);
  }
  expect(events).toEqual([SWAPPED, SWAPPED, SWAPPED]);
});

test('a file is not taken for the one that replaces it while it is opened', async () => {
  const [path, one, two] = [copyOf(database), await fileOf('dan'), await fileOf('eve')];
  const { events, poll, has } = await serveHere(path);
  renameSync(one, path);
  const prepare = Database.prototype.prepare;
  vi.spyOn(Database.prototype, 'prepare').mockImplementation(function (this: Database.Database, sql) {
    // It is opened twice: by a link, to be checked, and in its place.
    if (this.name === path && existsSync(two)) renameSync(two, path);
    return prepare.call(this, sql);
  });
  await poll();
  expect([await has('eve'), events]).toEqual([true, [SWAPPED]]);
});

test('one failed read refuses no file, and a refused file is logged once', async () => {
  const [path, sound] = [copyOf(database), await fileOf('dan')];
  const { events, poll, has } = await serveHere(path);
  vi.spyOn(Database.prototype, 'pragma').mockImplementationOnce(() => {
    throw Object.assign(new Error('database disk image is malformed'), { code: 'SQLITE_CORRUPT' });
  });
  renameSync(sound, path);
  await poll(2);
  expect([await has('dan'), events]).toEqual([true, [SWAPPED]]);
  writeFileSync(`${path}.text`, 'no database at all\n'.repeat(1000));
  renameSync(`${path}.text`, path);
  await poll(7);
  expect(events.slice(1)).toEqual([
    { type: 'data-fault', message: `${path} is not a SQLite database. The data before stays.` },
  ]);
});

test.each(['SQLITE_IOERR', 'SQLITE_CANTOPEN', 'SQLITE_BUSY', 'SQLITE_READONLY'])(
  'a file that meets %s for a while is looked at until that has passed',
  async (code) => {
    const [path, sound] = [copyOf(database), await fileOf('dan')];
    const { poll, has } = await serveHere(path);
    const opened = vi.spyOn(Database.prototype, 'pragma').mockImplementation(() => {
      throw Object.assign(new Error('for a while'), { code });
    });
    renameSync(sound, path);
    await poll(5);
    opened.mockRestore();
    await poll();
    expect(await has('dan')).toBe(true);
  },
);

/** A commit that stays in the log, as while another program reads the file. */
function removeUser(path: string, user: string): void {
  const other = new Database(path);
  other.exec(
    `DELETE FROM profiles WHERE user_key = '${user}'; UPDATE vitrine SET generation = generation + 1`,
  );
  atEnd.push(() => other.close());
}

// Another schema is refused, with the advice to migrate it; an import and a takedown do so as well.
test.each(['schema-12.db', 'schema-17.db'])(
  'a backup of an older schema (%s) is served once it is migrated where it is, and nothing advises to undo that',
  async (older) => {
    const path = copyOf(database);
    const { events, poll, has, reader } = await serveHere(path);
    await addRecords(path, folio(3, 'cid'));
    expect(await has('cid')).toBe(true);
    renameSync(copyOf(join(ROOT, 'fixtures/older', older)), path);
    await poll(2);
    expect(reader.waiting?.()).toMatch(/has an older schema .*run `vitrine migrate`/);
    // In a process of its own, which shares no locks with the server.
    expect(await spawned(['migrate', '--database-url', path])).toMatchObject({ code: 0, stderr: '' });
    await poll(2);
    expect([reader.waiting?.(), await has('cid')]).toEqual([undefined, false]);
    expect(events.at(-1)).toEqual(SWAPPED);
    expect(events.filter(({ message }) => message.includes('move'))).toEqual([]);
    expect(await checkDatabase(path)).toMatchObject({ faults: [] });
  },
);

test('a refused file leaves the log and index of the served one', async () => {
  const path = copyOf(database);
  const { events, poll, has } = await serveHere(path);
  expect(await has('bea')).toBe(true);
  const before = [inode(`${path}-wal`), inode(`${path}-shm`)];
  expect(before).not.toContain(undefined);
  for (const make of [cutOff, () => altered('DROP TABLE lists')]) {
    renameSync(path, `${path}.kept`);
    renameSync(make(), path);
    await poll(3);
    expect([inode(`${path}-wal`), inode(`${path}-shm`)]).toEqual(before);
    renameSync(`${path}.kept`, path);
    await poll(2);
  }
  expect([events.length, events[0]?.type]).toEqual([2, 'data-fault']);
  expect(readdirSync(dirname(path)).sort()).toEqual(['site.db', 'site.db-shm', 'site.db-wal']);
  removeUser(path, 'bea');
  await poll();
  expect(await has('bea')).toBe(false);
});

test('without links, a served file that is moved back is opened again', async () => {
  const path = copyOf(database);
  const { poll, has } = await serveHere(path);
  vi.spyOn(fs, 'linkSync').mockImplementation(() => {
    throw Object.assign(new Error('EPERM'), { code: 'EPERM' });
  });
  syncBuiltinESMExports();
  renameSync(path, `${path}.kept`);
  renameSync(altered('DROP TABLE lists'), path);
  await poll(3);
  renameSync(`${path}.kept`, path);
  await poll(2);
  vi.restoreAllMocks();
  syncBuiltinESMExports();
  removeUser(path, 'bea');
  await poll();
  expect(await has('bea')).toBe(false);
});

test('a snapshot, which has no index, stays open from poll to poll', async () => {
  const path = join(tempFolder(), 'site.db');
  await snapshotDatabase(database, path);
  const { poll, has } = await serveHere(path);
  const close = vi.spyOn(Database.prototype, 'close');
  await poll(4);
  expect([await has('ada'), close.mock.calls.length]).toEqual([true, 0]);
});

const readLink = (fd: string) => {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return '';
  }
};

/** How many descriptors of the process are of the file. */
const openFiles = (pid: number | string | undefined, path: string) =>
  readdirSync(`/proc/${pid}/fd`).filter((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`) === path;
    } catch {
      return false;
    }
  }).length;

/** A copy after one change by SQL. */
function altered(sql: string): string {
  const path = copyOf(database);
  const db = new Database(path);
  db.pragma('writable_schema = ON');
  db.exec(sql);
  db.close();
  return path;
}

function cutOff(): string {
  const path = copyOf(database);
  truncateSync(path, statSync(path).size - 100);
  return path;
}

test.each([
  ['within a page', (size: number) => size - 100, 'is damaged: it ends within a page'],
  ['to half', (size: number) => Math.floor(size / 2 / 8192) * 8192, /site\.db is damaged/],
])('a file that is cut off %s is refused at the start', async (_, left, said) => {
  const path = copyOf(database);
  truncateSync(path, left(statSync(path).size));
  await expect(openServed(path, () => {})).rejects.toThrow(said);
});

test.each<[what: string, make: () => string, said: RegExp]>([
  ['empty', () => tempFile('empty', ''), /is empty/],
  ['never imported into', () => altered('UPDATE vitrine SET generation = 0'), /was never imported into/],
  ['text', () => tempFile('text', 'no database at all\n'.repeat(1000)), /not a SQLite database/],
  ['cut off within a page', cutOff, /is damaged: it ends within a page/],
  ['a database of another program', () => altered('PRAGMA application_id = 7'), /another program/],
  ['of a newer schema', () => altered('PRAGMA user_version = 99'), /newer version/],
  ['of an older schema', () => altered('PRAGMA user_version = 0'), /older schema/],
  ['without a table', () => altered('DROP TABLE lists'), /./],
])('a file that is %s is refused once, and the next one is served', async (_, make, said) => {
  const path = copyOf(database);
  const { reader, events, poll, has } = await serveHere(path);
  renameSync(make(), path);
  await poll(5);
  expect(events).toEqual([{ type: 'data-fault', message: expect.stringMatching(said) }]);
  expect(events[0]?.message.startsWith(path)).toBe(true);
  expect(events[0]?.message).toMatch(/The data before stays\.$/);
  expect([await has('ada'), await reader.fault()]).toEqual([true, undefined]);
  if (process.platform === 'linux') {
    expect(openFiles('self', path)).toBe(0);
    expect(readdirSync('/proc/self/fd').filter((fd) => /\.unfinished\//.test(readLink(fd)))).toEqual([]);
  }
  renameSync(await fileOf('dan'), path);
  await poll();
  expect([await has('dan'), events.slice(1)]).toEqual([true, [SWAPPED]]);
});

test.each<[what: string, make: (path: string) => unknown, said: string]>([
  ['nothing', () => {}, 'does not exist: `vitrine import` creates it'],
  ['a pipe', (path) => spawnSync('mkfifo', [path]), 'is not a regular file'],
  ['a link to a device', (path) => symlinkSync('/dev/zero', path), 'is not a regular file'],
  ['a folder', (path) => mkdirSync(path), 'is a folder'],
])('%s in the place of the file is named, and the next file is served', async (_, make, said) => {
  const path = copyOf(database);
  const { events, poll, has } = await serveHere(path);
  rmSync(path);
  make(path);
  await poll(3);
  expect(events).toEqual([{ type: 'data-fault', message: `${path} ${said}. The data before stays.` }]);
  expect(await has('ada')).toBe(true);
  rmSync(path, { recursive: true, force: true });
  renameSync(await fileOf('dan'), path);
  await poll();
  expect([await has('dan'), events.at(-1)]).toEqual([true, SWAPPED]);
});

test('counts are those of the data; while it cannot be read, the last ones stay', async () => {
  const path = join(tempFolder(), 'site.db');
  const { reader } = await serveHere(path);
  const people = async () => (await reader.counts())['portfolio profile'];
  expect(await people()).toBe(0);
  await addRecords(path, folio(1, 'ada'), folio(2, 'bea'));
  await reader.profile('portfolio', 'ada');
  expect(await people()).toBe(2);
  const db = new Database(path);
  db.exec('DROP TABLE counts');
  db.close();
  expect(await people()).toBe(2);
});

describe('what stands in the way of opening is named', () => {
  const cannotOpen = (path: string, code = 'SQLITE_CANTOPEN') =>
    toStoreError(path, Object.assign(new Error('driver'), { code })).message;

  test('a folder that is missing', () => {
    const path = join(tempFolder(), 'no', 'site.db');
    expect(cannotOpen(path)).toBe(`${path} cannot be opened: its folder does not exist.`);
  });

  test('too many open files', () => {
    const path = copyOf(database);
    vi.spyOn(fs, 'openSync').mockImplementation(() => {
      throw Object.assign(new Error('EMFILE'), { code: 'EMFILE' });
    });
    syncBuiltinESMExports();
    const message = cannotOpen(path, 'SQLITE_READONLY');
    vi.restoreAllMocks();
    syncBuiltinESMExports();
    expect(message).toBe(`${path} cannot be written: too many files are open (ulimit -n).`);
  });

  test.each([
    [
      'SQLITE_READONLY',
      'cannot be written: too many files may have been open, or the disk is failing or full; try again',
    ],
    ['SQLITE_IOERR_READ', 'cannot be read or written now: driver'],
    ['SQLITE_PROTOCOL', ': driver'],
  ])('%s of a file that this user may write', (code, said) => {
    const path = copyOf(database);
    const sentence = `${path} ${said}`.replace(' : ', ': ');
    expect(cannotOpen(path, code).replace(/\.$/, '')).toBe(sentence);
  });
});

test('an error of this program keeps its stack', async () => {
  const fault = new TypeError('undefined.row');
  expect(toStoreError('site.db', fault)).toBe(fault);
});
