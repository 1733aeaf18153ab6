// Imports and exports: what their output does not show. What they print and write is in fixtures/cases.
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  linkSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { beforeAll, describe, expect, test } from 'vitest';
import { writeExport } from '../../src/import/export.ts';
import { describePlace, encodePlace } from '../../src/import/report.ts';
import { databaseOf } from '../support/database.ts';
import { fixture, ndjson, PROGRAM, readLines, tempFile, tempFolder } from '../support/files.ts';
import { exported, into, newPath } from '../support/importing.ts';
import { blog } from '../support/records.ts';
import { run, spawned } from '../support/run.ts';

const GOOD = blog(1, 'one');
const BAD = blog(2, 'two', { verified: 'yes' });

const skipping = (path: string, rejects: string, files: string[], input = '') =>
  into(path, ['--skip-invalid', '--rejects', rejects, ...files], { input });

/** Runs a shell command in which `vitrine` is this program, and the paths are `$1` and so on. */
function shell(command: string, ...paths: string[]) {
  const program = `vitrine() { '${process.execPath}' '${PROGRAM}' "$@"; }`;
  const script = `${program}; ${command}`;
  const { status, stdout, stderr } = spawnSync('sh', ['-c', script, 'sh', ...paths], { encoding: 'utf8' });
  return { code: status, stdout, stderr };
}

test('rejects to a hard link to the input are refused', async () => {
  const input = tempFile('people.ndjson', ndjson(GOOD, BAD));
  const link = join(dirname(input), 'link.ndjson');
  linkSync(input, link);
  const { code, stderr } = await skipping(newPath(), link, [input]);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: `vitrine: ${link} is one of the files to read: write to another file\n`,
  });
  expect(readFileSync(input, 'utf8')).toBe(ndjson(GOOD, BAD));
});

test('rejects to the file on standard input are refused', () => {
  const input = tempFile('people.ndjson', ndjson(GOOD, BAD));
  const { code, stderr } = shell(
    'vitrine import --database-url "$1" --skip-invalid --rejects "$2" - < "$2"',
    newPath(),
    input,
  );
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: `vitrine: ${input} is one of the files to read: write to another file\n`,
  });
  expect(readFileSync(input, 'utf8')).toBe(ndjson(GOOD, BAD));
});

describe('written to a temporary file and renamed', () => {
  test('a failed import keeps the previous rejects file', async () => {
    const rejects = tempFile('rejects.ndjson', 'older\n');
    const broken = tempFile('broken.gz', Buffer.from([0x1f, 0x8b, 8, 0]));
    const input = tempFile('people.ndjson', ndjson(GOOD, BAD));
    expect((await skipping(newPath(), rejects, [input, broken])).code).toBe(1);
    expect(readFileSync(rejects, 'utf8')).toBe('older\n');
    expect(readdirSync(dirname(rejects))).toEqual(['rejects.ndjson']);
    expect((await skipping(newPath(), rejects, [input])).code).toBe(0);
    expect(readFileSync(rejects, 'utf8')).toBe(ndjson(BAD));
  });

  test('of two exports to one file at once, the one that ends last wins, whole', async () => {
    const file = tempFile('backup.ndjson', 'older');
    const begun = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const ends = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const exports = ['A', 'B'].map((name, index) =>
      writeExport(
        {
          async *records() {
            yield name.repeat(300_000);
            begun[index]?.resolve();
            await ends[index]?.promise;
            yield `end of ${name}`;
          },
        },
        { file, withCopies: false, stdout: process.stdout },
      ),
    );
    await Promise.all(begun.map(({ promise }) => promise));
    for (const [index, name] of ['A', 'B'].entries()) {
      ends[index]?.resolve();
      await exports[index];
      expect(readFileSync(file, 'utf8')).toBe(`${name.repeat(300_000)}\nend of ${name}\n`);
    }
    expect(readdirSync(dirname(file))).toEqual(['backup.ndjson']);
  });

  test('the files of other runs are left alone, unless those are long dead', async () => {
    const database = await databaseOf(fixture('microblog.ndjson'));
    const file = join(tempFolder(), 'backup');
    const [living, dead] = ['', '-journal'].map((end) => `${file}.${randomUUID()}.unfinished${end}`);
    for (const name of [living, dead]) writeFileSync(name as string, 'begun');
    utimesSync(dead as string, 0, 0);
    expect((await run(['export', '--database-url', database, file])).code).toBe(0);
    expect(readdirSync(dirname(file)).sort()).toEqual(['backup', basename(living as string)]);
  });

  test('links and permissions of the file are kept', async () => {
    const database = await databaseOf(fixture('microblog.ndjson'));
    const file = tempFile('export.ndjson', 'older');
    chmodSync(file, 0o600);
    const link = join(tempFolder(), 'link.ndjson');
    symlinkSync(file, link);
    expect((await run(['export', '--database-url', database, link])).code).toBe(0);
    expect(readlinkSync(link)).toBe(file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readLines(file)).toEqual(await exported(database));
  });

  test('a device is written directly', async () => {
    const database = await databaseOf(fixture('microblog.ndjson'));
    expect((await run(['export', '--database-url', database, '/dev/null'])).code).toBe(0);
    expect(statSync('/dev/null').isCharacterDevice()).toBe(true);
    const input = tempFile('people.ndjson', ndjson(GOOD, BAD));
    const { stdout } = shell(
      'vitrine import --database-url "$1" --skip-invalid --rejects /dev/stdout "$2" | cat',
      newPath(),
      input,
    );
    expect(stdout).toContain(ndjson(BAD));
  });
});

const FULL = 'no space left on device';

describe('a full disk', () => {
  let database: string;
  beforeAll(async () => {
    database = await databaseOf(fixture('microblog.ndjson'));
  });

  test('with the first record that is left out: nothing is imported', async () => {
    const path = newPath();
    const { code, stdout, stderr } = await skipping(path, '/dev/full', ['-'], ndjson(GOOD, BAD));
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(`vitrine: cannot write /dev/full: ${FULL}\n`);
    expect(existsSync(path)).toBe(false);
  });

  test.each([
    ['standard output', '> /dev/full', `to standard output: ${FULL}`],
    ['a file', '/dev/full', `/dev/full: ${FULL}`],
  ])('an export to %s reports it', (_, target, sentence) => {
    const { code, stderr } = shell(`vitrine export --database-url "$1" ${target}`, database);
    expect({ code, stderr }).toEqual({ code: 1, stderr: `vitrine: cannot write ${sentence}\n` });
  });

  // A file size limit truncates a write like a disk that becomes full.
  test.each([
    ['standard output', '> "$2"', 'to standard output'],
    ['a file', '"$2"', ''],
  ])('a truncated export to %s fails and leaves no partial file', (_, target, sentence) => {
    const file = join(tempFolder(), 'export.ndjson');
    const { code, stderr } = shell(
      `ulimit -f 64; vitrine export --database-url "$1" ${target}`,
      database,
      file,
    );
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `vitrine: cannot write ${sentence || file}: file too large\n`,
    });
    expect(readdirSync(dirname(file))).toEqual(sentence === '' ? [] : ['export.ndjson']);
  });
});

test('no control character of a file or its name reaches the terminal', async () => {
  const csi = '\u009b31m';
  const folder = tempFolder();
  const named = join(folder, `a${csi}.ndjson`);
  writeFileSync(named, ndjson(blog(1, 'one', { website: csi, verified: `\u202e${csi}` })));
  const contents = [
    `${csi};x\n`,
    `id,username\n${csi}\n`,
    `[${csi}]`,
    `{"a":${csi}}`,
    `{"id":"1","user":"${csi}","date":"${csi}"}`,
  ];
  const files = contents.map((content) => tempFile('bad', content));
  for (const file of [named, ...files]) {
    const { code, stderr } = await into(newPath(), [file]);
    expect({ file, code }).toEqual({ file, code: 1 });
    expect(stderr.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  }
});

test('lines of the 8,193rd file', () => {
  const files = Array.from({ length: 8193 }, (_, nr) => `f${nr}`);
  const named = [1, 3].map((line) => describePlace(files, encodePlace(8192, line)));
  expect(named).toEqual(['f8192:1', 'f8192:3']);
});

test('an import ends with its signal while a promise of a map is never settled', async () => {
  for (const module of ['await new Promise(() => {});', 'export default () => new Promise(() => {});']) {
    const path = newPath();
    const map = tempFile('map.mjs', `globalThis.onMap(); ${module}`);
    const stop = new AbortController();
    Object.assign(globalThis, { onMap: () => setImmediate(() => stop.abort()) });
    const files = ['--map', map, tempFile('people.ndjson', ndjson(blog(1, 'one')))];
    const { code, stderr } = await into(path, files, { signal: stop.signal });
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'vitrine: stopped: nothing was imported\n' });
    expect(readdirSync(dirname(path))).toEqual([]);
  }
});

test('an import ends when it is done, whatever timers its map has left behind', async () => {
  const map = tempFile('map.mjs', 'setInterval(() => {}, 1000); export default (record) => record;');
  const file = tempFile('people.ndjson', ndjson(blog(1, 'one')));
  const { code } = await spawned(['import', '--database-url', newPath(), '--map', map, file]);
  expect(code).toBe(0);
});

test('an import that is stopped says that nothing was imported, and leaves no database', async () => {
  for (const file of ['-', tempFile('people.ndjson', ndjson(blog(2, 'two')))]) {
    const path = newPath();
    const stop = new AbortController();
    const stdin = new PassThrough({ highWaterMark: 1 });
    stdin.write(ndjson(blog(1, 'one')));
    // Another process may keep the other end of the pipe.
    if (file !== '-') stdin.end();
    stdin.once('drain', () => stop.abort()).once('end', () => stop.abort());
    const files = file === '-' ? ['-'] : ['-', file];
    const { code, stdout, stderr } = await into(path, files, { stdin, signal: stop.signal });
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: '',
      stderr: 'vitrine: stopped: nothing was imported\n',
    });
    expect(readdirSync(dirname(path))).toEqual([]);
  }
});

test('a mistyped file and a dry run do not migrate an older database', async () => {
  const path = tempFile('older.db', readFileSync(fixture('older/schema-4.db')));
  const before = readFileSync(path);
  for (const args of [['/nowhere.ndjson'], ['--map', '/nowhere.mjs', '-']])
    expect((await into(path, args)).stderr).toMatch(/^vitrine: \/nowhere\S+ does not exist\n$/);
  const { code, stderr } = await into(path, ['--dry-run', '-'], { input: ndjson(GOOD) });
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('has an older schema') });
  expect(readFileSync(path).equals(before)).toBe(true);
});
