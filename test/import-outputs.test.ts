// Output files of import and export: written atomically, and never over an input or a database.
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
import { beforeAll, describe, expect, test } from 'vitest';
import { writeExport } from '../src/import/export.ts';
import { fixture, ndjson, PROGRAM, readLines, tempFile, tempFolder } from './files.ts';
import { exported, into, newPath, recordsIn } from './importing.ts';
import { blog } from './records.ts';
import { databaseOf, run } from './rig.ts';

const GOOD = blog(1, 'one');
const BAD = blog(2, 'two', { verified: 'yes' });

const skipping = (path: string, rejects: string, files: string[], input = '') =>
  into(path, ['--skip-invalid', '--rejects', rejects, ...files], { input });

/** Runs a shell command in which `vitrine` is this program. */
function shell(command: string) {
  const program = `vitrine() { '${process.execPath}' '${PROGRAM}' "$@"; }`;
  const script = `${program}; ${command}`;
  const { status, stdout, stderr } = spawnSync('sh', ['-c', script], { encoding: 'utf8' });
  return { code: status, stdout, stderr };
}

describe('refused', () => {
  test.each<[what: string, output: (input: string, database: string) => string]>([
    ['the input', (input) => input],
    [
      'a hard link to the input',
      (input) => {
        const link = join(dirname(input), 'link.ndjson');
        linkSync(input, link);
        return link;
      },
    ],
    ['the database', (_, database) => database],
    ["the database's log", (_, database) => `${database}-wal`],
    ['a folder', () => tempFolder()],
  ])('rejects to %s', async (_, outputOf) => {
    const input = tempFile('people.ndjson', ndjson(GOOD, BAD));
    const database = await databaseOf(fixture('microblog.ndjson'));
    const before = { input: readFileSync(input, 'utf8'), records: await recordsIn(database) };
    const { code, stdout, stderr } = await skipping(database, outputOf(input, database), [input]);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(
      /^vitrine: \S+ (is|belongs to) (one of the files to read|a database|a folder): .+\n$/,
    );
    expect({ input: readFileSync(input, 'utf8'), records: await recordsIn(database) }).toEqual(before);
  });

  test('rejects to the file on standard input', () => {
    const input = tempFile('people.ndjson', ndjson(GOOD, BAD));
    const { code, stderr } = shell(
      `vitrine import --database-url ${newPath()} --skip-invalid --rejects ${input} - < ${input}`,
    );
    expect([code, stderr]).toEqual([
      1,
      `vitrine: ${input} is one of the files to read: write to another file\n`,
    ]);
    expect(readFileSync(input, 'utf8')).toBe(ndjson(GOOD, BAD));
  });

  test.each(['', '-wal', '-journal'])('an export to the database%s', async (suffix) => {
    const database = await databaseOf(fixture('microblog.ndjson'));
    const before = await exported(database);
    const target = database + suffix;
    const { code, stderr } = await run(['export', '--database-url', database, target]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^vitrine: \S+ (is|belongs to) a database: write to another file\n$/);
    expect(await exported(database)).toEqual(before);
  });
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
      `vitrine import --database-url ${newPath()} --skip-invalid --rejects /dev/stdout ${input} | cat`,
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
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(`vitrine: cannot write /dev/full: ${FULL}\n`);
    expect(existsSync(path)).toBe(false);
  });

  test.each([
    ['standard output', '> /dev/full', `to standard output: ${FULL}`],
    ['a file', '/dev/full', `/dev/full: ${FULL}`],
  ])('an export to %s reports it', (_, target, sentence) => {
    const { code, stderr } = shell(`vitrine export --database-url ${database} ${target}`);
    expect([code, stderr]).toEqual([1, `vitrine: cannot write ${sentence}\n`]);
  });

  // A file size limit truncates a write like a disk that becomes full.
  test.each([
    ['standard output', (file: string) => `> ${file}`, 'to standard output'],
    ['a file', (file: string) => file, ''],
  ])('a truncated export to %s fails and leaves no partial file', (_, target, sentence) => {
    const file = join(tempFolder(), 'export.ndjson');
    const { code, stderr } = shell(`ulimit -f 64; vitrine export --database-url ${database} ${target(file)}`);
    expect([code, stderr]).toEqual([1, `vitrine: cannot write ${sentence || file}: file too large\n`]);
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
    expect([file, code]).toEqual([file, 1]);
    expect(stderr.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  }
});
