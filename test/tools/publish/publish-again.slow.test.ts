// `vitrine publish`: a second run makes what a first one makes, whatever happened in between. Every event is published twice.
import { copyFileSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { storeName } from '../../support/database.ts';
import { ndjson, plainFolder, tempFile } from '../../support/files.ts';
import { change, saveOriginals } from '../../support/importing.ts';
import { MEDIA_URL, putCopy } from '../../support/media-folder.ts';
import { blog, folio, post } from '../../support/records.ts';
import { done } from '../../support/run.ts';
import {
  COPY,
  createSite,
  entriesOf,
  fileOf,
  filesOf,
  OLD_PICTURE,
  PICTURE,
  type TestSite,
} from './published-site.ts';

/** What happens between two runs; what happens at once is of different users. */
const EVENTS: readonly [string, (site: TestSite) => Promise<unknown>][] = [
  [
    'a picture is measured, which changes no record, and an old item changes',
    async ({ database, load }) => {
      const facts = { width: 800, height: 600, color: 'aabbcc', small: [{ width: 480 }] };
      await change(database, (writer) => writer.saveFacts(COPY, facts));
      await load(post(1, 1, { post_details: 'Another text' }));
    },
  ],
  [
    'a copy is linked that only an old item names',
    async ({ database, mediaDir }) => {
      const copy = putCopy(mediaDir, 'an old picture');
      await saveOriginals(database, [{ url: OLD_PICTURE, file: copy, bytes: 14, reason: null }]);
      await change(database, (writer) => writer.relink(MEDIA_URL));
    },
  ],
  [
    'a profile changes, and a user is renamed',
    ({ load }) => load(blog(1, 'Ada', { name: 'Ada the Second' }), folio(1, 'Bob')),
  ],
  [
    'an item is added, and a user changes the spelling',
    ({ load }) => load(post(99, 1, { date: '2030-01-01 00:00:00' }), blog(2, 'ZOË')),
  ],
  [
    'an old item and a user are taken down',
    async ({ command }) => {
      await command('takedown', '--family', 'microblog', '--item', '2');
      await command('takedown', '--family', 'portfolio', 'bob');
    },
  ],
  ['users swap names', ({ load }) => load(blog(1, 'ZOË'), blog(2, 'Ada'))],
  [
    'a name becomes too long, and a user is added',
    ({ load }) => load(blog(2, 'y'.repeat(250)), blog(4, 'ab'), post(200, 4)),
  ],
  [
    'a name becomes short, and a user is removed',
    async ({ load, command }) => {
      await load(blog(2, 'Eve'));
      await command('remove', '--family', 'microblog', 'ab');
    },
  ],
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
];
const ON_SQLITE: typeof EVENTS = [
  ['a base URL changes', async ({ env }) => void Object.assign(env, { BASE_URL_A: '/elsewhere' })],
  [
    'a base URL gets a host of its own',
    async ({ env }) => void Object.assign(env, { BASE_URL_B: 'https://b.example/b' }),
  ],
  [
    'that host changes',
    async ({ env }) => void Object.assign(env, { BASE_URL_B: 'https://other.example/b' }),
  ],
  ['the look changes', async ({ env }) => void Object.assign(env, { ACCENT: '#800000', SITE_NAME: 'Us' })],
  ['pages go', async ({ env }) => void Object.assign(env, { EXPLORER: 'off' })],
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

describe(`published again from ${storeName()}`, () => {
  test('a second run makes what a first one makes, whatever happened in between', async () => {
    const site = await createSite();
    const { folder, publish, env, database, mediaDir } = site;
    env.MEDIA_URL = MEDIA_URL;
    // Of what lacks its file, everything is looked at again.
    putCopy(mediaDir, 'a picture');
    await saveOriginals(database, [{ url: PICTURE, file: COPY, bytes: 9, reason: null }]);
    expect(await change(database, (writer) => writer.relink(MEDIA_URL))).toBe(1);
    await publish();
    if (storeName() === 'SQLite') await site.command('snapshot', site.snapshot);
    for (const [what, happen] of [...EVENTS, ...(storeName() === 'SQLite' ? ON_SQLITE : [])]) {
      await happen(site);
      expect((await publish()).code, what).toBe(0);
      const other = join(plainFolder(), 'site');
      await done(['publish', other, '--for', 'nginx'], { env });
      expect(filesOf(folder), what).toEqual(filesOf(other));
      expect(entriesOf(folder), what).toEqual(entriesOf(other));
    }
  });

  test('of a user with 1,100 items, the links of all pages lead to published ones', async () => {
    const ids = Array.from({ length: 1100 }, (_, at) => at + 1);
    const items = ids.map((id) => post(id, 1, { post_details: 'A text of some length. '.repeat(10) }));
    const { folder, publish } = await createSite([blog(1, 'ada'), ...items], ['--without', 'cards,feeds']);
    await publish();
    const entries = entriesOf(folder);
    const files = new Map(entries.map(({ path }) => [path, fileOf(folder, path)]));
    // Each is made, and counted, once.
    expect(files.size).toBe(entries.length);
    const linked = [...files].flatMap(([path, file]) => {
      if (!/^(?:pages|older)\//.test(path)) return [];
      return [...readFileSync(file, 'utf8').matchAll(/\?before=(\d+)/g)].map(
        ([, id]) => `older/a/ada_${id}.html`,
      );
    });
    const older = [...files.keys()].filter((path) => /^older\/.*\.html$/.test(path));
    expect(older.length).toBeGreaterThan(10);
    expect(new Set(linked)).toEqual(new Set(older));
    expect([...files.keys()].filter((path) => /^items\/.*\.html$/.test(path)).length).toBe(1100);
  });
});
