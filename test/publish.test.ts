// `vitrine publish`: what is in the folder, what a second run changes, and what a killed run leaves.
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { PUBLISHED } from '../src/http/observations.ts';
import { compareSize } from '../src/publish/limits.ts';
import type { Entry } from '../src/publish/manifest.ts';
import { putCopy } from './media-folder.ts';
import { sha256 } from './pictures.ts';
import { blog, folio, post, shot } from './records.ts';
import {
  ask,
  databaseOf,
  done,
  importInto,
  json,
  ndjson,
  readLines,
  run,
  storeName,
  tempFile,
  tempFolder,
} from './rig.ts';
import { serveHere } from './serve-here.ts';

const ITEMS = Array.from({ length: 40 }, (_, at) => at + 1);
const PEOPLE = [
  blog(1, 'Ada', { name: 'Ada' }),
  blog(2, 'zoë', { name: 'Zoë' }),
  blog(3, 'x'.repeat(255)),
  ...ITEMS.map((id) => post(id, 1, { post_details: 'A text of some length. '.repeat(10) })),
  folio(1, 'ada'),
  shot(1, 1),
];

const entriesOf = (folder: string) =>
  readLines(join(folder, 'current/manifest.ndjson'))
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Entry);
const fileOf = (folder: string, path: string) => join(folder, 'current/files', path);

/** The inode and time of each file, by path. */
const stateOf = (folder: string) =>
  Object.fromEntries(
    entriesOf(folder).map(({ path }) => {
      const { ino, mtimeMs } = statSync(fileOf(folder, path));
      return [path, `${ino} ${mtimeMs}`];
    }),
  );

const changed = (before: Record<string, string>, after: Record<string, string>) =>
  Object.keys({ ...before, ...after }).filter((path) => before[path] !== after[path]);

/** Previews take 40 ms each. */
const QUICK = ['--without', 'previews'];

async function createSite(records: object[] = PEOPLE) {
  const database = await databaseOf(tempFile('people.ndjson', ndjson(...records)));
  const folder = join(tempFolder(), 'site');
  const mediaDir = tempFolder();
  const env: Record<string, string> = { DATABASE_URL: database, MEDIA_DIR: mediaDir, PORT: '0' };
  const publish = async (...args: string[]) => {
    const ran = await run(['publish', folder, '--for', 'nginx', '--json', ...args], { env });
    return { ...ran, ...json({ body: ran.stdout }) };
  };
  return {
    ...{ database, mediaDir, folder, env, publish, snapshot: join(tempFolder(), 'snapshot.db') },
    load: (...added: object[]) => importInto(database, ['-'], ndjson(...added)),
    command: (...args: string[]) => done(args, { env }),
  };
}

/** The hash of each file, by path. */
const filesOf = (folder: string) =>
  Object.fromEntries(
    readdirSync(join(folder, 'current/files'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name))
      .map((path) => [
        relative(realpathSync(join(folder, 'current/files')), realpathSync(path)),
        sha256(readFileSync(path)),
      ]),
  );

describe(`published from ${storeName()}`, () => {
  test('publishes what the server answers, with a manifest of it', async () => {
    const { database, mediaDir, folder, publish } = await createSite();
    const copy = putCopy(mediaDir, 'a picture');
    const { code, result } = await publish();
    const entries = entriesOf(folder);
    expect([code, result.files, result.tooLong]).toEqual([0, entries.length, 1]);
    const server = await serveHere({ DATABASE_URL: database, MEDIA_DIR: mediaDir });
    for (const { path, address, type, etag, bytes, sha256: sum } of entries) {
      const body = readFileSync(fileOf(folder, path));
      expect([body.length, sha256(body)], path).toEqual([bytes, sum]);
      if (path.startsWith('errors/') || address === PUBLISHED) continue;
      if (address === undefined) {
        expect(gunzipSync(body), path).toEqual(readFileSync(fileOf(folder, path.replace(/\.gz$/, ''))));
        continue;
      }
      const { status, headers } = await ask(server, address, { method: 'HEAD' });
      expect([status, headers['content-type'], headers.etag], address).toEqual([200, type, etag]);
    }
    const paths = entries.map(({ path }) => path);
    expect(paths).toEqual(
      expect.arrayContaining([
        ...['data/a/profile/ada.json', 'data/a/profile/Ada.json', 'data/a/profile/zo%C3%AB.json'],
        ...['data/a/items/ada.json', 'data/a/items/ada.json.gz', 'data/c/items/ada.json'],
        ...['pages/a/Ada.html', 'cards/b/ada.svg', 'previews/b/ada.png', 'feeds/a/ada.atom'],
        ...['feeds/a/ada.jsonfeed', 'archives/a/ada_18.atom', `media/${copy.slice(0, 2)}/${copy}`],
        ...[
          'errors/USER_NOT_FOUND.json',
          'site/index.html',
          'site/openapi.json',
          'site/docs.html',
          'site/embed.js',
        ],
      ]),
    );
  });

  test('a second run writes what changed, and removes who is gone, in both trees', async () => {
    const { database, folder, publish } = await createSite();
    await publish(...QUICK);
    const first = stateOf(folder);
    const readConfiguration = () => readFileSync(join(folder, 'current/nginx.conf'), 'utf8');
    const configuration = readConfiguration();
    expect((await publish(...QUICK)).result).toMatchObject({ written: 0, removed: 0 });
    expect(stateOf(folder)).toEqual(first);
    expect(readConfiguration()).toBe(configuration);

    await importInto(database, ['-'], ndjson(folio(1, 'ada', { name: 'Ada the Second' })));
    expect((await publish('--dry-run', ...QUICK)).result.written).toBeGreaterThan(0);
    expect(stateOf(folder)).toEqual(first);
    await publish(...QUICK);
    const second = stateOf(folder);
    expect(
      changed(first, second).filter(
        (path) => !/^(?:data\/[bc]\/profile|pages|cards|previews|feeds)\/?/.test(path),
      ),
    ).toEqual([]);
    expect(changed(first, second)).toContain('data/b/profile/ada.json');
    expect(changed(first, second).filter((path) => path.includes('/a/'))).toEqual([]);

    await run(['takedown', '--database-url', database, '--family', 'microblog', 'ada']);
    await publish(...QUICK);
    const left = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    expect(left.filter((path) => /\/a\/(?:.*\/)?ada/i.test(path))).toEqual([]);
    expect(left).toContain('trees/0/files/data/a/profile/zo%C3%AB.json');
    expect(left).toContain('trees/1/files/data/a/profile/zo%C3%AB.json');
  });

  /** What happens between two runs. */
  const EVENTS: readonly [string, (site: Awaited<ReturnType<typeof createSite>>) => Promise<unknown>][] = [
    ['a profile changes', ({ load }) => load(blog(1, 'Ada', { name: 'Ada the Second' }))],
    ['an item is added', ({ load }) => load(post(99, 1, { date: '2030-01-01 00:00:00' }))],
    ['an old item changes', ({ load }) => load(post(1, 1, { post_details: 'Another text' }))],
    [
      'an old item is taken down',
      ({ command }) => command('takedown', '--family', 'microblog', '--item', '2'),
    ],
    ['a user changes the spelling', ({ load }) => load(blog(2, 'ZOË'))],
    ['users swap names', ({ load }) => load(blog(1, 'ZOË'), blog(2, 'Ada'))],
    ['a user is renamed', ({ load }) => load(folio(1, 'Bob'))],
    ['a name becomes too long', ({ load }) => load(blog(2, 'y'.repeat(250)))],
    ['a name becomes short', ({ load }) => load(blog(2, 'Eve'))],
    ['a user is added', ({ load }) => load(blog(4, 'ab'), post(200, 4))],
    ['a user is removed', ({ command }) => command('remove', '--family', 'microblog', 'ab')],
    ['a user is taken down', ({ command }) => command('takedown', '--family', 'portfolio', 'bob')],
    [
      'everybody else is removed',
      ({ command }) =>
        command(
          'import',
          tempFile('one.ndjson', ndjson(blog(1, 'Ada'), post(1, 1))),
          '--replace',
          '--max-removed',
          '100%',
        ),
    ],
    ['nothing', async () => {}],
    ['a base URL changes', async ({ env }) => void (env.BASE_URL_A = '/elsewhere')],
  ];
  const ON_SQLITE: typeof EVENTS = [
    ['a snapshot is restored', ({ command, snapshot }) => command('restore', snapshot)],
    [
      'an older file takes its place, and is imported into',
      async ({ load, database, snapshot }) => {
        await load(blog(1, 'Ada', { name: 'Lost' }));
        for (const log of ['-wal', '-shm']) rmSync(database + log, { force: true });
        copyFileSync(snapshot, database);
        await load(blog(9, 'late'));
      },
    ],
  ];
  test('a second run makes what a first one makes, whatever happened in between', async () => {
    const site = await createSite();
    const { folder, publish, env } = site;
    await publish(...QUICK);
    if (storeName() === 'SQLite') await site.command('snapshot', site.snapshot);
    for (const [what, happen] of [...EVENTS, ...(storeName() === 'SQLite' ? ON_SQLITE : [])]) {
      await happen(site);
      expect((await publish(...QUICK)).code, what).toBe(0);
      const other = join(tempFolder(), 'site');
      await done(['publish', other, '--for', 'nginx', ...QUICK], { env });
      expect(filesOf(folder), what).toEqual(filesOf(other));
      expect(entriesOf(folder), what).toEqual(entriesOf(other));
    }
  });
});

// The rest does not depend on the store.
const describeOnSqlite = storeName() === 'SQLite' ? describe : () => {};
describeOnSqlite('the folder', () => {
  test.each([
    [
      'has changed files',
      (folder: string, spare: string) => rmSync(join(folder, 'trees', spare, 'manifest.ndjson')),
    ],
    ['is gone', (folder: string, spare: string) => rmSync(join(folder, 'trees', spare), { recursive: true })],
    [
      'has an own manifest',
      (folder: string, spare: string) => {
        const manifest = join(folder, 'trees', spare, 'manifest.ndjson');
        const text = readFileSync(manifest);
        rmSync(manifest);
        writeFileSync(manifest, text);
      },
    ],
  ])(
    'after a run was killed, and the tree that is not served %s, the next one completes',
    async (_, damage) => {
      const { folder, publish } = await createSite();
      await publish();
      const before = stateOf(folder);
      damage(folder, readlinkSync(join(folder, 'current')).endsWith('0') ? '1' : '0');
      expect((await publish()).result).toMatchObject({ written: 0, removed: 0 });
      expect(stateOf(folder)).toEqual(before);
    },
  );

  test('user names may contain U+2028 and U+2029', async () => {
    const names = ['a\u2028b', 'c\u2029d'];
    const { folder, publish } = await createSite(names.map((name, at) => blog(at + 1, name)));
    await publish(...QUICK);
    expect(await publish(...QUICK)).toMatchObject({ code: 0, result: { written: 0, removed: 0 } });
    expect(entriesOf(folder).map(({ user }) => user)).toEqual(expect.arrayContaining(names));
  });

  const LOST = ['data/a/items/ada.json', 'errors/USER_NOT_FOUND.json'];
  const CUT = ['data/a/items/Ada.json.gz', 'site/index.html'];
  // The first run serves tree 0.
  test.each([['0'], ['1'], ['0', '1']])(
    '--check repairs files that were lost or cut short in tree %s',
    async (...trees) => {
      const { folder, publish } = await createSite();
      await publish(...QUICK);
      for (const tree of trees) {
        for (const path of LOST) rmSync(join(folder, 'trees', tree, 'files', path));
        for (const path of CUT) truncateSync(join(folder, 'trees', tree, 'files', path), 1);
      }
      for (let run = 1; run <= 2; run++) {
        expect((await publish(...QUICK, '--check')).code).toBe(0);
        for (const { path, sha256: sum } of entriesOf(folder))
          expect(sha256(readFileSync(fileOf(folder, path))), path).toBe(sum);
      }
      const [one, other] = ['0', '1'].map((tree) =>
        readdirSync(join(folder, 'trees', tree), { recursive: true }).sort(),
      );
      expect(one).toEqual(other);
    },
  );

  test('looks only at the users who changed, unless settings did', async () => {
    const { folder, env, publish, load } = await createSite();
    await publish(...QUICK);
    const lost = fileOf(folder, 'data/a/items/Ada.json');
    for (const tree of ['0', '1']) rmSync(join(folder, 'trees', tree, 'files/data/a/items/Ada.json'));
    await load(folio(1, 'ada', { name: 'Ada the Second' }));
    await publish(...QUICK);
    expect(existsSync(lost)).toBe(false);
    env.SITE_NAME = 'Another';
    await publish(...QUICK);
    expect(existsSync(lost)).toBe(true);
  });

  test('leaves out parts, and what was published of them', async () => {
    const { folder, publish } = await createSite();
    await publish();
    await publish('--without', 'pages,cards,previews,feeds,media');
    expect(readdirSync(join(folder, 'current/files/data'))).toEqual(['a', 'b', 'c']);
    expect(entriesOf(folder).filter(({ path }) => !/^(?:data|errors|site)\//.test(path))).toEqual([]);
  });

  test.each([
    [['--without', 'everything'], {}, /--without takes pages, cards, previews, feeds, media, not everything/],
    [[], { DIRECTORY: 'on' }, /DIRECTORY must be off/],
    [[], { DATABASE_URL: '' }, /name the database/],
  ])('refuses %s with %s', async (args, env, sentence) => {
    const { database, folder } = await createSite([blog(1, 'ada')]);
    const ran = await run(['publish', folder, '--for', 'nginx', ...args], {
      env: { DATABASE_URL: database, ...env },
    });
    expect([ran.code, ran.stderr]).toEqual([2, expect.stringMatching(sentence)]);
    expect(existsSync(folder)).toBe(false);
  });

  test('refuses a copy that the host does not take, before anything is written', async () => {
    const { mediaDir, folder, publish } = await createSite([blog(1, 'ada')]);
    const copy = putCopy(mediaDir, 'a film');
    const path = `media/${copy.slice(0, 2)}/${copy}`;
    truncateSync(join(mediaDir, copy.slice(0, 2), copy), 25 * 2 ** 20 + 1);
    const errors = [`cloudflare takes files of 25 MiB, and ${path} has 26: publish with --without media`];
    expect(await publish('--for', 'cloudflare')).toMatchObject({ code: 1, errors });
    expect(existsSync(folder)).toBe(false);
    expect((await publish('--for', 'cloudflare', '--without', 'media,previews')).code).toBe(0);
  });

  const SIZE = {
    others: 30,
    parts: new Map([
      ['previews', 20],
      ['pages', 20],
      ['media', 5],
    ] as const),
  };
  test.each([
    [75, /^undefined$/],
    [
      74,
      /^cloudflare takes 74 files, and these are 75: publish with --without feeds,previews, which leaves 55$/,
    ],
    [40, /publish with --without feeds,previews,pages, which leaves 35$/],
    [30, /publish with --without feeds,previews,pages,media, which leaves 30$/],
    [29, /these are 75, 30 of them profiles, lists and what cannot be left out: publish fewer variants/],
  ])('a host that takes %i files says what to leave out', (files, sentence) => {
    const bounds = { host: 'cloudflare', bytesOfFile: 1, without: new Set(['feeds'] as const) } as const;
    const size = { ...SIZE, largest: { path: 'media/00/00.png', bytes: 1 } };
    expect(sentenceOf(() => compareSize({ ...bounds, files, freeFiles: 75 }, size))).toMatch(sentence);
    expect(compareSize({ ...bounds, files: 75, freeFiles: 74 }, size)).toBe(
      'cloudflare takes 74 files on its free plan, these are for a paid one',
    );
  });

  test('of two runs at a time, one is refused', async () => {
    const { publish } = await createSite();
    const codes = (await Promise.all([publish(...QUICK), publish(...QUICK)])).map(({ code }) => code);
    expect(codes.sort()).toEqual([0, 1]);
  });

  test('is refused while a process in any container holds the lock file', async () => {
    const { folder, publish } = await createSite([blog(1, 'ada')]);
    await publish(...QUICK);
    const db = new Database(join(folder, 'trees/lock'));
    db.exec('BEGIN EXCLUSIVE');
    const errors = [`another run publishes to ${folder}: wait for its end`];
    expect(await publish(...QUICK)).toMatchObject({ code: 1, errors });
    db.close();
    expect((await publish(...QUICK)).code).toBe(0);
    expect(readdirSync(join(folder, 'trees')).sort()).toEqual(['0', '1', 'lock']);
  });

  test('ends with a sentence if the data never stops changing', async () => {
    const { database, folder, publish } = await createSite();
    await publish(...QUICK);
    const served = readlinkSync(join(folder, 'current'));
    let isPublishing = true;
    const publishing = publish(...QUICK).finally(() => {
      isPublishing = false;
    });
    const db = new Database(database);
    db.pragma('synchronous = OFF');
    for (; isPublishing; await setImmediate()) db.exec('UPDATE vitrine SET generation = generation + 1');
    db.close();
    const errors = [
      expect.stringMatching(/^the data changed during each of 10 passes: publish again when no/),
    ];
    expect(await publishing).toMatchObject({ code: 1, errors });
    expect(readlinkSync(join(folder, 'current'))).toBe(served);
    expect((await publish(...QUICK)).code).toBe(0);
  });

  test.each<[string, (folder: string) => unknown]>([
    ['current', (folder) => mkdirSync(join(folder, 'current'))],
    ['current', (folder) => symlinkSync('releases/1', join(folder, 'current'))],
    ['current', (folder) => symlinkSync('trees/10', join(folder, 'current'))],
    ['current.next', (folder) => writeFileSync(join(folder, 'current.next'), 'mine')],
    ['trees', (folder) => writeFileSync(join(folder, 'trees'), 'mine')],
    ['trees/oak.txt', (folder) => putMine(join(folder, 'trees/oak.txt'))],
    ['trees/changes', (folder) => putMine(join(folder, 'trees/changes/mine'))],
    ['trees/0', (folder) => putMine(join(folder, 'trees/0'))],
    ['trees/0/mine', (folder) => putMine(join(folder, 'trees/0/mine'))],
    ['trees/1/nginx.conf', (folder) => putMine(join(folder, 'trees/1/nginx.conf/mine'))],
  ])('refuses a folder whose `%s` is not its own, and leaves it as it is', async (path, put) => {
    const { folder, publish } = await createSite([blog(1, 'ada')]);
    mkdirSync(folder);
    put(folder);
    const list = () => readdirSync(folder, { recursive: true }).sort();
    const before = list();
    const errors = [`${join(folder, path)} was not made by \`vitrine publish\`: specify another folder`];
    for (const args of [[], ['--dry-run']])
      expect(await publish(...QUICK, ...args)).toMatchObject({ code: 1, errors });
    expect(list()).toEqual(before);
  });
});

function sentenceOf(act: () => unknown): string {
  try {
    return String(act());
  } catch (error) {
    return (error as Error).message;
  }
}

function putMine(file: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, 'mine');
}
