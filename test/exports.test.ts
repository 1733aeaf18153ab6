// The exports of other programs under fixtures/exports, imported with the maps of the package.
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Raw } from './expected.ts';
import { fixture, ROOT, tempFolder } from './files.ts';
import { exported, into, newPath, tally } from './importing.ts';
import { done } from './rig.ts';

const FILES = 'https://media.example.org/ada/';

/** Imports an export with its map, twice; returns the records and what was printed. */
async function importTwice(map: string, ...files: string[]) {
  const path = newPath();
  const args = ['--family', 'portfolio', '--map', map, '--files-url', FILES.slice(0, -1)];
  const importWith = () => into(path, [...args, ...files.map((file) => fixture(join('exports', file)))]);
  const first = await importWith();
  const again = await importWith();
  const records: Raw[] = (await exported(path)).map((line) => JSON.parse(line));
  return { ...first, again, records, text: JSON.stringify(records) };
}

const TABLE = fixture('exports/table.mjs');

/** The exports, imported once for all tests. */
const EXPORTS: [name: string, map: string, files: string[], plural: string, count: number][] = [
  ['mastodon', 'mastodon', ['mastodon'], 'posts', 4],
  ['wordpress', 'wordpress', ['wordpress/site.xml'], 'shots', 2],
  ['instagram', 'instagram', ['instagram'], 'shots', 4],
  ['twitter', 'twitter', ['twitter'], 'posts', 3],
  ['bluesky', 'bluesky', ['bluesky'], 'posts', 2],
  ['tables', TABLE, ['table/works.csv', 'table/people.csv'], 'shots', 3],
];
const imported = new Map<string, Awaited<ReturnType<typeof importTwice>>>();
beforeAll(async () => {
  for (const [name, map, files] of EXPORTS) imported.set(name, await importTwice(map, ...files));
});
const recordsOf = (name: string) => imported.get(name)?.records ?? [];

const items = (records: Raw[]) => records.filter(({ date }) => date !== undefined);

test.each(EXPORTS)(
  '%s is imported without warnings or what was not public, and once more without changes',
  (name, map, _, plural, count) => {
    const { code, stdout, stderr, again, records, text } = imported.get(name) as Awaited<
      ReturnType<typeof importTwice>
    >;
    expect([code, stderr, tally(stdout, plural)]).toEqual([0, '', [count, 0, 0, 0]]);
    expect(tally(again.stdout, plural)).toEqual([0, 0, count, 0]);
    expect(text).not.toMatch(
      /blue pot|For followers|Not yet|boat|private\.example|\+358|1990|RT @|<\w|&amp;|Ã|â€|undefined|\[object/,
    );
    for (const user of records.filter(({ username }) => username !== undefined)) {
      const own = items(records).filter((item) => (item.user ?? item.user_id) === user.id);
      expect(own.length).toBeGreaterThan(0);
      if (map !== TABLE) expect(Number(user.totalPost ?? user.totalShots)).toBe(own.length);
    }
  },
);

test('Mastodon: texts, pictures, video and content warning', () => {
  const records = recordsOf('mastodon');
  expect(records[0]).toMatchObject({
    username: 'ada',
    bio: 'Cartographer of small places.\nMaps & ferries.',
    avatar: 'https://media.example.org/ada/avatar.jpg',
  });
  expect(records).toContainEqual(
    expect.objectContaining({
      post_details: 'First ice in the inner basin.\n\nThe ferry goes "as long as it goes".',
      photo: 'https://media.example.org/ada/media_attachments/files/109/301/200/original/3f1c9a.jpg',
      date: '2022-11-06 08:02:10',
    }),
  );
  expect(records).toContainEqual(
    expect.objectContaining({
      post_details: 'Long post about printing\n\nThe map is finished.\nEleven islands, four colours.',
      video_url: expect.stringMatching(/9c77aa\.mp4$/),
    }),
  );
});

test('WordPress: a featured picture that comes after its post, tags, excerpts', () => {
  const records = recordsOf('wordpress');
  expect(items(records)).toEqual([
    expect.objectContaining({
      title: 'Ferry timetable – second proof',
      description: 'Three colours on uncoated paper.\n\nTom & I printed it twice.',
      image: 'https://halonen.example/wp-content/uploads/2026/02/timetable.jpg',
      tags: 'type,print',
      date: '2026-02-28 10:00:00',
    }),
    expect.objectContaining({
      title: 'Night signs',
      description: 'Neon, rain and a long exposure.',
      tags: 'night city',
    }),
  ]);
});

test('Instagram: characters, hashtags, several pictures, video', () => {
  const records = recordsOf('instagram');
  expect(records[0]).toMatchObject({
    username: 'mira.draws',
    bio: 'Letters and ferries ⛴️\nHelsinki – Göteborg',
  });
  expect(
    items(records).map(({ title, tags, image, attachment }) => [title, tags, !!image, !!attachment]),
  ).toEqual([
    ['Erstes Eis auf dem See ❄️', 'winter,morgenrot', true, false],
    ['Ferry timetable, second proof', 'type,print', true, false],
    ['The press at work', '', false, true],
    ['', '', true, false],
  ]);
});

describe('Instagram: profiles', () => {
  const information = JSON.parse(
    readFileSync(fixture('exports/instagram/personal_information.json'), 'utf8'),
  );
  const [profile] = information.profile_user;
  const bytes = (text: string) => Buffer.from(text).toString('latin1');
  const unknown = {
    用户名: 'mira.draws',
    姓名: 'Mira Halonen',
    邮箱: 'mira@private.example',
    网站: 'https://halonen.example/',
  };
  const labelled = (texts: Record<string, string>) => ({
    media_map_data: undefined,
    string_map_data: Object.fromEntries(
      Object.entries(texts).map(([label, value]) => [bytes(label), { value: bytes(value) }]),
    ),
  });

  test.each<[what: string, changed: object, more: string[], folder: string, seen: object | string]>([
    [
      'without a photo',
      { media_map_data: undefined },
      [],
      'x',
      { username: 'mira.draws', name: 'Mira Halonen', avatar: '' },
    ],
    [
      'in another language',
      labelled(unknown),
      ['--export-user', 'mira'],
      'x',
      { username: 'mira', name: '', website: 'https://halonen.example/' },
    ],
    [
      'in a folder with its name',
      labelled(unknown),
      [],
      'instagram-mira.draws-2026-02-28-x1',
      { username: 'mira.draws', bio: '' },
    ],
    ['that does not say whose it is', labelled(unknown), [], 'x', 'give --export-user NAME'],
  ])('%s', async (_, changed, more, name, seen) => {
    const folder = join(tempFolder(), name);
    cpSync(fixture('exports/instagram'), folder, { recursive: true });
    writeFileSync(
      join(folder, 'personal_information.json'),
      JSON.stringify({ profile_user: [{ ...profile, ...changed }] }),
    );
    const path = newPath();
    const { stderr } = await into(path, ['--family', 'portfolio', '--map', 'instagram', ...more, folder]);
    if (typeof seen === 'string') return expect(stderr).toContain(seen);
    const lines = await exported(path);
    expect(JSON.parse(lines[0] as string)).toMatchObject(seen);
    expect([lines.length, lines.join().includes('private.example')]).toEqual([5, false]);
  });
});

test('Twitter: links and pictures, texts as they were written, the newest film', () => {
  const records = recordsOf('twitter');
  expect(records[0]).toMatchObject({
    id: '322603863',
    username: 'mira_draws',
    name: 'Mira Halonen ⛴️',
    location: 'Helsinki',
    totalFollowers: '2',
    totalFollowing: '1',
    bio: 'Letters & ferries.\nHelsinki',
    avatar: `${FILES}data/profile_media/322603863-HSLiX96Z.jpg`,
  });
  expect(
    items(records).map(({ id, date, post_details, photo, video_url }) => [
      id,
      date,
      post_details,
      photo || video_url,
    ]),
  ).toEqual([
    ['1593006617125326851', '2025-04-08 14:56:43', '@friend Exactly', ''],
    [
      '1593006617125326848',
      '2022-11-16 21:52:28',
      'First ice < 3 cm & ferries\n\nhttps://halonen.example/ice?a=1&b=2',
      `${FILES}data/tweets_media/1593006617125326848-D9V6hdTXsAAgTGr.jpg`,
    ],
    [
      '1593006617125326849',
      '2022-03-05 22:00:00',
      'The press at work',
      `${FILES}data/tweets_media/1593006617125326849-smtZI8u_MFMb0-ie.mp4`,
    ],
  ]);
});

test('Bluesky: keys from the names of files, whole links, pictures at its own hosts', () => {
  const records = recordsOf('bluesky');
  const did = 'did:plc:ewvi7nxzyoun6zhxrhs64oiz';
  expect(records[0]).toMatchObject({ username: did, name: 'Mira Halonen', totalFollowing: '1' });
  expect(
    items(records).map(({ date, post_details, photo, video_url }) => [
      date,
      post_details,
      photo || video_url,
    ]),
  ).toEqual(
    expect.arrayContaining([
      [
        '2023-04-28 19:31:55',
        'Erstes Eis ❄️ https://halonen.example/ice?a=1&b=2 & more',
        `https://cdn.bsky.app/img/feed_fullsize/plain/${did}/bafkreiiceiceiceiceiceiceiceiceiceiceiceiceiceiceiceiceicey@jpeg`,
      ],
      [
        '2024-09-12 08:00:00',
        'The press at work',
        expect.stringContaining('https://video.bsky.app/watch/did%3Aplc%3A'),
      ],
    ]),
  );
});

test('the maps of the package are those that the help names; without --files-url they leave pictures out', async () => {
  const names = readdirSync(join(ROOT, 'src/maps')).map((file) => file.replace('.mjs', ''));
  expect((await done(['import', '--help'])).replace(/\s+/g, ' ')).toContain(
    names.join(', ').replace(/, (\w+)$/, ' or $1'),
  );
  const { code, stderr } = await into(newPath(), ['--map', 'mastodon', fixture('exports/mastodon')]);
  expect([code, stderr]).toEqual([
    0,
    expect.stringMatching(/^warning: pictures and films left out: \d+: .*--files-url\n$/),
  ]);
});

test('a folder without files of the export', async () => {
  const { code, stderr } = await into(newPath(), ['--map', 'twitter', fixture('exports/wordpress')]);
  expect([code, stderr]).toEqual([1, expect.stringMatching(/wordpress has no files of such an export\n$/)]);
});

test('tables: UUIDs, milliseconds, prices, names with @', () => {
  const records = recordsOf('tables');
  expect(records.map(({ username }) => username).filter(Boolean)).toEqual(['joan', 'tomoko']);
  expect(records).toContainEqual(
    expect.objectContaining({
      title: 'Forn de pa, new sign',
      tags: 'sign,gold leaf',
      image: 'https://files.example.org/works/forn%20de%20pa.jpg',
      date: '2024-02-01 10:00:00',
      price_item: '',
    }),
  );
  expect(records).toContainEqual(expect.objectContaining({ price_item: '199.90' }));
});
