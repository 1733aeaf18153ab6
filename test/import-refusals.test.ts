// Refused imports change nothing, and each fault is reported with file, line, member and value.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { PassThrough } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { describePlace, encodePlace } from '../src/import/faults.ts';
import { fixture, ndjson, readLines, tempFile, tempFolder, ugly } from './files.ts';
import { into, newPath, recordsIn } from './importing.ts';
import { blog, post } from './records.ts';
import { databaseOf } from './rig.ts';

describe('nothing is imported, and the faults are named', () => {
  const REFUSALS: [what: string, input: string, lines: RegExp[]][] = [
    [
      'a bad count',
      ndjson(blog(1, 'one', { totalFavs: '1,5' })),
      [/^standard input:1: totalFavs: .+, got "1,5"$/],
    ],
    [
      'a bad line after a good one',
      `${ndjson(blog(1, 'one'))}\n{"id":\n`,
      [/^standard input:3: record: .*JSON/],
    ],
    [
      'a control character, which is not printed',
      ndjson(blog(1, 'a\u001b[2Jb')),
      [/^standard input:1: username: [\x20-\x7e]+, got "a\ufffd\[2Jb"$/],
    ],
    [
      'a name of another id',
      ndjson(blog(1, 'Zoë'), blog(2, 'ZOE\u0308')),
      [/^standard input:2: username: .*\b1\b.*\b2\b.*, got "ZOE\u0308"$/],
    ],
    [
      'a CSV cell',
      'totalPost,id,username\n0,1,one\nx,2,two\n',
      [/^standard input:3: totalPost: .+, got "x"$/],
    ],
    [
      'an item in a saved body',
      '{"posts":[\n{"id":"1","user":"1","date":"2024-01-01 00:00:00",},\n{"id":"x","user":"1","date":"2024-01-01 00:00:00"}]}',
      [/^standard input:3: id: .+, got "x"$/, /^standard input:2: user: unknown owner .+, got "1"$/],
    ],
  ];
  test.concurrent.each(REFUSALS)('%s', async (_, input, expected) => {
    const path = newPath();
    const { code, stdout, stderr } = await into(path, ['-'], { input });
    expect([code, stdout]).toEqual([1, '']);
    const lines = stderr.trimEnd().split('\n');
    expect(lines).toHaveLength(expected.length + 1);
    for (const [index, pattern] of expected.entries()) expect(lines[index]).toMatch(pattern);
    expect(lines.at(-1)).toMatch(/^vitrine: nothing was imported: \d of \d+ records? (is|are) wrong$/);
    expect(readdirSync(dirname(path))).toEqual([]);
  });

  test.each([
    'name-clash.ndjson',
    'name-clash-unicode.ndjson',
    'orphans.ndjson',
    'too-long.ndjson',
    'invalid.ndjson',
  ])('%s', async (name) => {
    const path = await databaseOf(ugly('date-ties.ndjson'));
    const before = await recordsIn(path);
    const { code, stderr } = await into(path, [ugly('hostile-names.ndjson'), ugly(name)]);
    expect(code).toBe(1);
    const lines = stderr.trimEnd().split('\n');
    for (const line of lines.filter((line) => !/^(vitrine:|… and|warning: )/.test(line)))
      expect(line).toMatch(/^\S+\/fixtures\/ugly\/[\w-]+\.ndjson:\d+: \w+: \S.*$/);
    expect(await recordsIn(path)).toEqual(before);
  });

  test('every line of invalid.ndjson: the first 20, and the number of the rest', async () => {
    const all = readLines(ugly('invalid.ndjson'));
    const { code, stderr } = await into(newPath(), [ugly('invalid.ndjson')]);
    const lines = stderr.trimEnd().split('\n');
    expect([code, lines.length]).toEqual([1, 22]);
    expect(
      lines.slice(0, 20).every((line, index) => line.startsWith(`${ugly('invalid.ndjson')}:${index + 1}: `)),
    ).toBe(true);
    expect(lines[20]).toMatch(/^… and \d+ more$/);
    expect(lines[21]).toBe(`vitrine: nothing was imported: ${all.length} of ${all.length} records are wrong`);
  });

  test('lines of the 8,193rd file', () => {
    const files = Array.from({ length: 8193 }, (_, nr) => `f${nr}`);
    const named = [1, 3].map((line) => describePlace(files, encodePlace(8192, line)));
    expect(named).toEqual(['f8192:1', 'f8192:3']);
  });

  test.each<[what: string, files: () => string[], words: string]>([
    ['a missing file', () => ['/nowhere/people.ndjson'], '/nowhere/people.ndjson does not exist'],
    ['a folder', () => [tempFolder()], 'is a folder: name the files in it'],
    [
      'gzip that is cut off',
      () => [tempFile('cut.gz', gzipSync(readFileSync(fixture('microblog.ndjson'))).subarray(0, 5000))],
      'cut.gz: the gzip data ends too early',
    ],
    [
      'UTF-16 that is cut off',
      () => [tempFile('utf16.csv', Buffer.from('\ufeffid,username\n1,x\n', 'utf16le').subarray(0, 21))],
      'utf16.csv: the text is not utf-16le',
    ],
  ])('%s', async (_, files, words) => {
    const path = newPath();
    const { code, stderr } = await into(path, [ugly('date-ties.ndjson'), ...files()]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^vitrine: [^\n]+\n$/);
    expect(stderr).toContain(words);
    expect(readdirSync(dirname(path))).toEqual([]);
  });
});

describe('faults of the records and faults between them are reported in one round', () => {
  const faultsOf = async (...records: object[]) => {
    const path = newPath();
    const { code, stderr } = await into(path, ['-'], { input: ndjson(...records) });
    expect(code).toBe(1);
    expect(readdirSync(dirname(path))).toEqual([]);
    const lines = stderr.trimEnd().split('\n');
    return lines.map((line) => /^standard input:(\d+: \w+)/.exec(line)?.[1] ?? line);
  };

  test.each<[what: string, profile: object]>([
    ['without a user name', { totalPost: '1', id: '1' }],
    ['that fits both families', { id: '1', username: 'one' }],
    ['whose name is taken', blog(1, 'TWO')],
  ])('the items of a profile %s are not reported as well', async (_, profile) => {
    const faults = await faultsOf(blog(2, 'two'), post(7, 1), profile, post(8, 1), post(9, 99));
    expect(faults).toEqual([
      expect.stringMatching(/^3: /),
      '5: user',
      'vitrine: nothing was imported: 2 of 5 records are wrong',
    ]);
  });
});

test('an import that is stopped says that nothing was imported, and leaves no database', async () => {
  for (const file of ['-', tempFile('people.ndjson', ndjson(blog(2, 'two')))]) {
    const path = newPath();
    const stop = new AbortController();
    const stdin = new PassThrough({ highWaterMark: 1 });
    stdin.write(ndjson(blog(1, 'one')));
    // Somebody else may keep the other end of the pipe.
    if (file !== '-') stdin.end();
    stdin.once('drain', () => stop.abort()).once('end', () => stop.abort());
    const files = file === '-' ? ['-'] : ['-', file];
    const { code, stdout, stderr } = await into(path, files, { stdin, signal: stop.signal });
    expect([code, stdout, stderr]).toEqual([1, '', 'vitrine: stopped: nothing was imported\n']);
    expect(readdirSync(dirname(path))).toEqual([]);
  }
});

test('a mistyped file does not migrate an older database', async () => {
  const path = tempFile('older.db', readFileSync(fixture('older/schema-4.db')));
  const before = readFileSync(path);
  for (const args of [['/nowhere.ndjson'], ['--map', '/nowhere.mjs', '-']])
    expect((await into(path, args)).stderr).toMatch(/^vitrine: \/nowhere\S+ does not exist\n$/);
  expect(readFileSync(path).equals(before)).toBe(true);
});

describe('files without a record', () => {
  test.each([
    ['an empty file', ''],
    ['gzip of nothing', gzipSync('')],
  ])('%s: an error, unless another file has records', async (_, content) => {
    const [empty, other] = [
      tempFile('empty.ndjson', content),
      tempFile('people.ndjson', ndjson(blog(1, 'one'))),
    ];
    const { code, stdout, stderr } = await into(newPath(), [empty]);
    expect([code, stdout, stderr]).toEqual([1, '', `vitrine: ${empty} has no records\n`]);
    expect((await into(newPath(), ['-'], { input: content })).stderr).toBe(
      'vitrine: standard input has no records\n',
    );
    for (const files of [
      [empty, other],
      [other, empty],
    ])
      expect(await into(newPath(), files)).toMatchObject({ code: 0, stderr: '' });
  });

  test.each([
    ['an empty array', '[]'],
    ['a CSV header alone', 'id,username\n'],
  ])('%s is no error', async (_, input) => {
    expect(await into(newPath(), ['-'], { input })).toMatchObject({ code: 0, stderr: '' });
  });
});
