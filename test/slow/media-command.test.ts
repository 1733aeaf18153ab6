// The commands `media fetch`, `media check` and `mirror --media`, with a database and a folder beside it.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { mediaPath } from '../../src/records/media-types.ts';
import { readMedia } from '../importing.ts';
import { mirror, portfolio, startSite } from '../mirror-site.ts';
import { gif, pdf, png, sha256 } from '../pictures.ts';
import { folio, shot } from '../records.ts';
import { databaseOf, done, ndjson, run, tempFile, tempFolder } from '../rig.ts';

const FAST = ['--rate', '5000', '--retries', '0'];

const startPictures = async (pictures: Record<string, Buffer>) => {
  const site = await startSite(({ url = '' }, response) => {
    const body = pictures[url];
    if (body === undefined) response.writeHead(404).end();
    else response.end(body);
  });
  return { ...site, host: new URL(site.url).host };
};

const fetchMedia = (database: string, ...more: string[]) =>
  run(['media', 'fetch', '--database-url', database, ...FAST, ...more]);
const checkMedia = (database: string, ...more: string[]) =>
  run(['media', 'check', '--database-url', database, ...more]);

const placeOf = (database: string, name: string) => join(`${database}.media`, mediaPath(name));
const nameOf = (body: Buffer, extension = 'png') => `${sha256(body)}.${extension}`;

async function twoPictures() {
  const host = await startPictures({ '/a': png('a'), '/b': gif('b') });
  const records = [
    folio(1, 'ada', { avatar: `${host.url}/a` }),
    shot(1, 1, { image: `${host.url}/b`, attachment: `${host.url}/zip` }),
  ];
  return { host, database: await databaseOf(tempFile('site.ndjson', ndjson(...records))) };
}

describe('media fetch', () => {
  test('into another folder, when the site is gone, does not forget which copies there are', async () => {
    const { host, database } = await twoPictures();
    await fetchMedia(database, '--media-hosts', host.host);
    const before = await readMedia(database);
    const served = await done(['export', '--media-urls', '--database-url', database]);
    await host.close();
    const other = ['--media-hosts', host.host, '--media-dir', join(tempFolder(), 'other')];
    const { code, stderr } = await fetchMedia(database, ...other);
    expect([code, stderr]).toEqual([1, expect.stringContaining('2 of 2 pictures failed')]);
    expect(await readMedia(database)).toEqual(before);
    expect(await done(['export', '--media-urls', '--database-url', database])).toBe(served);
  });

  test('copies pictures into the folder beside the database, and names them in what is served', async () => {
    const { host, database } = await twoPictures();
    const { code, stdout, stderr } = await fetchMedia(database, '--media-hosts', host.host);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^pictures: 2 fetched, 0 already here, 0 gone, 0 failed\n/);
    expect(readFileSync(placeOf(database, nameOf(png('a'))))).toEqual(png('a'));
    const { entries, mediaUrl } = await readMedia(database);
    expect(entries).toEqual([
      { url: `${host.url}/a`, file: nameOf(png('a')), bytes: png('a').length, reason: null },
      { url: `${host.url}/b`, file: nameOf(gif('b'), 'gif'), bytes: gif('b').length, reason: null },
    ]);
    expect(mediaUrl).toBe('http://localhost:8080/media');
    expect(stdout).toContain(
      'copies are named under http://localhost:8080/media (profiles and lists rebuilt: 2)',
    );
    expect(await done(['export', '--database-url', database])).toContain(`${host.url}/a`);
  });

  test('keeps the address that copies are linked with, unless MEDIA_URL is set', async () => {
    const { host, database } = await twoPictures();
    const urls: (string | undefined)[] = [];
    for (const more of [
      ['--media-url', 'https://one.example/media'],
      [],
      ['--media-url', 'https://two.example/m'],
    ]) {
      expect((await fetchMedia(database, '--media-hosts', host.host, ...more)).code).toBe(0);
      urls.push((await readMedia(database)).mediaUrl);
    }
    expect(urls).toEqual(['https://one.example/media', 'https://one.example/media', 'https://two.example/m']);
    expect(host.asked.sort()).toEqual(['/a', '/b']);
  });

  test('may run several times at once', async () => {
    const pictures = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`/${n}`, png(String(n % 20))]));
    const host = await startPictures(pictures);
    const records = Object.keys(pictures).map((path, n) =>
      folio(n + 1, `user${n}`, { avatar: host.url + path }),
    );
    const database = await databaseOf(tempFile('site.ndjson', ndjson(...records)));
    const runs = await Promise.all([1, 2].map(() => fetchMedia(database, '--media-hosts', host.host)));
    expect(runs.map(({ code, stderr }) => [code, stderr])).toEqual([
      [0, ''],
      [0, ''],
    ]);
    expect((await checkMedia(database)).stdout).toBe('copies: 20 sound, 0 missing, 0 damaged\n');
  });

  test.each([
    [[], 1, 'no host may be asked: name hosts with --media-hosts'],
    [['--media-hosts', 'http://x/y'], 2, '--media-hosts takes HOST or HOST:PORT'],
    [['--max-file', 'large'], 2, 'must be a number of bytes'],
    [['--placeholder', 'abc'], 2, 'SHA-256'],
    [['--media-dir', '/dev/null'], 1, '/dev/null'],
  ])('with %j fails with a sentence', async (flags, code, words) => {
    const { database } = await twoPictures();
    const ran = await fetchMedia(database, ...flags);
    expect([ran.code, ran.stderr]).toEqual([code, expect.stringContaining(words)]);
  });

  test('with PostgreSQL needs a folder', async () => {
    const { code, stderr } = await fetchMedia('postgres://127.0.0.1:1/none');
    expect([code, stderr]).toEqual([2, expect.stringContaining('MEDIA_DIR')]);
  });
});

describe('media check', () => {
  async function fetched() {
    const { host, database } = await twoPictures();
    await fetchMedia(database, '--media-hosts', host.host);
    return { host, database };
  }

  test('names what is missing or damaged, which a fetch then brings again', async () => {
    const { host, database } = await fetched();
    const [missing, damaged] = [nameOf(png('a')), nameOf(gif('b'), 'gif')];
    rmSync(placeOf(database, missing));
    writeFileSync(placeOf(database, damaged), gif('c'));
    const found = await checkMedia(database);
    expect([found.code, found.stdout]).toEqual([1, 'copies: 0 sound, 1 missing, 1 damaged\n']);
    expect(found.stderr).toContain(`${missing} is missing: the copy of ${host.url}/a\n`);
    expect(found.stderr).toContain(`${damaged} is damaged: the copy of ${host.url}/b\n`);
    expect((await checkMedia(database, '--quick')).stdout).toBe('copies: 1 sound, 1 missing, 0 damaged\n');
    const removed = await checkMedia(database, '--remove-damaged');
    expect([removed.code, removed.stderr]).toEqual([
      1,
      expect.stringContaining('`vitrine media fetch`, fetches them again'),
    ]);
    expect((await fetchMedia(database, '--media-hosts', host.host)).stdout).toMatch(/^pictures: 2 fetched/);
    expect((await checkMedia(database)).code).toBe(0);
  });
});

describe('mirror --media', () => {
  test("brings the pictures of the site's own host and of named ones", async () => {
    const cdn = await startPictures({ '/b': gif('b'), '/c.pdf': pdf() });
    const pictures: Record<string, Buffer> = { '/a.png': png('a') };
    const people: Parameters<typeof portfolio>[0] = {};
    const answer = portfolio(people);
    const site = await startSite((request, response) => {
      const picture = pictures[request.url as string];
      if (picture === undefined) answer(request, response);
      else response.end(picture);
    });
    people.ada = {
      profile: folio(1, 'ada', { avatar: `${site.url}/a.png`, cover_image: 'https://elsewhere.example/x' }),
      shots: { Shots: [shot(1, 1, { image: `${cdn.url}/b`, attachment: `${cdn.url}/c.pdf` })] },
    };
    const database = join(tempFolder(), 'site.db');
    const flags = ['--user', 'ada', '--media', '--media-hosts', cdn.host, '--files', '--max-file', '1M'];
    const { code, stdout, stderr } = await mirror(database, 'b', site.url, ...flags);
    expect([code, stderr]).toEqual([0, 'elsewhere.example is not named by --media-hosts: 1 picture\n']);
    expect(stdout).toMatch(/^users: 1 found[\s\S]*\npictures: 3 fetched, .*1 on hosts that are not named\n/);
    // The command compares the originals on the named host, too.
    const offer = stdout.trim().split('\n').at(-1);
    expect(offer).toMatch(/^to compare both sites/);
    expect(offer?.endsWith(` --user ada --picture-hosts ${cdn.host}`)).toBe(true);
    const again = await mirror(database, 'b', site.url, ...flags, '--json');
    expect(JSON.parse(again.stdout)).toMatchObject({
      result: {
        users: { unchanged: 0, found: 1 },
        media: { originals: { fetched: 0, present: 3, notNamed: 1 } },
      },
    });
    const { entries } = await readMedia(database);
    expect(entries.map(({ file }) => file).sort()).toEqual(
      [nameOf(png('a')), nameOf(gif('b'), 'gif'), nameOf(pdf(), 'pdf'), null].sort(),
    );
    expect((await checkMedia(database)).code).toBe(0);
  });

  test('without --media fetches none', async () => {
    const site = await startSite(
      portfolio({ ada: { profile: folio(1, 'ada', { avatar: 'http://127.0.0.1/x' }) } }),
    );
    const database = join(tempFolder(), 'site.db');
    await mirror(database, 'b', site.url, '--user', 'ada');
    expect((await readMedia(database)).entries).toEqual([]);
    expect(readdirSync(join(database, '..')).filter((name) => name.endsWith('.media'))).toEqual([]);
  });
});
