// The commands besides serve and import: results, output and errors.
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import Database from 'better-sqlite3';
import { beforeAll, describe, expect, test } from 'vitest';
import { copyOf, fixture, ndjson, ROOT, readRecords, tempFile, tempFolder, ugly } from './files.ts';
import { executeSql } from './importing.ts';
import { databaseOf, done, run } from './rig.ts';

const COMMANDS = ['serve', 'import', 'export', 'remove', 'snapshot', 'migrate', 'check'];
const FILES = [
  fixture('microblog.ndjson'),
  fixture('portfolio.ndjson'),
  ugly('hostile-names.ndjson'),
  ugly('hostile-texts.ndjson'),
];

let path: string;
let files: Record<'foreign' | 'newer' | 'text' | 'empty' | 'folder' | 'missing', string>;
beforeAll(async () => {
  path = await databaseOf(...FILES);
  const make = (name: string, sql: string) => {
    const file = join(tempFolder(), name);
    executeSql(file, sql);
    return file;
  };
  const newer = copyOf(path);
  executeSql(newer, 'PRAGMA user_version = 999');
  files = {
    foreign: make('foreign.db', 'CREATE TABLE songs (id INTEGER PRIMARY KEY, title TEXT)'),
    newer,
    text: tempFile('text.db', 'This is no database at all, however long it goes on.\n'.repeat(50)),
    empty: tempFile('empty.db', ''),
    folder: tempFolder(),
    missing: join(tempFolder(), 'no/such/folder/site.db'),
  };
});

test('the help of each command shows examples', async () => {
  for (const command of COMMANDS) {
    const { code, stdout, stderr } = await run([command, '--help']);
    expect([code, stderr]).toEqual([0, '']);
    for (const words of [`Usage: vitrine ${command}`, `  vitrine ${command}`, 'DATABASE_URL'])
      expect(stdout).toContain(words);
  }
});

describe('wrong usage', () => {
  const DB = '--database-url /nowhere/site.db';
  const MIRROR = `mirror --variant b --from http://127.0.0.1:1/b ${DB}`;
  const COMPARE = 'compare http://127.0.0.1:1 http://127.0.0.1:1 --variant b';
  test.each([
    ['check --deep', "unknown option '--deep'"],
    [`import ${DB}`, "missing required argument 'file'"],
    [`import --rejects x y ${DB}`, '--rejects goes with --skip-invalid'],
    [`remove --family painters ada ${DB}`, 'Allowed choices are microblog, portfolio'],
    ['check', 'DATABASE_URL'],
    ['check --database-url mysql://x/y', '--database-url must'],
    [MIRROR, '--user'],
    [`mirror --from http://x/ --user ada ${DB}`, '--variant'],
    [`${MIRROR} --user ada --from ftp://x/`, 'http or https'],
    [`${MIRROR} --user ada --from http://me:secret@x/`, 'user name or password'],
    [`${MIRROR} --user ada --rate 0`, 'must be a number'],
    [`${MIRROR} --user ada --concurrency 1.5`, 'a whole number from 1 to 64'],
    [`${MIRROR} --user ada --retries 0.5`, 'a whole number from 0 to 20'],
    [`${COMPARE} --user ada --concurrency 65`, 'a whole number from 1 to 64'],
    [`snapshot --keep 0 x ${DB}`, 'a whole number from 1'],
    [`${COMPARE} --user ada --picture-hosts http://x/y`, 'HOST or HOST:PORT'],
    ['doctor', "missing required argument 'base-url'"],
    ['doctor http://x/ --variant d', 'Allowed choices are a, b, c'],
  ])('%s', async (line, words) => {
    const { code, stdout, stderr } = await run(line.split(' '));
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(words);
    expect(stderr.trimEnd().split('\n').length).toBeLessThanOrEqual(3);
    expect(stderr).not.toMatch(/\n\s+at |node:internal/);
  });

  test('without a command, the help is shown and the exit code is 2', async () => {
    const { code, stdout, stderr } = await run([]);
    expect(code).toBe(2);
    expect(stdout + stderr).toContain('Usage: vitrine');
  });
});

describe('a file that is not a Vitrine database', () => {
  test.each([
    ['foreign', 'is a database of another program.'],
    ['newer', 'was made by a newer version of Vitrine'],
    ['text', 'is not a SQLite database.'],
    ['folder', 'is a folder'],
    ['missing', 'cannot be opened'],
  ] as const)('%s is refused by every command with one message, and left unchanged', async (what, words) => {
    const file = files[what];
    const before = existsSync(file) && what !== 'folder' ? readFileSync(file) : undefined;
    const people = tempFile('people.ndjson', ndjson({ totalPost: '0', id: '1', username: 'one' }));
    const uses = [['serve'], ['import', people], ['export']];
    if (what === 'foreign')
      uses.push(
        ['remove', '--family', 'microblog', 'one'],
        ['snapshot', join(tempFolder(), 'x.db')],
        ['check'],
      );
    const runs = await Promise.all(
      uses.map((args) => run([...args, '--database-url', file], { env: { PORT: '0' } })),
    );
    for (const { code, stdout, stderr } of runs) {
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toMatch(/^vitrine: [^\n]+\n$/);
      expect(stderr).toContain(file);
      expect(stderr).toContain(words);
    }
    if (before !== undefined) expect(readFileSync(file).equals(before)).toBe(true);
  });

  test('a missing file is not created', async () => {
    const folder = tempFolder();
    const file = join(folder, 'absent.db');
    const commands = [
      'export',
      'check',
      'check --repair',
      'snapshot x.db',
      'migrate',
      'media relink',
      'media prune',
    ];
    const others = ['media status', 'media check', 'media fetch --media-hosts old.example'];
    for (const command of [...commands, ...others, 'remove --family portfolio ada']) {
      const { code, stderr } = await run([...command.split(' '), '--database-url', file]);
      const sentence = `vitrine: ${file} does not exist: \`vitrine import\` creates it.\n`;
      expect([command, code, stderr]).toEqual([command, 1, sentence]);
      expect(readdirSync(folder)).toEqual([]);
    }
  });

  test('an empty file is called empty', async () => {
    const { code, stderr } = await run(['check', '--database-url', files.empty]);
    expect([code, stderr]).toEqual([1, `vitrine: ${files.empty} is empty: run \`vitrine import\`.\n`]);
  });

  test('the journal of an unfinished write is named, and migrate undoes the write', async () => {
    const file = withJournal();
    for (const args of [['check'], ['export'], ['serve']]) {
      const { code, stderr } = await run([...args, '--database-url', file], { env: { PORT: '0' } });
      expect([code, stderr]).toEqual([1, expect.stringContaining(`${file}-journal is left of a write`)]);
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
    return file;
  }
});

describe('export', () => {
  test('imported elsewhere gives the same export, byte for byte', async () => {
    const file = join(tempFolder(), 'all.ndjson');
    expect(await done(['export', '--database-url', path, file])).toBe('');
    const elsewhere = await databaseOf(file);
    const again = await done(['export', '--database-url', elsewhere]);
    expect(again).toBe(readFileSync(file, 'utf8'));
    for (const line of again.trimEnd().split('\n')) expect(JSON.stringify(JSON.parse(line))).toBe(line);
  });

  test('writes to standard output or to a compressed file, and leaves no partial file', async () => {
    const plain = await done(['export', '--database-url', path, '-']);
    const file = join(tempFolder(), 'all.ndjson.gz');
    await done(['export', '--database-url', path, file]);
    expect(gunzipSync(readFileSync(file)).toString()).toBe(plain);
    expect(readdirSync(dirname(file))).toEqual(['all.ndjson.gz']);
  });
});

test('remove says what it has deleted, in any letter case, and who is not there', async () => {
  const remove = ['remove', '--database-url', copyOf(path), '--family', 'microblog', 'ADA'];
  const posts = readRecords(fixture('microblog.ndjson')).filter(({ user }) => String(user) === '12').length;
  expect(await done(remove)).toBe(`removed "ADA" and ${posts} items\n`);
  expect(await run(remove)).toMatchObject({
    code: 1,
    stderr: 'vitrine: the microblog family has no user "ADA"\n',
  });
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

  test('replaces an existing file, and keeps it on failure', async () => {
    const file = tempFile('snapshot.db', 'older');
    expect((await run(['snapshot', '--database-url', files.foreign, file])).code).toBe(1);
    expect(readFileSync(file, 'utf8')).toBe('older');
    await done(['snapshot', '--database-url', path, file]);
    expect(await done(['check', '--database-url', file])).toContain('is sound');
    expect((await run(['snapshot', '--database-url', path, join(dirname(file), 'no/x.db')])).code).toBe(1);
  });

  test('to the database itself is refused', async () => {
    const copy = copyOf(path);
    const { code, stderr } = await run(['snapshot', '--database-url', copy, copy]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('is the database itself')]);
    expect(await done(['check', '--database-url', copy])).toContain('is sound');
  });

  // A file size limit interrupts the write as a full disk does.
  test('for lack of room names the target and leaves nothing beside it', () => {
    const target = join(tempFolder(), 'snapshot.db');
    const command = `ulimit -f 64; trap '' XFSZ; exec "$0" src/vitrine.js snapshot --database-url ${path} ${target}`;
    const { status, stderr } = spawnSync('bash', ['-c', command, process.execPath], {
      cwd: ROOT,
      encoding: 'utf8',
      // bash warns of a locale that is not installed.
      env: { ...process.env, LC_ALL: 'C' },
    });
    expect([status, stderr]).toEqual([1, expect.stringMatching(/^vitrine: [^\n]+\n$/)]);
    expect(stderr).toContain(target);
    expect(stderr).not.toContain(path);
    expect(readdirSync(dirname(target))).toEqual([]);
  });
});

describe('check', () => {
  test('counts each kind', async () => {
    const file = await databaseOf(ugly('date-ties.ndjson'));
    const counts = 'microblog profiles: 2\nposts: 25\nportfolio profiles: 2\nshots: 25\n';
    expect(await done(['check', '--database-url', file])).toBe(`${file} is sound\n${counts}`);
  });

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
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^vitrine: [^\n]+\n$/);
    expect(stderr).toContain(file);
    rmSync(file);
  });
});
