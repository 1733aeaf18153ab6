// Refused imports change nothing, and each fault is reported with file, line, member and value.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { describePlace, encodePlace } from '../src/import/faults.ts';
import { fixture, ndjson, readLines, tempFile, tempFolder, ugly } from './files.ts';
import { into, newPath, recordsIn, tally } from './importing.ts';
import { blog } from './records.ts';
import { databaseOf } from './rig.ts';

describe('nothing is imported, and the faults are named', () => {
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
      expect(line).toMatch(/^\/.+\/fixtures\/ugly\/[\w-]+\.ndjson:\d+: \w+: \S.*$/);
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

test('--rejects has the faulty lines as they were', async () => {
  const rejects = join(tempFolder(), 'bad.ndjson');
  const { code, stdout } = await into(newPath(), [
    '--skip-invalid',
    '--rejects',
    rejects,
    ugly('invalid.ndjson'),
    ugly('date-ties.ndjson'),
  ]);
  expect([code, tally(stdout, 'posts')]).toEqual([0, [25, 0, 0, 0]]);
  expect(readLines(rejects)).toEqual(readLines(ugly('invalid.ndjson')));
  expect(stdout).toContain(`${readLines(rejects).length} left out`);
});
