// What a long command shows of its steps. Off a terminal it shows nothing in its first ten seconds, so outputs do not depend on time.
import { execFileSync } from 'node:child_process';
import { openSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { writeExport } from '../../src/import/export.ts';
import { createReport } from '../../src/import/terminal.ts';
import { openArchive, openWriter } from '../../src/stores/open.ts';
import { madeEtags } from '../../src/stores/steps.ts';
import { databaseOf, importInto } from '../support/database.ts';
import { fixture, ROOT, tempFile, tempFolder } from '../support/files.ts';
import { newPath } from '../support/importing.ts';
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
  report.show((seconds) => `shown after ${seconds} s`);
  expect(lines).toEqual(['three …\n', 'shown after 20 s\n']);
});

test.each([
  ['file', () => ({ bytes: 60e6, file: tempFile('half', Buffer.alloc(30e6)) })],
  ['ETags', () => ({ bytes: 60e6, etags: 20 })],
])('a step that blocks the process is shown all the same, with its share of the %s', (_, size) => {
  const output = tempFile('progress.txt', '');
  const fd = openSync(output, 'a');
  using report = createReport({ fd, write() {} }, { lineMs: 10 });
  report.step('copying', size());
  Atomics.add(madeEtags, 0, 10);
  // Nothing else runs in this thread until the line is there.
  const deadline = performance.now() + 20_000;
  while (statSync(output).size === 0 && performance.now() < deadline);
  expect(readFileSync(output, 'utf8')).toMatch(/^copying {2}█{12}░{12} 50%( …|, \d+ s), \d+ s left\n/);
});

// An import with its clock must fit into 128 MB: Node's compiler of TypeScript would take ten of them in each thread.
test('the thread that shows steps takes less than 15 MB, also in a checkout', () => {
  const program = tempFile(
    'clock.mjs',
    `import { readFileSync, statSync, openSync } from 'node:fs';
    import { createReport } from ${JSON.stringify(join(ROOT, 'src/import/terminal.ts'))};
    const anonymous = () => Number(/^RssAnon:\\s+(\\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))[1]) / 1024;
    const before = anonymous();
    const report = createReport({ fd: openSync(process.argv[2], 'a'), write() {} }, { lineMs: 10 });
    report.step('copying', { bytes: 60e6 });
    while (statSync(process.argv[2]).size === 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
    console.log(anonymous() - before);
    process.exit();`,
  );
  const env = { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' };
  const taken = execFileSync(process.execPath, [program, tempFile('progress.txt', '')], {
    env,
  });
  expect(Number(taken)).toBeGreaterThan(5);
  expect(Number(taken)).toBeLessThan(15);
});

test('a step of unknown length is shown while it waits for others', async () => {
  const output = tempFile('progress.txt', '');
  const fd = openSync(output, 'a');
  using report = createReport({ fd, write() {} }, { lineMs: 1500 });
  report.step('waiting');
  await expect.poll(() => readFileSync(output, 'utf8')).toMatch(/^waiting, [1-9]\d* s$/m);
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
  ['check', ['--repair'], /repairing .*checking the file /s],
  ['check', [], /checking the file .*checking owners .*checking lists .*checking names /s],
  [
    'publish',
    ['x', '--for', 'nginx', '--without', 'pages'],
    /looking for changes .*removing files .*putting the files in place /s,
  ],
  ['media', ['relink', '--media-url', 'https://a.example'], /linking the copies /],
  ['snapshot', ['x.db'], /copying /],
  ['restore', ['x.db'], /copying .*checking lists .*replacing /s],
  ['migrate', ['--compact'], /writing the file anew .*erasing deleted data: 100%/s],
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
