// After a commit, what fails is no failure of the command: the report is printed, and the exit code is 0.
import fs, { existsSync, readdirSync, readFileSync, statSync, utimesSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, expect, test, vi } from 'vitest';
import { databaseOf } from '../support/database.ts';
import { ndjson, tempFolder } from '../support/files.ts';
import { executeSql, exported } from '../support/importing.ts';
import { blog, post } from '../support/records.ts';
import { done, run } from '../support/run.ts';

afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

/** SQLite reports a failed read as damage. */
const unreadable = () =>
  Object.assign(new Error('database disk image is malformed'), { code: 'SQLITE_CORRUPT' });

/** Statements that match fail once something was committed. */
function failAfterCommit(pattern: RegExp): void {
  let isCommitted = false;
  const { exec, pragma } = Database.prototype;
  vi.spyOn(Database.prototype, 'exec').mockImplementation(function (this: Database.Database, sql) {
    if (isCommitted && pattern.test(sql)) throw unreadable();
    exec.call(this, sql);
    isCommitted ||= sql === 'COMMIT';
    return this;
  });
  vi.spyOn(Database.prototype, 'pragma').mockImplementation(function (this: Database.Database, ...args) {
    if (isCommitted && pattern.test(args[0])) throw unreadable();
    return pragma.apply(this, args);
  });
}

/** Makes the calls of the file system fail for which `isFailing` is true. */
function failFiles<Name extends 'fsyncSync' | 'renameSync' | 'rmSync'>(
  name: Name,
  isFailing: (...args: never[]) => boolean,
): void {
  const call = fs[name] as (...args: unknown[]) => void;
  const failing = (...args: unknown[]) => {
    if (isFailing(...(args as never[])))
      throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO', errno: -5 });
    call(...args);
  };
  vi.spyOn(fs, name).mockImplementation(failing as never);
  syncBuiltinESMExports();
}

const RECORDS = [blog(1, 'ada'), post(1, 1), blog(2, 'bea')];

/** What a command does after its commit. */
const EMPTYING = { what: 'emptying the log', statement: /wal_checkpoint/ };
const DROPPING = { what: 'dropping the staged rows', statement: /^DROP TABLE/ };

/** Runs a command on the records, and fails these statements after its commit; what it printed, and the records that are left. */
async function runFailing(statement: RegExp, args: readonly string[], input = '') {
  const path = await databaseOf(...RECORDS);
  failAfterCommit(statement);
  const ran = await run([...args, '--database-url', path], { input });
  vi.restoreAllMocks();
  return { ...ran, records: await exported(path) };
}

test.each([EMPTYING, DROPPING])('an import succeeds although $what fails', async ({ statement }) => {
  const { code, stdout, records } = await runFailing(statement, ['import', '-'], ndjson(blog(3, 'cid')));
  expect(code).toBe(0);
  expect(stdout).toMatch(/^microblog profiles +1/m);
  expect(records).toHaveLength(4);
});

test.each([EMPTYING, DROPPING])('remove succeeds although $what fails', async ({ statement }) => {
  const args = ['remove', '--family', 'microblog', 'ada'];
  const { code, stdout, records } = await runFailing(statement, args);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^removed "ada" and 1 item$/m);
  expect(records).toHaveLength(1);
});

// It erases what it removed by emptying the log, so the test below has that failure.
test('a takedown succeeds although dropping the staged rows fails', async () => {
  const args = ['takedown', '--family', 'microblog', 'ada'];
  const { code, stdout, records } = await runFailing(DROPPING.statement, args);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^took down "ada"$/m);
  expect(records).toHaveLength(1);
});

test.each([EMPTYING, DROPPING])('restore succeeds although $what fails', async ({ statement }) => {
  const snapshot = join(tempFolder(), 'snapshot.db');
  await done(['snapshot', '--database-url', await databaseOf(blog(1, 'ada'), post(1, 1)), snapshot]);
  const { code, stdout, records } = await runFailing(statement, ['restore', snapshot]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/was restored from/);
  expect(records).toHaveLength(2);
});

test('a takedown that cannot erase what it removed says so, and is reported', async () => {
  const path = await databaseOf(...RECORDS);
  failAfterCommit(/wal_checkpoint/);
  const ran = await run(['takedown', '--database-url', path, '--family', 'microblog', 'ada']);
  expect(ran).toMatchObject({ code: 1, stdout: 'took down "ada"\nremoved 1 user and 1 item\n' });
  expect(ran.stderr).toContain(
    `the takedown is done, but ${path} still holds deleted data in unused space: another process, such as an export, is reading it, or the disk is full. Run the command again when that has changed.`,
  );
  vi.restoreAllMocks();
  expect(await done(['takedown', '--database-url', path, '--family', 'microblog', 'ada'])).toContain(
    'was taken down before',
  );
});

test.each([
  ['SQLITE_FULL', 'this needs twice as much free disk space as the file has'],
  ['SQLITE_BUSY', 'another process is writing it'],
])('a file that cannot be replaced stays as it was, with the reason: %s', async (code, reason) => {
  const path = await databaseOf(...RECORDS);
  const exec = Database.prototype.exec;
  vi.spyOn(Database.prototype, 'exec').mockImplementation(function (this: Database.Database, sql) {
    if (sql === 'VACUUM') throw Object.assign(new Error('database or disk is full'), { code });
    return exec.call(this, sql);
  });
  const ran = await run(['migrate', '--compact', '--database-url', path]);
  expect(ran).toMatchObject({ code: 1, stdout: '' });
  expect(ran.stderr).toBe(`vitrine: ${path} could not be written anew: ${reason}.\n`);
});

test('check --repair says that the repair is done when it cannot be checked', async () => {
  const path = await databaseOf(...RECORDS);
  executeSql(path, "UPDATE profiles SET etag = 'no' WHERE id = 2");
  failAfterCommit(/^integrity_check/);
  const { code, stderr } = await run(['check', '--repair', '--database-url', path]);
  vi.restoreAllMocks();
  const done = `${path}: the repair of 1 lists and ETags is done, but not checked: `;
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(done) });
  expect((await run(['check', '--database-url', path])).stdout).toContain('is sound');
});

test('a page that cannot be read for a moment is not taken for damage', async () => {
  const url = await databaseOf(...RECORDS);
  const snapshot = join(tempFolder(), 'snapshot.db');
  await done(['snapshot', '--database-url', url, snapshot]);
  executeSql(url, 'DELETE FROM lists WHERE owner = 2');
  const { pragma } = Database.prototype;
  using spied = vi.spyOn(Database.prototype, 'pragma');
  spied.mockImplementation(function (this: Database.Database, ...args) {
    const result = pragma.apply(this, args);
    if (this.name !== url || !/^(?:quick|integrity)_check/.test(args[0])) return result;
    return [
      { check: 'Tree 2 page 2: unable to get the page. error code=8458' },
      { check: 'wrong # of entries' },
    ];
  });
  const unread = 'cannot be read or written now: Tree 2 page 2: unable to get the page. error code=8458';
  for (const [args, said] of [
    [['check'], `${url} ${unread}`],
    [['check', '--repair'], `the repair of 1 lists and ETags is done, but not checked: ${url} ${unread}`],
    [['restore', snapshot], `${url} ${unread}`],
  ] as const) {
    const { code, stderr } = await run([...args, '--database-url', url]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(said) });
  }
});

test('restore succeeds although its copy of the snapshot cannot be removed', async () => {
  const path = await databaseOf(...RECORDS);
  const snapshot = join(tempFolder(), 'snapshot.db');
  await done(['snapshot', '--database-url', await databaseOf(blog(1, 'ada')), snapshot]);
  failFiles('rmSync', (file: string) => file.endsWith('.unfinished'));
  const restore = ['restore', '--database-url', path, snapshot];
  expect(await run(restore)).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringMatching(/was restored/),
  });
  vi.restoreAllMocks();
  syncBuiltinESMExports();
  // A run that has paused may go on within a minute; after that, the next one removes its copy.
  const folder = dirname(path);
  const copy = join(folder, readdirSync(folder).find((name) => name.endsWith('.unfinished')) ?? 'no copy');
  await done(restore);
  expect(existsSync(copy)).toBe(true);
  utimesSync(copy, 0, Date.now() / 1000 - 61);
  await done(restore);
  expect(readdirSync(folder)).toEqual(['site.db']);
});

test('snapshot --keep succeeds although the folder cannot be synchronised', async () => {
  const folder = tempFolder();
  const args = ['snapshot', '--database-url', await databaseOf(...RECORDS), '--keep', '1', folder];
  failFiles('fsyncSync', (fd: number) => fs.fstatSync(fd).isDirectory());
  const { code, stdout } = await run(args);
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^snapshot written to/) });
  expect(readdirSync(folder)).toHaveLength(1);
});

test('snapshot --keep succeeds although an older one cannot be removed', async () => {
  const folder = tempFolder();
  const args = ['snapshot', '--database-url', await databaseOf(...RECORDS), '--keep', '1', folder];
  await done(args);
  const [name = ''] = readdirSync(folder);
  const old = join(folder, name.replace(/\d{8}T\d{6}Z/, '20200101T000000Z'));
  fs.renameSync(join(folder, name), old);
  fs.rmSync(old);
  fs.mkdirSync(old);
  const { code, stdout, stderr } = await run(args);
  expect({ code, stdout, stderr }).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^snapshot written to [^\n]+\n$/),
    stderr: expect.stringContaining(`${old} could not be removed: `),
  });
});

const importBad = (path: string, rejects: string) =>
  run(['import', '--database-url', path, '--skip-invalid', '--rejects', rejects, '-'], {
    input: `${ndjson(blog(3, 'cid'))}{"id":"x"}\n`,
  });

test('rejects that cannot be made durable stop the import before its commit', async () => {
  const path = await databaseOf(...RECORDS);
  failFiles('fsyncSync', (fd: number) => statSync(`/proc/self/fd/${fd}`).isFile());
  const { code, stderr } = await importBad(path, join(tempFolder(), 'bad.ndjson'));
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/cannot write .*bad\.ndjson/) });
  expect(await exported(path)).toHaveLength(RECORDS.length);
});

test('rejects that cannot be put in their place stay beside it, and are named', async () => {
  const path = await databaseOf(...RECORDS);
  const rejects = join(tempFolder(), 'bad.ndjson');
  failFiles('renameSync', () => true);
  const { code, stdout, stderr } = await importBad(path, rejects);
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^microblog profiles +1/m) });
  const [, kept = ''] = /the lines are in (.+)$/m.exec(stderr) ?? [];
  expect(dirname(kept)).toBe(dirname(rejects));
  expect(readFileSync(kept, 'utf8')).toBe('{"id":"x"}\n');
  expect(await exported(path)).toHaveLength(RECORDS.length + 1);
});
