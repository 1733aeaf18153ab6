// What a long command shows of its steps. Off a terminal it shows nothing in its first ten seconds, so outputs do not depend on time.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, test, vi } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { writeExport } from '../../src/import/export.ts';
import { createReport } from '../../src/import/terminal.ts';
import { openArchive, openWriter } from '../../src/stores/open.ts';
import { databaseOf, importInto } from '../support/database.ts';
import { fixture, tempFolder } from '../support/files.ts';
import { executeSql, newPath } from '../support/importing.ts';
import { done, processWith } from '../support/run.ts';

test('off a terminal, a step is shown once nothing was shown for ten seconds', () => {
  let time = 0;
  const lines: string[] = [];
  using report = createReport({ write: (text) => lines.push(text) }, { now: () => time });
  report.step('one');
  time = 9999;
  report.step('two');
  expect(lines).toEqual([]);
  time = 10_000;
  report.step('three');
  report.step('four');
  time = 20_000;
  report.step('four', undefined, (seconds) => `for ${seconds} s`);
  expect(lines).toEqual(['three …\n', 'four  for 10 s\n']);
});

test('a step shows its share as a bar, with the time that is left', () => {
  let time = 0;
  const lines: string[] = [];
  using report = createReport({ write: (text) => lines.push(text) }, { now: () => time });
  report.step('copying', 0);
  time = 5000;
  report.step('copying', 0.25);
  time = 10_000;
  report.step('copying', 0.5);
  time = 10_001;
  report.step('copying', 0.51);
  expect(lines).toEqual([`copying  ${'█'.repeat(12)}${'░'.repeat(12)} 50%, 10 s, 10 s left\n`]);
});

test('a terminal shows each step as it begins, and its share ten times a second', () => {
  let time = 0;
  const lines: string[] = [];
  using report = createReport(
    { isTTY: true, write: (text) => lines.push(text.slice(1, -3)) },
    { now: () => time },
  );
  report.step('one');
  report.step('two', 0);
  time = 99;
  report.step('two', 0.1);
  time = 100;
  report.step('two', 0.5);
  report.step('three');
  expect(lines).toEqual(['one …', 'two …', expect.stringContaining('50% …'), 'three …']);
});

test('a step is shown while it waits for others', () => {
  vi.useFakeTimers();
  const lines: string[] = [];
  using report = createReport({ write: (text) => lines.push(text) }, { now: () => Date.now(), lineMs: 5000 });
  report.step('waiting');
  vi.advanceTimersByTime(12_000);
  vi.useRealTimers();
  expect(lines).toEqual(['waiting, 5 s\n', 'waiting, 10 s\n']);
});

test('an import names the steps of its writing', async () => {
  const lines: string[] = [];
  const out = { isTTY: true, write: (text: string) => lines.push(text) };
  await importInto(newPath(), [fixture('portfolio.ndjson')], '', { out });
  const steps = lines.flatMap((line) => /: (.*) …/.exec(line)?.[1] ?? []);
  expect(steps).toEqual([
    'sorting',
    'portfolio names and repeated ids',
    'portfolio profiles',
    'owners of shots',
    'shots',
    'lists of shots',
    'changes',
    'index of ids',
    'to the disk',
  ]);
});

test('with --json progress is shown, and with --quiet it is not', async () => {
  const run = async (...more: string[]) => {
    const stdout: Buffer[] = [];
    const lines: string[] = [];
    const io = {
      ...processWith({}, stdout, []),
      stdin: Readable.from([readFileSync(fixture('portfolio.ndjson'))]),
      stderr: { isTTY: true, write: (text: string) => lines.push(text) },
    };
    await runProgram(io, ['import', '--database-url', newPath(), '-', '--json', ...more]);
    expect(JSON.parse(Buffer.concat(stdout).toString()).notes).toEqual([]);
    return lines.join('');
  };
  expect(await run()).toContain('lists of shots …');
  expect(await run('--quiet')).toBe('');
});

test.each([
  [
    'check',
    ['--repair'],
    /repairing .*comparing compressed answers .*deriving profiles and lists .*checking the file /s,
  ],
  ['check', [], /checking the file .*checking owners .*checking lists .*checking names /s],
  [
    'publish',
    ['x', '--for', 'nginx', '--without', 'pages'],
    /looking for changes .*publishing .*putting the files in place /s,
  ],
  ['media', ['relink', '--media-url', 'https://a.example'], /linking the copies /],
  ['snapshot', ['x.db'], /copying /],
  ['restore', ['x.db'], /copying .*checking lists .*replacing /s],
  ['migrate', ['--compact'], /writing the file anew .*erasing deleted data .*100%/s],
])('%s names its steps', async (name, args, steps) => {
  const url = await databaseOf(fixture('portfolio.ndjson'));
  const copy = join(dirname(url), 'x.db');
  if (name === 'restore') await done(['snapshot', '--database-url', url, copy]);
  const lines: string[] = [];
  const stderr = { isTTY: true, write: (text: string) => lines.push(text) };
  const words = args.map((word) => (word.startsWith('x') ? join(dirname(url), word) : word));
  const io = { ...processWith({ DATABASE_URL: url }, [], []), stderr };
  const code = await runProgram(io, [name, ...words]);
  expect([code, lines.join('')]).toEqual([0, expect.stringMatching(steps)]);
  // The line of progress is gone before the report is printed.
  expect(lines.at(-1)).toBe('\r\x1b[K');
});

/** What a command shows on a terminal. */
async function shown(args: readonly string[], environment: Record<string, string> = {}): Promise<string[]> {
  const lines: string[] = [];
  const stderr = { isTTY: true, write: (text: string) => lines.push(text) };
  expect(await runProgram({ ...processWith(environment, [], []), stderr }, args)).toBe(0);
  return lines.flatMap((line) => /^\r(.*) …/.exec(line)?.[1] ?? []);
}

test('a migration names its steps', async () => {
  const url = await databaseOf(fixture('portfolio.ndjson'));
  executeSql(url, 'PRAGMA user_version = 17');
  const steps = (await shown(['migrate', '--database-url', url])).join();
  expect(steps).toMatch(/^tables,records,deriving search words,deriving profiles and lists,/);
});

test('an import into an older database names the steps of its migration', async () => {
  const url = await databaseOf(fixture('portfolio.ndjson'));
  executeSql(url, 'PRAGMA user_version = 17');
  const steps = (await shown(['import', '--database-url', url, fixture('portfolio.ndjson')])).join();
  expect(steps).toMatch(/^migrating: tables,migrating: records,migrating: deriving .*,writing \d+ records: /);
});

test('media prune names its steps', async () => {
  const url = await databaseOf(fixture('portfolio.ndjson'));
  const writer = await openWriter(url);
  const copy = {
    url: 'https://img.example.org/1.png',
    file: `${'0'.repeat(64)}.png`,
    bytes: 1,
    reason: null,
  };
  await writer.saveOriginals([copy], '');
  await writer.close();
  const steps = await shown(['media', 'prune', '--database-url', url]);
  expect(steps.at(-1)).toBe('forgetting copies that no record names');
});

test('purge names its steps', async () => {
  const url = await databaseOf(fixture('portfolio.ndjson'));
  const cache = `nginx:${tempFolder()}`;
  expect(await shown(['purge', '--database-url', url], { PURGE: cache })).toEqual([
    'reading what changed',
    `notifying ${cache}`,
  ]);
});

test('an export shows how far it is', async () => {
  const url = await databaseOf(fixture('portfolio.ndjson'));
  const done: number[] = [];
  await using archive = await openArchive(url);
  const records = await Array.fromAsync(archive.records());
  const long = { records: () => Readable.from(records.map((record) => record.padEnd(100_000))) };
  const file = join(dirname(url), 'out.ndjson');
  await writeExport(long, {
    file,
    withCopies: false,
    stdout: process.stdout,
    onProgress: (n) => done.push(n),
  });
  expect(done.slice(0, 3)).toEqual([3, 6, 9]);
});
