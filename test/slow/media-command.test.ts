// The commands `media fetch`, `media check` and `mirror --media`, with a database and a folder beside it. What they print
// is in fixtures/cases/media.txt.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mediaPath } from '../../src/records/media-types.ts';
import { tempFolder } from '../files.ts';
import { newPath, readMedia } from '../importing.ts';
import { mirror, portfolio, startFiles } from '../mirror-site.ts';
import { gif, pdf, png, sha256 } from '../pictures.ts';
import { folio, shot } from '../records.ts';
import { databaseOf, done, run } from '../rig.ts';

const FAST = ['--rate', '5000', '--retries', '0'];
const fetchMedia = (database: string, ...more: string[]) =>
  run(['media', 'fetch', '--database-url', database, ...FAST, ...more]);
const checkMedia = (database: string, ...more: string[]) =>
  run(['media', 'check', '--database-url', database, ...more]);

const placeOf = (database: string, name: string) => join(`${database}.media`, mediaPath(name));
const nameOf = (body: Buffer, extension = 'png') => `${sha256(body)}.${extension}`;
const [A, B] = [nameOf(png('a')), nameOf(gif('b'), 'gif')];

async function twoPictures() {
  const host = await startFiles({ '/a': png('a'), '/b': gif('b') });
  const records = [
    folio(1, 'ada', { avatar: `${host.url}/a` }),
    shot(1, 1, { image: `${host.url}/b`, attachment: `${host.url}/zip` }),
  ];
  return { host, database: await databaseOf(...records) };
}

test('media fetch copies pictures beside the database; into another folder, when the site is gone, it forgets none', async () => {
  const { host, database } = await twoPictures();
  const { code, stdout, stderr } = await fetchMedia(database, '--media-hosts', host.host);
  expect([code, stderr, stdout]).toEqual([
    0,
    '',
    'pictures: 2 fetched, 0 already here, 0 gone, 0 failed\n' +
      'copies are named under http://localhost:8080/media (profiles and lists rebuilt: 2)\n',
  ]);
  expect(readFileSync(placeOf(database, A))).toEqual(png('a'));
  const before = await readMedia(database);
  const served = await done(['export', '--media-urls', '--database-url', database]);
  host.close();
  const other = await fetchMedia(
    database,
    '--media-hosts',
    host.host,
    '--media-dir',
    join(tempFolder(), 'other'),
  );
  expect([other.code, other.stderr]).toEqual([1, expect.stringContaining('2 of 2 pictures failed')]);
  expect(await readMedia(database)).toEqual(before);
  expect(await done(['export', '--media-urls', '--database-url', database])).toBe(served);
});

test('media fetch may run several times at once', async () => {
  const pictures = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`/${n}`, png(String(n % 20))]));
  const host = await startFiles(pictures);
  const avatars = Object.keys(pictures).map((path) => host.url + path);
  const records = avatars.map((avatar, n) => folio(n + 1, `user${n}`, { avatar }));
  const database = await databaseOf(...records);
  const runs = await Promise.all([1, 2].map(() => fetchMedia(database, '--media-hosts', host.host)));
  for (const { code, stderr } of runs) expect([code, stderr]).toEqual([0, '']);
  expect((await checkMedia(database)).stdout).toBe('copies: 20 sound, 0 missing, 0 damaged\n');
});

test('media check names what is missing or damaged, which a fetch then brings again', async () => {
  const { host, database } = await twoPictures();
  await fetchMedia(database, '--media-hosts', host.host);
  rmSync(placeOf(database, A));
  writeFileSync(placeOf(database, B), gif('c'));
  const found = await checkMedia(database);
  expect([found.code, found.stdout]).toEqual([1, 'copies: 0 sound, 1 missing, 1 damaged\n']);
  expect(found.stderr).toContain(`${A} is missing: the copy of ${host.url}/a\n`);
  expect(found.stderr).toContain(`${B} is damaged: the copy of ${host.url}/b\n`);
  const removed = await checkMedia(database, '--remove-damaged');
  expect(removed.stderr).toContain('`vitrine media fetch`, fetches them again');
  expect((await fetchMedia(database, '--media-hosts', host.host)).stdout).toMatch(/^pictures: 2 fetched/);
  expect((await checkMedia(database)).code).toBe(0);
});

test("mirror --media brings the pictures of the site's own host and of named ones; without it, none come", async () => {
  const cdn = await startFiles({ '/b': gif('b'), '/c.pdf': pdf() });
  const people: Parameters<typeof portfolio>[0] = {};
  const site = await startFiles({ '/a.png': png('a') }, portfolio(people));
  people.ada = {
    profile: folio(1, 'ada', { avatar: `${site.url}/a.png`, cover_image: 'https://elsewhere.example/x' }),
    shots: { Shots: [shot(1, 1, { image: `${cdn.url}/b`, attachment: `${cdn.url}/c.pdf` })] },
  };
  const database = newPath();
  await mirror(database, 'b', site.url, '--user', 'ada');
  expect(readdirSync(join(database, '..')).filter((name) => name.endsWith('.media'))).toEqual([]);
  const flags = ['--user', 'ada', '--media', '--media-hosts', cdn.host, '--files', '--max-file', '1M'];
  const { code, stdout, stderr } = await mirror(database, 'b', site.url, ...flags);
  expect([code, stderr]).toEqual([0, 'elsewhere.example is not named by --media-hosts\n']);
  expect(stdout).toMatch(/\npictures: 3 fetched, .*1 on hosts that are not named\n/);
  // The command compares the originals on the named host, too.
  expect(stdout).toMatch(new RegExp(`\nto compare both sites.* --user ada --picture-hosts ${cdn.host}\n$`));
  const again = await mirror(database, 'b', site.url, ...flags, '--json');
  expect(JSON.parse(again.stdout).result.media.originals).toMatchObject({
    fetched: 0,
    present: 3,
    notNamed: 1,
  });
  const { entries } = await readMedia(database);
  expect(entries.map(({ file }) => file).sort()).toEqual([A, B, nameOf(pdf(), 'pdf'), null].sort());
});
