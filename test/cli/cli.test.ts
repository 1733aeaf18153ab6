// The commands besides serve and import: what their output does not show. What they print is in fixtures/cases/cli.txt.
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import Database from 'better-sqlite3';
import { beforeAll, describe, expect, test } from 'vitest';
import { COMMANDS } from '../../src/cli/program.ts';
import { explain } from '../../src/stores/command-errors.ts';
import { databaseOf } from '../support/database.ts';
import { copyOf, fixture, loadedFirst, ROOT, tempFile, tempFolder, ugly } from '../support/files.ts';
import { executeSql, newPath } from '../support/importing.ts';
import { done, run, spawned, vitrine } from '../support/run.ts';

const FILES = [
  fixture('microblog.ndjson'),
  fixture('portfolio.ndjson'),
  ugly('hostile-names.ndjson'),
  ugly('hostile-texts.ndjson'),
];

let path: string;
beforeAll(async () => {
  path = await databaseOf(...FILES);
});

// The examples of `media` are those of its commands.
test.each(Object.keys(COMMANDS).filter((name) => name !== 'media'))(
  'the help of %s shows examples',
  async (command) => {
    const { code, stdout, stderr } = await run([command, '--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const words of [`Usage: vitrine ${command}`, `\n  vitrine ${command}`])
      expect(stdout).toContain(words);
  },
);

test('without a command, the help is shown and the exit code is 2', async () => {
  const { code, stdout, stderr } = await run([]);
  expect(code).toBe(2);
  expect(stdout + stderr).toContain('Usage: vitrine');
});

test.each([
  ['Bun 1.4.5, and Node 24 or newer', { bun: '1.4.5' }],
  ['Deno 2.9.6, and Node 24 or newer', { deno: '2.9.6' }],
  ['Node 23.11.1, and 24 or newer', { node: '23.11.1' }],
])(
  'another program in place of Node is refused in a sentence: this is %s is needed',
  async (words, versions) => {
    const pretend = loadedFirst(
      `Object.defineProperty(process, 'versions', { value: { ...process.versions, ...${JSON.stringify(versions)} } });`,
    );
    const { code, stdout, stderr } = await spawned(['--version'], { env: { NODE_OPTIONS: pretend } });
    expect({ code, stdout, stderr }).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(new RegExp(`^vitrine: this is ${words} is needed\\. .+\\n$`)),
    });
  },
);

test('LISTEN_FDS without a socket says so', async () => {
  const child = vitrine(
    ['serve', '--samples'],
    { PORT: '0' },
    { before: 'export LISTEN_FDS=1 LISTEN_PID=$$' },
  );
  let said = '';
  child.stderr?.on('data', (chunk) => (said += chunk));
  child.stdout?.resume();
  const [code] = await once(child, 'close');
  expect({ code, said }).toEqual({
    code: 2,
    said: expect.stringMatching(
      /^vitrine: LISTEN_FDS says that descriptor 3 is a listening socket, and it is none \(E\w+\): pass the socket, or start without LISTEN_FDS\n$/,
    ),
  });
});

test('a port that only root may open is named as such', () => {
  const refused = Object.assign(new Error('listen EACCES: permission denied 0.0.0.0:80'), {
    code: 'EACCES',
    syscall: 'listen',
    address: '0.0.0.0',
    port: 80,
  });
  expect(explain(refused)).toEqual([
    'cannot listen: this user may not open port 80, since it is below 1024. Set PORT to a higher one, such as 8080, and let a proxy take 80',
  ]);
});

test('the journal of an unfinished write is named, and migrate undoes the write', async () => {
  const file = withJournal();
  for (const args of [['check'], ['export'], ['serve']]) {
    const { code, stderr } = await run([...args, '--database-url', file], { env: { PORT: '0' } });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining(`${file}-journal is left of a write`),
    });
    expect(stderr).toMatch(/^vitrine: [^\n]+\n$/);
  }
  await done(['migrate', '--database-url', file]);
  expect(await done(['check', '--database-url', file])).toBe(
    (await done(['check', '--database-url', path])).replaceAll(path, file),
  );
});

/** A copy in the middle of a write in rollback mode, as a crash leaves it. */
function withJournal(): string {
  const source = copyOf(path);
  const db = new Database(source);
  db.pragma('journal_mode = DELETE');
  db.pragma('cache_size = 1');
  db.exec("BEGIN; UPDATE items SET record = ' ' || record; UPDATE profiles SET record = ' ' || record");
  const file = copyOf(source);
  copyFileSync(`${source}-journal`, `${file}-journal`);
  db.close();
  utimesSync(`${file}-journal`, 0, 0);
  return file;
}

test('an export imported elsewhere gives the same export, byte for byte', async () => {
  const before = await done(['export', '--database-url', path]);
  const elsewhere = await databaseOf(tempFile('all.ndjson', before));
  expect(await done(['export', '--database-url', elsewhere])).toBe(before);
  for (const line of before.trimEnd().split('\n')) expect(JSON.stringify(JSON.parse(line))).toBe(line);
});

describe('snapshot', () => {
  test('is one file without a WAL, and a sound database', async () => {
    const file = join(tempFolder(), 'snapshot.db');
    expect(await done(['snapshot', '--database-url', path, file])).toContain(file);
    const db = new Database(file, { readonly: true });
    expect(db.pragma('journal_mode', { simple: true })).toBe('delete');
    db.close();
    expect(readdirSync(dirname(file))).toEqual(['snapshot.db']);
    expect(await done(['check', '--database-url', file])).toBe(
      (await done(['check', '--database-url', path])).replaceAll(path, file),
    );
  });

  // A file size limit interrupts the write as a full disk does.
  test('for lack of room names the target and leaves nothing beside it', () => {
    const target = join(tempFolder(), 'snapshot.db');
    const command = `ulimit -f 64; trap '' XFSZ; exec "$0" src/vitrine.js snapshot --database-url "$1" "$2"`;
    const { status, stderr } = spawnSync('bash', ['-c', command, process.execPath, path, target], {
      cwd: ROOT,
      encoding: 'utf8',
      // bash warns of a locale that is not installed.
      env: { ...process.env, LC_ALL: 'C' },
    });
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringMatching(/^vitrine: [^\n]+\n$/) });
    expect(stderr).toContain(target);
    expect(stderr).not.toContain(path);
    expect(readdirSync(dirname(target))).toEqual([]);
  });
});

describe('check', () => {
  test.each<[string, (file: string) => void]>([
    ['cut off', (file) => truncateSync(file, Math.floor(statSync(file).size / 2 / 8192) * 8192)],
    [
      'with a page of rubbish',
      (file) => {
        const bytes = readFileSync(file);
        bytes.fill(0xa5, bytes.length - 3 * 8192, bytes.length - 2 * 8192);
        writeFileSync(file, bytes);
      },
    ],
    ['without a table', (file) => executeSql(file, 'PRAGMA foreign_keys = OFF; DROP TABLE items')],
  ])('finds a database %s', async (_, harm) => {
    const file = copyOf(path);
    harm(file);
    const { code, stdout, stderr } = await run(['check', '--database-url', file]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^vitrine: [^\n]+\n$/);
    expect(stderr).toContain(file);
    rmSync(file);
  });
});

test('an export to standard output reports on standard error', async () => {
  const plain = await done(['export', '--database-url', path]);
  const { code, stdout, stderr } = await run(['export', '--database-url', path, '--json']);
  expect({ code, stdout }).toEqual({ code: 0, stdout: plain });
  expect(JSON.parse(stderr)).toMatchObject({ command: 'export', ok: true, result: { file: null } });
  expect((await run(['export', '--database-url', path, '--quiet'])).stdout).toBe(plain);
});

test('with --json a command says what it took', async () => {
  const { stdout } = await spawned([
    'import',
    '--database-url',
    newPath(),
    '--json',
    fixture('portfolio.ndjson'),
  ]);
  const { figures } = JSON.parse(stdout);
  expect(Object.keys(figures)).toEqual(['seconds', 'cpuSeconds', 'bytesWritten']);
  expect(figures.seconds).toBeGreaterThan(0);
  expect(figures.cpuSeconds).toBeGreaterThan(0);
  expect(Number.isInteger(figures.bytesWritten)).toBe(true);
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
    const { stdout } = await run(['snapshot', '--database-url', path, file, '--json']);
    expect(JSON.parse(stdout).result.file).toBe(file);
  });
});

test.each([
  [{ code: 'EACCES', syscall: 'mkdir', path: '/srv/site' }, 'this user may not change /srv/site'],
  [{ code: 'EACCES', syscall: 'open', path: '/srv/site' }, 'this user may not read /srv/site'],
  [{ code: 'ENOSPC' }, /^the disk is full: make room/],
  [{ code: 'SQLITE_READONLY' }, /^this user may not write the database: run the command as /],
])('%j is explained, with what to do', (error, sentence) => {
  expect(explain(Object.assign(new Error('refused'), error))).toEqual([expect.stringMatching(sentence)]);
});
