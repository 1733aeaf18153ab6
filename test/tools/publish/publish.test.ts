// `vitrine publish`: what is in the folder, what a second run changes, and what a killed run leaves.

import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { PUBLISHED } from '../../../src/config/addresses.ts';
import { readConfig } from '../../../src/config/config.ts';
import { copyPath, smallName } from '../../../src/records/copy-files.ts';
import { ITEM_CAP } from '../../../src/records/kinds.ts';
import { openArchive, openReader } from '../../../src/stores/open.ts';
import { openAnswers } from '../../../src/tools/publish/answers.ts';
import { runPublish } from '../../../src/tools/publish/publish.ts';
import type { PublishOptions } from '../../../src/tools/publish/run.ts';
import type { SitePart } from '../../../src/tools/publish/targets.ts';
import { openSite } from '../../../src/tools/publish/tree.ts';
import { VARIANT_NAMES, VARIANTS } from '../../../src/variants.ts';
import { beyondLimits, ITEMS, microblogName, portfolioName, USER_IDS } from '../../support/beyond-limits.ts';
import { addRecords, storeName } from '../../support/database.ts';
import { loadedFirst, ndjson, plainFolder, ROOT, tempFile, tempFolder } from '../../support/files.ts';
import { ask, json } from '../../support/http.ts';
import { change, executeSql, saveOriginals } from '../../support/importing.ts';
import { MEDIA_URL, putCopy } from '../../support/media-folder.ts';
import { jpeg, sha256 } from '../../support/pictures.ts';
import { blog, folio, post } from '../../support/records.ts';
import { done, run, spawned } from '../../support/run.ts';
import { serveHere } from '../../support/serve-here.ts';
import {
  COPY,
  createSite,
  entriesOf,
  fileOf,
  filesOf,
  OLD_PICTURE,
  PEOPLE,
  PICTURE,
  type TestSite,
} from './published-site.ts';

const BRIEFLY = 'max-age=5, stale-while-revalidate=0';

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

/** Most of a run's time goes into pages: tests of other things leave them out. */
const NO_PAGES = ['--without', 'pages'];

describe(`published from ${storeName()}`, () => {
  test('publishes what the server answers, with a manifest of it', async () => {
    const { database, mediaDir, folder, publish } = await createSite();
    const copy = putCopy(mediaDir, 'a picture');
    const small = smallName(copy, 480);
    writeFileSync(join(mediaDir, copyPath(small)), 'a small one');
    const { code, result } = await publish();
    const entries = entriesOf(folder);
    expect([code, result.files, result.tooLong]).toEqual([0, entries.length, 1]);
    const server = await serveHere({ DATABASE_URL: database, MEDIA_DIR: mediaDir });
    for (const { path, address, type, etag, bytes, sha256: sum } of entries) {
      const body = readFileSync(fileOf(folder, path));
      expect([body.length, sha256(body)], path).toEqual([bytes, sum]);
      if (address === PUBLISHED) continue;
      if (address === null) {
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
        ...['pages/a/Ada.html', 'items/a/Ada_1.html', expect.stringMatching(/^older.a.ada_..?.html$/)],
        ...[
          ...['cards/b/ada.svg', 'feeds/a/ada.atom', 'feeds/a/ada.jsonfeed'],
          `media/${copyPath(copy)}`,
          `media/${copyPath(small)}`,
        ],
        ...[
          'site/index.html',
          'site/openapi.json',
          'site/docs.html',
          'site/docs.md',
          'site/llms.txt',
          'site/embed.js',
        ],
      ]),
    );
  });

  test('a second run writes what changed, and removes who is gone', async () => {
    const { database, folder, publish } = await createSite([...PEOPLE, blog(4, 'vanishing')]);
    await publish();
    const first = stateOf(folder);
    const readConfiguration = () => readFileSync(join(folder, 'current/nginx.conf'), 'utf8');
    const configuration = readConfiguration();
    expect((await publish()).result).toMatchObject({ written: 0, removed: 0 });
    expect(stateOf(folder)).toEqual(first);
    expect(readConfiguration()).toBe(configuration);

    const path = 'data/b/profile/ada.json';
    const sent = join(tempFolder(), 'sent');
    linkSync(fileOf(folder, path), sent);
    const body = readFileSync(sent, 'utf8');
    await addRecords(database, folio(1, 'ada', { name: 'Ada the Second' }));
    await publish();
    const second = stateOf(folder);
    expect(
      changed(first, second).filter(
        (path) => !/^(?:data\/[a-z]\/profile|pages|items|older|follow|cards|feeds)\/?/.test(path),
      ),
    ).toEqual([]);
    expect(changed(first, second)).toContain(path);
    // A host that is sending the old file goes on.
    expect(readFileSync(sent, 'utf8')).toBe(body);
    expect(changed(first, second).filter((path) => path.includes('/a/'))).toEqual([]);

    await run(['takedown', '--database-url', database, '--family', 'microblog', 'ada', 'vanishing']);
    await publish();
    const left = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    expect(left.filter((path) => /\/a\/(?:.*\/)?(?:ada|vanishing)/i.test(path))).toEqual([]);
    const files = left.map((path) => join(folder, path)).filter((path) => statSync(path).isFile());
    expect(files.filter((file) => /vanishing/i.test(readFileSync(file, 'latin1')))).toEqual([]);
    expect(left.filter((path) => path.endsWith('zo%C3%AB.json')).length).toBeGreaterThan(0);
    expect(readdirSync(join(folder, 'trees')).sort()).toEqual(['0', 'nginx.lock']);
  });
});

/** Makes Node's functions behave as on a file system that ignores letter case. */
const LOWER_CASE = `
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
const lower = (path) =>
  typeof path === 'string' && path.startsWith(process.env.FOLDER)
    ? process.env.FOLDER + path.slice(process.env.FOLDER.length).toLowerCase()
    : path;
for (const name of ['writeFileSync', 'linkSync', 'unlinkSync', 'rmSync', 'statSync', 'mkdirSync', 'existsSync']) {
  const original = fs[name];
  fs[name] = Object.assign((...args) => original(...args.map(lower)), original);
}
syncBuiltinESMExports();`;

const FAILING = `
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
const { FAILS, FAILING_PATHS, FAILING_CODE } = process.env;
const original = fs[FAILS];
fs[FAILS] = (...args) => {
  if (args.some((path) => String(path).includes(FAILING_PATHS)))
    throw Object.assign(new Error('as told'), { code: FAILING_CODE });
  return original(...args);
};
syncBuiltinESMExports();`;

/** Ends as kill -9 does, when a file with this name is written. */
const KILLED = `
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
const original = fs.writeFileSync;
fs.writeFileSync = (path, ...args) => {
  if (String(path).endsWith(process.env.KILLED_AT)) process.kill(process.pid, 'SIGKILL');
  return original(path, ...args);
};
syncBuiltinESMExports();`;

const changeManifest = (folder: string, edit: (text: string) => string) => {
  const file = join(folder, 'current/manifest.ndjson');
  writeFileSync(file, edit(readFileSync(file, 'utf8')));
};

// The rest does not depend on the store.
const describeOnSqlite = storeName() === 'SQLite' ? describe : () => {};
describeOnSqlite('the folder', () => {
  /** Publishes where some function of node:fs fails for some paths. */
  const publishWithout = ({ folder, env }: TestSite, name: string, test: string, code: string) =>
    spawned(['publish', folder, '--for', 'nginx', '--json', ...NO_PAGES], {
      env: {
        ...env,
        NODE_OPTIONS: loadedFirst(FAILING),
        FAILS: name,
        FAILING_PATHS: test,
        FAILING_CODE: code,
      },
    });

  test('a failure after the switch is a warning, and the next run removes the old tree', async () => {
    const site = await createSite(PEOPLE, NO_PAGES);
    const { folder, publish, load } = site;
    await publish();
    await load(folio(1, 'ada', { name: 'New' }));
    const { code, stdout } = await publishWithout(site, 'unlinkSync', '/trees/0/', 'EACCES');
    expect(code).toBe(0);
    expect(json({ body: stdout }).result.warning).toContain(
      'the new files are served, and the next run removes the old ones',
    );
    const path = 'data/b/profile/ada.json';
    expect(readFileSync(fileOf(folder, path), 'utf8')).toContain('New');
    expect(existsSync(join(folder, 'trees/0'))).toBe(true);
    await load(folio(1, 'ada', { name: 'Newer' }));
    expect(await publish()).toMatchObject({ code: 0, stderr: '' });
    expect(readFileSync(fileOf(folder, path), 'utf8')).toContain('Newer');
    expect(readdirSync(join(folder, 'trees')).sort()).toEqual(['0', 'nginx.lock']);
  });

  test.each(['EPERM', 'EMLINK', 'EXDEV', 'ENOTSUP'])(
    'where no hard link can be made (%s), files are copied with their times',
    async (error) => {
      const site = await createSite(PEOPLE, NO_PAGES);
      const { folder, publish, load } = site;
      putCopy(site.mediaDir, 'a picture');
      await publish();
      const before = stateOf(folder);
      await load(folio(1, 'ada', { name: 'New' }));
      expect(await publishWithout(site, 'linkSync', folder, error)).toMatchObject({ code: 0 });
      const timeIn = (state: Record<string, string>, path: string) => Number(state[path]?.split(' ')[1]);
      const after = stateOf(folder);
      const different = Object.keys(after).filter(
        (path) => !(Math.abs(timeIn(after, path) - timeIn(before, path)) < 1),
      );
      expect(
        different.filter((path) => !/^(?:data\/[bc]\/profile|(?:cards|feeds)\/[bc])\//.test(path)),
      ).toEqual([]);
      expect(different).toContain('data/b/profile/ada.json');
      const other = join(plainFolder(), 'site');
      await done(['publish', other, '--for', 'nginx', ...NO_PAGES], { env: site.env });
      expect(filesOf(folder)).toEqual(filesOf(other));
    },
  );

  test.each(['feeds', 'pages', 'feeds,pages'])(
    'a change of an old item is published without %s as well',
    async (without) => {
      const { folder, load, publish, env } = await createSite();
      await publish('--without', without);
      await load(post(1, 1, { post_details: 'Another text' }));
      await publish('--without', without);
      const other = join(plainFolder(), 'site');
      await done(['publish', other, '--for', 'nginx', '--without', without], { env });
      expect(filesOf(folder)).toEqual(filesOf(other));
    },
  );

  test.each<[string, (folder: string, live: string, other: string) => void]>([
    [
      'in the middle',
      (folder, _, other) => {
        mkdirSync(join(folder, 'trees', other, 'files/data'), { recursive: true });
        writeFileSync(join(folder, 'trees', other, 'files/data/left'), '');
        writeFileSync(join(folder, 'trees', other, 'manifest.ndjson'), '{"ow');
      },
    ],
    [
      'before it turned the link',
      (folder, live, other) => {
        cpSync(join(folder, 'trees', live), join(folder, 'trees', other), { recursive: true });
        symlinkSync(join('trees', other), join(folder, 'current.next'));
      },
    ],
    [
      'before it removed the old tree',
      (folder, live, other) => {
        cpSync(join(folder, 'trees', live), join(folder, 'trees', other), { recursive: true });
        rmSync(join(folder, 'trees', other, 'files/data'), { recursive: true });
      },
    ],
  ])('after a run was killed %s, the next one removes what it left', async (_, damage) => {
    const { folder, publish, load } = await createSite(PEOPLE, NO_PAGES);
    await publish();
    const [before, live] = [stateOf(folder), basename(readlinkSync(join(folder, 'current')))];
    damage(folder, live, live === '0' ? '1' : '0');
    expect((await publish()).result).toMatchObject({ written: 0, removed: 0 });
    expect(stateOf(folder)).toEqual(before);
    expect(readdirSync(join(folder, 'trees')).sort()).toEqual([live, 'nginx.lock']);
    await load(blog(1, 'Ada', { name: 'Eve' }));
    expect((await publish()).code).toBe(0);
    expect(readFileSync(fileOf(folder, 'data/a/profile/ada.json'), 'utf8')).toContain('Eve');
  });

  test('a run that is killed in the middle leaves what was served', async () => {
    const site = await createSite(PEOPLE, NO_PAGES);
    const { folder, env, publish, load } = site;
    await publish();
    const before = filesOf(folder);
    await load(blog(1, 'Ada', { name: 'Eve' }), blog(2, 'zoë', { name: 'Eve' }));
    const killing = { ...env, NODE_OPTIONS: loadedFirst(KILLED), KILLED_AT: 'zo%C3%AB.json' };
    expect(
      (await spawned(['publish', folder, '--for', 'nginx', ...NO_PAGES], { env: killing })).code,
    ).not.toBe(0);
    expect(filesOf(folder)).toEqual(before);
    expect(existsSync(join(folder, 'trees/1/files/data/a/profile/ada.json'))).toBe(true);
    expect((await publish()).code).toBe(0);
    const other = join(plainFolder(), 'site');
    await done(['publish', other, '--for', 'nginx', ...NO_PAGES], { env });
    expect(filesOf(folder)).toEqual(filesOf(other));
  });

  test('a first run that is killed leaves nothing behind the next', async () => {
    const { folder, env, publish } = await createSite(PEOPLE, NO_PAGES);
    const killing = { ...env, NODE_OPTIONS: loadedFirst(KILLED), KILLED_AT: 'zo%C3%AB.json' };
    await spawned(['publish', folder, '--for', 'nginx', ...NO_PAGES], { env: killing });
    expect((await publish()).code).toBe(0);
    expect(readdirSync(join(folder, 'trees')).sort()).toEqual(['0', 'nginx.lock']);
  });

  const LOST = ['data/a/items/ada.json', 'site/openapi.json'];
  const CUT = ['data/a/items/Ada.json.gz', 'site/embed.js'];
  test('--check repairs files that were lost or cut short', async () => {
    const { folder, publish } = await createSite(PEOPLE, NO_PAGES);
    await publish();
    for (const path of LOST) rmSync(fileOf(folder, path));
    for (const path of CUT) truncateSync(fileOf(folder, path), 1);
    for (let run = 1; run <= 2; run++) {
      expect((await publish('--check')).code).toBe(0);
      for (const { path, sha256: sum } of entriesOf(folder))
        expect(sha256(readFileSync(fileOf(folder, path))), path).toBe(sum);
    }
  });

  /** In place, with the same size. */
  const damage = (file: string) => {
    const bytes = readFileSync(file);
    writeFileSync(file, bytes.fill('x', 2, 9), { flag: 'r+' });
  };

  test('--check finds wrong bytes in a file of the right size, and mends it', async () => {
    const { folder, publish } = await createSite(PEOPLE, NO_PAGES);
    await publish();
    const sound = filesOf(folder);
    for (const path of ['data/a/items/ada.json', 'data/a/items/ada.json.gz', 'cards/b/ada.svg'])
      damage(fileOf(folder, path));
    expect((await publish()).result.written).toBe(0);
    // With other spellings and compressed forms, which are written together.
    expect((await publish('--check')).result).toMatchObject({ written: 6, removed: 0, damaged: 0 });
    expect(filesOf(folder)).toEqual(sound);
    expect((await publish('--check')).result).toMatchObject({ written: 0, removed: 0 });
    expect(filesOf(folder)).toEqual(sound);
  });

  test('a copy of a picture that is damaged is left out until it is mended', async () => {
    const { folder, publish, mediaDir, env } = await createSite([folio(1, 'ada')], NO_PAGES);
    const path = `media/${copyPath(putCopy(mediaDir, 'a picture'))}`;
    const copy = join(mediaDir, copyPath(COPY));
    await publish();
    // The published file is the same one.
    damage(copy);
    const { code, result } = await publish('--check');
    expect([code, result]).toEqual([0, expect.objectContaining({ written: 0, removed: 1, damaged: 1 })]);
    expect(existsSync(fileOf(folder, path))).toBe(false);
    const { stdout } = await run(['publish', folder, '--for', 'nginx', ...NO_PAGES], { env });
    expect(stdout).toContain('\nleft out: 1 damaged picture. `vitrine media check` says how');
    expect((await publish()).result).toMatchObject({ written: 0, damaged: 1 });
    writeFileSync(copy, 'a picture');
    expect((await publish()).result).toMatchObject({ written: 1, damaged: 0 });
    expect(readFileSync(fileOf(folder, path), 'utf8')).toBe('a picture');
  });

  test('settings that shape no file change none, others change what they shape', async () => {
    const { folder, env, publish } = await createSite(PEOPLE, NO_PAGES);
    await publish();
    const first = stateOf(folder);
    Object.assign(env, { LOG_LEVEL: 'debug', RATE_LIMIT: '9/1m' });
    expect((await publish()).result).toMatchObject({ written: 0, removed: 0 });
    expect(stateOf(folder)).toEqual(first);
    // The headers of files are in the configuration.
    env.CACHE_CONTROL = 'no-cache';
    expect((await publish()).result).toMatchObject({ written: 0, removed: 0 });
    expect(readFileSync(join(folder, 'current/nginx.conf'), 'utf8')).toContain('"no-cache"');
    expect(stateOf(folder)).toEqual(first);
    env.SITE_LANGUAGE = 'de';
    expect((await publish()).code).toBe(0);
    const different = changed(first, stateOf(folder));
    expect(different).toEqual(expect.arrayContaining(['feeds/a/ada.atom', 'cards/b/ada.svg']));
    expect(different.filter((path) => path.startsWith('data/'))).toEqual([]);
  });

  test('after copies are linked, only the files of users who name them change', async () => {
    const { database, folder, env, publish } = await createSite();
    env.MEDIA_URL = MEDIA_URL;
    await publish();
    const first = stateOf(folder);
    await saveOriginals(database, [
      { url: PICTURE, file: COPY, bytes: 9, reason: null },
      { url: OLD_PICTURE, file: COPY, bytes: 9, reason: null },
    ]);
    await change(database, (writer) => writer.relink(MEDIA_URL));
    expect((await publish()).code).toBe(0);
    for (const path of ['data/b/profile/ada.json', 'items/a/Ada_3.html'])
      expect(readFileSync(fileOf(folder, path), 'utf8'), path).toContain(`${MEDIA_URL}/${COPY}`);
    const different = changed(first, stateOf(folder));
    expect(different).toContain('items/a/Ada_3.html');
    expect(different.filter((path) => /zo%C3%AB|Ada_2\.html/.test(path))).toEqual([]);
  });

  test('after a takedown, the files of users who are here stay', async () => {
    const gone = 'someone';
    const { folder, mediaDir, publish, load, command } = await createSite([
      ...PEOPLE,
      blog(4, gone),
      folio(4, gone),
    ]);
    const picture = `media/${copyPath(putCopy(mediaDir, 'a picture'))}`;
    await publish();
    const first = stateOf(folder);
    await load(folio(1, 'ada', { name: 'Ada the Second' }));
    await command('takedown', '--family', 'microblog', gone);
    await command('takedown', '--family', 'microblog', '--item', '3');
    rmSync(join(mediaDir, copyPath(COPY)));
    expect((await publish()).code).toBe(0);
    expect(readFileSync(fileOf(folder, 'data/b/profile/ada.json'), 'utf8')).toContain('Ada the Second');
    const paths = entriesOf(folder).map(({ path }) => path);
    expect(paths.filter((path) => path.includes('/a/') && path.includes(gone))).toEqual([]);
    expect(paths).toContain(`data/b/profile/${gone}.json`);
    expect(paths).not.toContain('items/a/Ada_3.html');
    expect(paths).not.toContain(picture);
    expect(existsSync(fileOf(folder, picture))).toBe(false);
    const different = changed(first, stateOf(folder));
    expect(different.filter((path) => /zo%C3%AB|Ada_20\.html|\/b\/.*someone/.test(path))).toEqual([]);
  });

  test('of 201 users in each family, on two hosts, each is published in every spelling', async () => {
    const { env, folder, publish } = await createSite(beyondLimits(), ['--without', 'pages,cards,feeds']);
    Object.assign(env, {
      BASE_URL_A: 'https://a.example',
      BASE_URL_B: 'https://b.example/b',
      BASE_URL_C: 'https://b.example/c',
    });
    await publish();
    const entries = entriesOf(folder);
    const published = entries.flatMap(({ path, host, address }) =>
      path.startsWith('data/') && address !== null ? [`${host}${address}`] : [],
    );
    const inPath = (base: string, name: string) =>
      ['', '/shots'].map((end) => `b.example/${base}/api/username/${name}${end}`);
    const expected = USER_IDS.flatMap((id) => [
      ...['', '&post=true'].map((end) => `a.example/api/?user=${microblogName(id)}${end}`),
      // The key of the name is its spelling in the other family.
      ...['b', 'c'].flatMap((base) => [
        ...inPath(base, portfolioName(id)),
        ...inPath(base, microblogName(id)),
      ]),
    ]);
    expect(published.sort()).toEqual(expected.sort());
    const lists = ['a', 'b', 'c'].map((variant) =>
      JSON.parse(readFileSync(fileOf(folder, `data/${variant}/items/${microblogName(1)}.json`), 'utf8')),
    );
    const newest = Array.from({ length: ITEM_CAP }, (_, nth) => ({ id: String(ITEMS - nth) }));
    expect(lists).toMatchObject([{ posts: newest }, { Shots: newest }, { Posts: newest }]);
  });

  test('of 401 users in each family, all are published, and later those who changed', async () => {
    const name = (id: number) => `user${id}`;
    const ids = Array.from({ length: 401 }, (_, at) => at + 1);
    const { folder, publish, load, command } = await createSite(
      ids.flatMap((id) => [blog(id, name(id)), folio(id, name(id))]),
      ['--without', 'pages,cards,feeds'],
    );
    const listUsers = (variant: string) =>
      entriesOf(folder).flatMap(({ path }) => {
        const [, user = ''] = new RegExp(`^data/${variant}/profile/(.*)\\.json$`).exec(path) ?? [];
        return user === '' ? [] : [user];
      });
    await publish();
    for (const variant of VARIANT_NAMES) expect(listUsers(variant).sort()).toEqual(ids.map(name).sort());
    const first = stateOf(folder);
    // The last in the order of names, and one who is gone in the midst.
    await load(blog(99, 'user99', { name: 'Changed' }), folio(99, 'zzz'));
    await command('remove', '--family', 'microblog', 'user200');
    expect((await publish()).code).toBe(0);
    expect(changed(first, stateOf(folder)).sort()).toEqual(
      [
        ...['data/a/items/user200.json', 'data/a/profile/user200.json', 'data/a/profile/user99.json'],
        ...['b', 'c'].flatMap((variant) =>
          ['items', 'profile'].flatMap((lookup) =>
            ['user99', 'zzz'].map((user) => `data/${variant}/${lookup}/${user}.json`),
          ),
        ),
      ].sort(),
    );
  });

  test('a 404 is cached as long as the server says, other errors are not cached', async () => {
    const { folder, publish, env } = await createSite([blog(1, 'ada')], NO_PAGES);
    await publish();
    const nginx = readFileSync(join(folder, 'current/nginx.conf'), 'utf8');
    const text = async (platform: string, file: string) => {
      const other = join(plainFolder(), 'site');
      await done(['publish', other, '--for', platform, ...NO_PAGES], { env });
      return readFileSync(join(other, 'current', file), 'utf8');
    };
    const [, site = ''] = /^const SITE = (.*);$/m.exec(await text('cloudflare', 'worker.js')) ?? [];
    const errors = Object.entries<{ status: number; headers: object }>(JSON.parse(site).errors);
    expect(errors.map(([, { status }]) => status)).toEqual(expect.arrayContaining([400, 404]));
    for (const [code, { status, headers }] of errors) {
      const [caching, wrong] = status === 404 ? [BRIEFLY, 'no-store'] : ['no-store', BRIEFLY];
      expect(headers, code).toMatchObject({ 'cache-control': caching });
      expect(nginx).not.toContain(`    ${code} "${wrong}";\n`);
    }
    expect(nginx).toContain(`    USER_NOT_FOUND "${BRIEFLY}";\n`);
  });

  test('a run that stops behind the switch says so, and the next removes the old tree', async () => {
    const { folder, publish, load, env } = await createSite(PEOPLE, NO_PAGES);
    await publish();
    await load(blog(1, 'Ada', { name: 'Eve' }));
    const stopping = new AbortController();
    // The new files are served once the link is turned.
    const watching = watch(
      folder,
      () => readlinkSync(join(folder, 'current')).endsWith('1') && stopping.abort(),
    );
    const stopped = await run(['publish', folder, '--for', 'nginx', ...NO_PAGES], {
      env,
      signal: stopping.signal,
    });
    watching.close();
    expect([stopped.code, stopped.stderr]).toEqual([
      1,
      expect.stringMatching(
        /^vitrine: stopped: the new files are served, and the next run removes the old ones$/m,
      ),
    ]);
    expect((await publish()).result).toMatchObject({ written: 0, removed: 0 });
    expect(readdirSync(join(folder, 'trees')).sort()).toEqual(['1', 'nginx.lock']);
  });

  test('leaves out parts, and what was published of them', async () => {
    const { folder, publish } = await createSite();
    await publish();
    await publish('--without', 'pages,cards,feeds,media');
    expect(readdirSync(join(folder, 'current/files/data'))).toEqual(VARIANT_NAMES);
    expect(existsSync(fileOf(folder, 'site/index.html'))).toBe(false);
    expect(readFileSync(join(folder, 'current/nginx.conf'), 'utf8')).not.toMatch(/people|card|feeds/);
    expect(entriesOf(folder).filter(({ path }) => !/^(?:data|site)\//.test(path))).toEqual([]);
  });

  test('is refused while a process in any container holds the manifest', async () => {
    const { folder, publish } = await createSite([blog(1, 'ada')], NO_PAGES);
    await publish();
    const file = join(folder, 'trees/nginx.lock');
    const db = new Database(file);
    db.exec('BEGIN EXCLUSIVE');
    const errors = [`another run publishes there: wait for its end (${file})`];
    expect(await publish()).toMatchObject({ code: 1, errors });
    db.close();
    expect((await publish()).code).toBe(0);
    expect(readdirSync(join(folder, 'trees')).sort()).toEqual(['0', 'nginx.lock']);
  });

  test('ends with a sentence if the data never stops changing', async () => {
    const site = await createSite([blog(1, 'ada')], NO_PAGES);
    const { database, folder, publish } = site;
    await publish();
    const served = readlinkSync(join(folder, 'current'));
    const change = () => executeSql(database, 'UPDATE vitrine SET generation = generation + 1');
    await expect(publishHere(site, () => {}, { check: true }, change)).rejects.toThrow(
      'the data changed during each of 10 passes: publish again when no import is running',
    );
    expect(readlinkSync(join(folder, 'current'))).toBe(served);
    expect((await publish()).code).toBe(0);
  });

  /**
   * Publishes in this process, without pages. `atOpening` is called before the data is opened to list what changed,
   * `onListed` after.
   */
  async function publishHere(
    { env, folder }: TestSite,
    atOpening: () => void,
    more: Partial<PublishOptions> = {},
    onListed: () => void = () => {},
  ) {
    let openings = 0;
    const config = { ...readConfig({}, env), databaseUrl: env.DATABASE_URL as string };
    const { signal } = new AbortController();
    const options = {
      folder,
      platform: 'nginx',
      without: new Set<SitePart>(['pages']),
      check: false,
    } as const;
    return runPublish({ ...options, config, out: { write() {} }, signal, ...more }, async (url) => {
      if (++openings === 1) atOpening();
      const archive = await openArchive(url);
      const changes: typeof archive.changes = async (...args) => {
        const listed = await archive.changes(...args);
        onListed();
        return listed;
      };
      return { ...archive, changes };
    });
  }

  // At once, as another process does: without a turn of the event loop.
  const atOnce = (env: Record<string, string>, ...args: string[]) =>
    expect(spawnSync(process.execPath, [join(ROOT, 'src/vitrine.js'), ...args], { env }).status).toBe(0);

  test.each([
    ['a takedown', false, ['takedown', '--family', 'microblog', 'ada']],
    ['an import', false, ['import', tempFile('new.ndjson', ndjson(blog(1, 'Ada', { name: 'New' })))]],
    [
      'an import, with --check',
      true,
      ['import', tempFile('new.ndjson', ndjson(folio(1, 'ada', { name: 'New' })))],
    ],
  ])('what %s commits while a run begins is in all of its files', async (_, check, args) => {
    const site = await createSite(PEOPLE, NO_PAGES);
    const { folder, publish, load, env } = site;
    await publish();
    await load(blog(1, 'Ada', { name: 'Another' }), blog(2, 'zoë', { name: 'Another' }));
    await publishHere(site, () => atOnce(env, ...args), { check });
    const other = join(plainFolder(), 'site');
    await done(['publish', other, '--for', 'nginx', ...NO_PAGES], { env });
    expect(filesOf(folder)).toEqual(filesOf(other));
  });

  test('a signal ends a run: earlier files are served, new ones do not count', async () => {
    const site = await createSite(PEOPLE, NO_PAGES);
    await site.publish();
    const [before, served] = [filesOf(site.folder), readlinkSync(join(site.folder, 'current'))];
    await site.load(blog(1, 'Ada', { name: 'Eve' }));
    const stop = new AbortController();
    const written = join(site.folder, 'trees/1/files/data/a/profile/ada.json');
    const stopThen = () => (existsSync(written) ? stop.abort() : void setImmediate(stopThen));
    const sentence = 'stopped: what was published before is served on';
    await expect(publishHere(site, stopThen, { signal: stop.signal })).rejects.toThrow(sentence);
    expect(readlinkSync(join(site.folder, 'current'))).toBe(served);
    await site.load(blog(1, 'Ada', { name: 'Ada' }));
    expect((await site.publish()).code).toBe(0);
    expect(filesOf(site.folder)).toEqual(before);
  });

  test('a signal ends a run that removes what another has left', async () => {
    const { folder, publish } = await createSite(PEOPLE, NO_PAGES);
    await publish();
    cpSync(join(folder, 'trees/0'), join(folder, 'trees/1'), { recursive: true });
    const list = () => readdirSync(join(folder, 'trees/1'), { recursive: true }).sort();
    const left = list();
    await expect(openSite(folder, 'nginx', AbortSignal.abort())).rejects.toThrow('stopped');
    expect(list()).toEqual(left);
    expect((await publish()).code).toBe(0);
    expect(existsSync(join(folder, 'trees/1'))).toBe(false);
  });

  test('ends if an answer whose headers stand for others is an error', async () => {
    const { folder, publish } = await createSite([blog(1, 'ada')], NO_PAGES);
    await publish();
    const files = stateOf(folder);
    changeManifest(folder, (text) => text.replace(/"address":"\/a\/[^"]*"/, '"address":"/a/gone"'));
    const errors = ['/a/gone was answered with 404: publish again'];
    expect(await publish()).toMatchObject({ code: 1, errors });
    expect(stateOf(folder)).toEqual(files);
    expect((await publish('--check')).code).toBe(0);
  });

  test('ends if the names that pages begin with cannot be read', async () => {
    const { database } = await createSite();
    await using reader = await openReader(database);
    const firstUsers = () => Promise.reject(new Error('a read failed'));
    const config = { ...readConfig(), databaseUrl: database };
    const opened = openAnswers({ config, platform: 'nginx' }, { ...reader, firstUsers });
    // Which files there are is found by asking for each.
    await expect(opened).rejects.toThrow('a read failed');
  });

  test('what lacks a picture is incomplete, and written again by the next run', async () => {
    const body = jpeg('a picture');
    const avatar = `https://media.example/${sha256(body)}.jpg`;
    const { env, folder, mediaDir, publish } = await createSite([folio(1, 'ada', { avatar })], NO_PAGES);
    env.MEDIA_URL = 'https://media.example';
    const readCard = () => readFileSync(fileOf(folder, 'cards/b/ada.svg'), 'utf8');
    const cards = VARIANT_NAMES.filter((name) => VARIANTS[name].family === 'portfolio');
    expect((await publish()).result.incomplete).toBe(cards.length);
    expect(readCard()).not.toMatch('data:image');
    putCopy(mediaDir, body);
    expect((await publish()).result.incomplete).toBe(0);
    expect(readCard()).toMatch('data:image');
  });

  test('a file system may ignore letter case', async () => {
    const { folder, env, load } = await createSite([blog(1, 'ada'), post(1, 1)]);
    const inLowerCase = { ...env, NODE_OPTIONS: loadedFirst(LOWER_CASE), FOLDER: folder };
    const publish = () => spawned(['publish', folder, '--for', 'nginx', ...NO_PAGES], { env: inLowerCase });
    for (const name of ['Ada', 'ADA']) {
      await load(blog(1, name));
      expect(await publish()).toMatchObject({ code: 0 });
      expect(readFileSync(fileOf(folder, 'data/a/profile/ada.json'), 'utf8')).toMatch(name);
    }
  });

  test('names may have what ends lines elsewhere, and come in the order of bytes', async () => {
    // In UTF-16, the second is before the first.
    const names = ['\ufffdx', '\u{1f600}x', 'line\u2028break', 'plain'];
    const { folder, publish, load } = await createSite(
      names.map((name, at) => blog(at + 1, name)),
      NO_PAGES,
    );
    await publish();
    const first = stateOf(folder);
    await load(blog(9, 'last'));
    const paths = VARIANT_NAMES.flatMap((variant) =>
      VARIANTS[variant].family === 'microblog' ? [variant] : [],
    );
    expect((await publish()).result).toMatchObject({ removed: 0 });
    const different = changed(first, stateOf(folder));
    expect(different.filter((path) => !path.includes('last') && !path.startsWith('site/'))).toEqual([]);
    expect(different).toEqual(
      expect.arrayContaining(paths.map((variant) => `data/${variant}/profile/last.json`)),
    );
  });

  test('a manifest that cannot be read is named', async () => {
    const { folder, publish } = await createSite(PEOPLE, NO_PAGES);
    await publish();
    const file = join(folder, 'current/manifest.ndjson');
    truncateSync(file, 99);
    const errors = [expect.stringMatching(/manifest\.ndjson is damaged: remove it, and publish again$/)];
    expect(await publish()).toMatchObject({ code: 1, errors });
    rmSync(file);
    expect((await publish()).code).toBe(0);
    expect(entriesOf(folder).length).toBeGreaterThan(9);
  });

  test('does not touch a folder with foreign files, or one for another host', async () => {
    const { folder, publish } = await createSite([blog(1, 'ada')], NO_PAGES);
    const list = () => readdirSync(folder, { recursive: true }).sort();
    const refuse = async (host: string) => {
      const before = list();
      const errors = [
        `${folder} has files that \`vitrine publish --for ${host}\` did not make: specify another folder`,
      ];
      expect(await publish('--for', host)).toMatchObject({ code: 1, errors });
      expect(list()).toEqual(before);
    };
    mkdirSync(join(folder, 'trees/0'), { recursive: true });
    await refuse('nginx');
    rmSync(join(folder, 'trees/0'), { recursive: true });
    // A run made this that could not open its manifest.
    expect((await publish()).code).toBe(0);
    await refuse('cloudflare');
  });
});
