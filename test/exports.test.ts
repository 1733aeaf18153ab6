// The exports of other programs under fixtures/exports, imported with the maps that the guide shows.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Raw } from './expected.ts';
import { exported, into, newPath, tally } from './importing.ts';
import { fixture, tempFile } from './rig.ts';

/** A copy of a map: a module remembers what it was given, so each import in this process needs one of its own. */
const mapOf = (name: string) => tempFile('map.mjs', readFileSync(fixture(join('exports', name))));

/** Imports an export with its map, twice; returns the records and what was printed. */
async function importExport(map: string, ...files: string[]) {
  const path = newPath();
  const importWith = () =>
    into(path, [
      ...['--family', 'portfolio', '--map', mapOf(map)],
      ...files.map((file) => fixture(join('exports', file))),
    ]);
  const first = await importWith();
  const again = await importWith();
  const records: Raw[] = (await exported(path)).map((line) => JSON.parse(line));
  return { ...first, again, records, text: JSON.stringify(records) };
}

const items = (records: Raw[]) => records.filter(({ date }) => date !== undefined);

describe.each<[string, string[], string, number]>([
  ['mastodon', ['outbox.json', 'actor.json'], 'posts', 4],
  ['mastodon', ['actor.json', 'outbox.json'], 'posts', 4],
  ['wordpress', ['site.xml'], 'shots', 2],
  ['instagram', ['posts_1.json', 'personal_information.json'], 'shots', 4],
  ['table', ['works.csv', 'people.csv'], 'shots', 3],
])('%s: %j', (name, files, plural, count) => {
  let result: Awaited<ReturnType<typeof importExport>>;
  beforeAll(async () => {
    result = await importExport(`${name}.mjs`, ...files.map((file) => join(name, file)));
  });

  test('is imported without warnings, and once more without changes', () => {
    const { code, stdout, stderr, again } = result;
    expect([code, stderr, tally(stdout, plural)]).toEqual([0, '', [count, 0, 0, 0]]);
    expect(tally(again.stdout, plural)).toEqual([0, 0, count, 0]);
  });

  test('holds nothing that was not public, no HTML and no broken text', () => {
    for (const secret of ['blue pot', 'For followers', 'Not yet', 'boat', 'private.example', '+358', '1990'])
      expect(result.text).not.toContain(secret);
    expect(result.text).not.toMatch(/<\w|&amp;|Ã|â€|undefined|\[object/);
  });

  test('counts the items of each user', () => {
    for (const user of result.records.filter(({ username }) => username !== undefined)) {
      const own = items(result.records).filter((item) => (item.user ?? item.user_id) === user.id);
      expect(own.length).toBeGreaterThan(0);
      if (name !== 'table') expect(Number(user.totalPost ?? user.totalShots)).toBe(own.length);
    }
  });
});

test('Mastodon: texts, pictures, video and content warning', async () => {
  const { records } = await importExport('mastodon.mjs', 'mastodon/outbox.json', 'mastodon/actor.json');
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

test('WordPress: a featured picture that comes after its post, tags, excerpts', async () => {
  const { records } = await importExport('wordpress.mjs', 'wordpress/site.xml');
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

test('Instagram: characters, hashtags, several pictures, video', async () => {
  const { records } = await importExport(
    'instagram.mjs',
    'instagram/posts_1.json',
    'instagram/personal_information.json',
  );
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

test('Instagram: a profile without a photo, and one in another language', async () => {
  const information = JSON.parse(
    readFileSync(fixture('exports/instagram/personal_information.json'), 'utf8'),
  );
  const [profile] = information.profile_user;
  const imported = (changed: object) =>
    into(newPath(), [
      ...['--family', 'portfolio', '--map', mapOf('instagram.mjs')],
      tempFile('personal_information.json', JSON.stringify({ profile_user: [{ ...profile, ...changed }] })),
    ]);
  expect((await imported({ media_map_data: undefined })).code).toBe(0);
  expect((await imported({ string_map_data: { Benutzername: { value: 'mira' } } })).stderr).toMatch(
    /the end function of the map threw: set the language of the account to English, and export again/,
  );
});

test('tables: UUIDs, milliseconds, prices, names with @', async () => {
  const { records } = await importExport('table.mjs', 'table/people.csv', 'table/works.csv');
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
