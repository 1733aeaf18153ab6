// What commands print: text for people, one line of JSON with --json, only errors with --quiet. No text can steer a terminal.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { beforeAll, describe, expect, test } from 'vitest';
import { explain } from '../src/cli/output.ts';
import { copyOf, fixture, ndjson, ROOT, tempFile, tempFolder } from './files.ts';
import { newPath } from './importing.ts';
import { blog } from './records.ts';
import { databaseOf, done, run, vitrine } from './rig.ts';
import { serveHere } from './serve-here.ts';

let path: string;
let bad: string;
let url: string;
beforeAll(async () => {
  path = await databaseOf(fixture('microblog.ndjson'));
  bad = tempFile('bad.ndjson', ndjson(blog(1, 'one'), { id: '2', totalPost: '0', username: '' }));
  url = (await serveHere()).url;
});

type Use = [what: string, args: () => string[], exitCode: number];
const FILE = fixture('microblog.ndjson');
const USES: Use[] = [
  ['import', () => ['import', '--database-url', newPath(), FILE], 0],
  ['import', () => ['import', '--database-url', newPath(), bad], 1],
  ['import', () => ['import', '--database-url', newPath(), '--rejects', 'x', bad], 2],
  ['export', () => ['export', '--database-url', path, join(tempFolder(), 'all.ndjson')], 0],
  ['remove', () => ['remove', '--database-url', copyOf(path), '--family', 'microblog', 'ada'], 0],
  ['remove', () => ['remove', '--database-url', path, '--family', 'microblog', 'nobody'], 1],
  ['snapshot', () => ['snapshot', '--database-url', path, join(tempFolder(), 'copy.db')], 0],
  ['restore', () => ['restore', '--database-url', newPath(), copyOf(path)], 0],
  ['restore', () => ['restore', '--database-url', newPath(), FILE], 1],
  ['migrate', () => ['migrate', '--database-url', path], 0],
  ['check', () => ['check', '--database-url', path], 0],
  ['check', () => ['check'], 2],
  ['serve', () => ['serve', '--check', '--database-url', path], 0],
  ['serve', () => ['serve', '--port', 'x', '--host', 'a b'], 2],
  [
    'mirror',
    () => ['mirror', '--database-url', newPath(), '--variant', 'a', '--from', `${url}/a`, '--user', 'ada'],
    0,
  ],
  ['compare', () => ['compare', `${url}/a`, `${url}/a/`, '--variant', 'a', '--user', 'ada'], 0],
  ['compare', () => ['compare', `${url}/a`, `${url}/x`, '--variant', 'a', '--user', 'ada'], 1],
  ['doctor', () => ['doctor', 'http://127.0.0.1:1', '--user', 'ada'], 1],
  ['media fetch', () => ['media', 'fetch', '--database-url', copyOf(path)], 1],
  ['media relink', () => ['media', 'relink', '--database-url', copyOf(path)], 0],
  ['media status', () => ['media', 'status', '--database-url', path], 0],
  ['media check', () => ['media', 'check', '--database-url', path], 0],
  ['media prune', () => ['media', 'prune', '--database-url', copyOf(path)], 1],
  ['media', () => ['media', 'burn'], 2],
];

test.each(USES)(
  '%s: --json prints one line of one shape, --quiet only errors',
  async (name, args, exitCode) => {
    const { code, stdout, stderr } = await run([...args(), '--json']);
    expect([code, stderr]).toEqual([exitCode, '']);
    expect(stdout).toMatch(/^[^\n]+\n$/);
    const report = JSON.parse(stdout);
    expect(Object.keys(report)).toEqual(['command', 'ok', 'exitCode', 'result', 'errors', 'notes']);
    expect(report).toMatchObject({ command: name, ok: exitCode === 0, exitCode });
    expect(report.errors.length > 0).toBe(exitCode !== 0);
    for (const line of [...report.errors, ...report.notes]) expect(line).toMatch(/^[^\n]+$/);
    if (exitCode === 0) expect(report.result).not.toBeNull();

    const quiet = await run([...args(), '--quiet']);
    expect([quiet.code, quiet.stdout, quiet.stderr !== '']).toEqual([exitCode, '', exitCode !== 0]);
  },
);

const reportOf = async (args: string[]) => JSON.parse((await run([...args, '--json'])).stdout);

test('the results of an import and of a check', async () => {
  const database = newPath();
  const { result, notes } = await reportOf(['import', '--database-url', database, bad]);
  expect(result).toEqual({
    records: 2,
    faulty: 1,
    dryRun: false,
    emptied: {},
    unescaped: 0,
    dropped: {},
    imported: null,
  });
  expect(notes).toEqual([expect.stringMatching(/bad\.ndjson:2: username: /)]);
  const people = tempFile('people.ndjson', ndjson(blog(1, 'one'), blog(2, 'two')));
  const imported = await reportOf(['import', '--database-url', database, people]);
  expect(imported.result.imported['microblog profile']).toEqual({
    new: 2,
    changed: 0,
    unchanged: 0,
    removed: 0,
    takenDown: 0,
  });
  const check = await reportOf(['check', '--repair', '--database-url', database]);
  expect(check.result).toMatchObject({ sound: true, repaired: 0, faults: [], counts: { post: 0 } });
});

test('an export to standard output reports on standard error', async () => {
  const plain = await done(['export', '--database-url', path]);
  const { code, stdout, stderr } = await run(['export', '--database-url', path, '--json']);
  expect([code, stdout]).toEqual([0, plain]);
  expect(JSON.parse(stderr)).toMatchObject({ command: 'export', ok: true, result: { file: null } });
  expect((await run(['export', '--database-url', path, '--quiet'])).stdout).toBe(plain);
});

test('wrong usage without a command has the same shape', async () => {
  const { code, stdout } = await run(['nosuch', '--json']);
  expect([code, JSON.parse(stdout)]).toEqual([
    2,
    { command: null, ok: false, exitCode: 2, result: null, errors: ["unknown command 'nosuch'"], notes: [] },
  ]);
});

test('a server that cannot start reports why', async () => {
  const { code, stdout } = await run([
    'serve',
    '--json',
    '--database-url',
    tempFile('x.db', 'x'.repeat(500)),
  ]);
  expect([code, JSON.parse(stdout).errors]).toEqual([
    1,
    [expect.stringContaining('is not a SQLite database')],
  ]);
});

test('a server with --quiet logs warnings only', async () => {
  const child = vitrine(['serve', '--quiet', '--port', '0', '--database-url', newPath()]);
  const [first] = await once(child.stdout as Readable, 'data');
  expect(JSON.parse(String(first))).toMatchObject({
    level: 40,
    msg: expect.stringContaining('does not exist'),
  });
});

test('--version prints the version of package.json', async () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  expect(await done(['--version'])).toBe(`${version}\n`);
});

describe('control characters', () => {
  const CSI = '\u009b31m';
  const EVIL = `a\u001b]0;x\u0007${CSI}\u202eb`;
  const STEERING = /[\p{Cc}\p{Cf}]/u;

  test.each<[what: string, args: () => string[]]>([
    ['the name of a snapshot', () => ['snapshot', '--database-url', path, join(tempFolder(), EVIL)]],
    ['the target of an export', () => ['export', '--database-url', path, join(tempFolder(), EVIL, 'x')]],
    ['a user', () => ['remove', '--database-url', path, '--family', 'microblog', EVIL]],
    ['a setting', () => ['serve', '--port', EVIL]],
    ['a base URL', () => ['doctor', `http://x/${EVIL}`, '--timeout', EVIL]],
    ['a command', () => [EVIL]],
    ['an option', () => ['check', `--${EVIL}`]],
    ['a choice', () => ['remove', '--family', EVIL, 'x']],
  ])('of %s do not reach the terminal', async (_, args) => {
    for (const more of [[], ['--json']]) {
      const { stdout, stderr } = await run([...args(), ...more]);
      expect(stdout + stderr).not.toBe('');
      expect((stdout + stderr).replaceAll('\n', '')).not.toMatch(STEERING);
    }
  });

  test('in JSON the text is whole', async () => {
    const file = join(dirname(tempFile('x', '')), EVIL);
    expect((await reportOf(['snapshot', '--database-url', path, file])).result.file).toBe(file);
  });
});

test.each([
  [{ code: 'EACCES', syscall: 'mkdir', path: '/srv/site' }, 'this user may not change /srv/site'],
  [{ code: 'EACCES', syscall: 'open', path: '/srv/site' }, 'this user may not read /srv/site'],
  [{ code: 'ENOSPC' }, /^the disk is full: make room/],
  [{ code: 'SQLITE_READONLY' }, /^this user may not write the database: run the command as /],
])('%j is explained, with what to do', (error, sentence) => {
  expect(explain(Object.assign(new Error('refused'), error)).lines).toEqual([
    expect.stringMatching(sentence),
  ]);
});
