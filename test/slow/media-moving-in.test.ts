// A site that goes dark after it was mirrored with its pictures, and copies that move to another URL under load.
import { expect, test } from 'vitest';
import { openForChange } from '../../src/stores/open.ts';
import { saveMedia } from '../importing.ts';
import { mirrorArgs, portfolio, startSite } from '../mirror-site.ts';
import { gif, jpeg, png, sha256, webp } from '../pictures.ts';
import { folio, shot } from '../records.ts';
import { ask, databaseOf, done, json, ndjson, startServer, tempFile, tempFolder } from '../rig.ts';
import { startLoad } from '../stress.ts';

const USERS = 200;
const TYPES = [png, jpeg, gif, webp];
const names = Array.from({ length: USERS }, (_, n) => `user${n + 1}`);

/** The bytes at a path; every tenth user has the picture of those who have none. */
function pictureAt(path: string): Buffer {
  const number = Number(/\d+/.exec(path)?.[0]);
  const type = TYPES[number % TYPES.length] as typeof png;
  return path.startsWith('/avatar') && number % 10 === 0 ? png('nobody') : type(path);
}

const shotsOf = (base: string, user: number) =>
  Array.from({ length: user % 17 }, (_, n) => {
    const id = user * 100 + n;
    const date = `2024-01-${String(n + 1).padStart(2, '0')} 00:00:00`;
    return shot(id, user, { image: `${base}/moved/${id}`, large_image: `${base}/large/${id}?size=2`, date });
  });

test('200 users mirrored with their pictures: when the site is gone, nothing names it and no picture is dead', async () => {
  const pictures = await startSite(({ url = '' }, response) => {
    if (url.startsWith('/moved/')) response.writeHead(302, { location: url.replace('moved', 'small') }).end();
    // Hosts like this say nothing true about what they send.
    else response.writeHead(200, { 'content-type': 'text/plain' }).end(pictureAt(url));
  });
  const people = Object.fromEntries(
    names.map((name, index) => {
      const avatar = `${pictures.url}/avatar/${index + 1}`;
      const shots = shotsOf(pictures.url, index + 1);
      return [
        name,
        { profile: folio(index + 1, name, { avatar, cover_image: avatar }), shots: { Shots: shots } },
      ];
    }),
  );
  const site = await startSite((request, response) => {
    // The site lists the newest 15.
    const body = /\/(user\d+)\/shots$/.exec(request.url ?? '')?.[1];
    if (body === undefined) return portfolio(people)(request, response);
    const { Shots } = people[body]?.shots ?? { Shots: [] };
    response.end(JSON.stringify({ Shots: Shots.toReversed().slice(0, 15) }));
  });

  const database = `${tempFolder()}/site.db`;
  const server = await startServer({ DATABASE_URL: database });
  const users = tempFile('names.txt', names.join('\n'));
  const host = new URL(pictures.url).host;
  const more = ['--users', users, '--media', '--media-hosts', host, '--media-url', `${server.url}/media`];
  const said = await done(mirrorArgs(database, 'b', site.url, ...more));
  expect(said).toContain(' 0 failed');
  pictures.close();
  site.close();

  const oldHosts = [host, new URL(site.url).host];
  const found = new Map<string, string>();
  for (const [index, name] of names.entries()) {
    const profile = await ask(server, `/b/api/username/${name}`);
    const items = await ask(server, `/c/api/username/${name}/shots`);
    for (const { body } of [profile, items]) for (const old of oldHosts) expect(body).not.toContain(old);
    found.set(json(profile).avatar, `/avatar/${index + 1}`);
    for (const { id, image, large_image } of json(items).Posts)
      found.set(image, `/small/${id}`).set(large_image, `/large/${id}?size=2`);
  }
  // Each avatar of its own, one that 20 users share, and two pictures of each shot.
  const shots = names.reduce((sum, _, index) => sum + Math.min((index + 1) % 17, 15), 0);
  expect(found.size).toBe(USERS - 20 + 1 + 2 * shots);
  for (const [url, path] of found) {
    const response = await fetch(url);
    const bytes = Buffer.from(await response.arrayBuffer());
    expect([url, response.status, sha256(bytes)]).toEqual([url, 200, sha256(pictureAt(path))]);
  }
  expect(await done(['media', 'check', '--database-url', database])).toMatch(/ 0 missing, 0 damaged/);
});

test('under load, no response mixes two addresses of copies', async () => {
  const records = names
    .slice(0, 20)
    .flatMap((name, index) => [
      folio(index + 1, name, { avatar: 'https://old.example/a', cover_image: 'https://old.example/b' }),
      ...shotsOf('https://old.example', index + 1),
    ]);
  const database = await databaseOf(tempFile('site.ndjson', ndjson(...records)));
  const urls = new Set(
    records.flatMap(({ avatar, cover_image, image, large_image }) => [
      avatar,
      cover_image,
      image,
      large_image,
    ]),
  );
  urls.delete(undefined);
  await saveMedia(
    database,
    [...urls].map((url) => ({
      url: String(url),
      file: `${sha256(String(url))}.png`,
      bytes: 1,
      reason: null,
    })),
  );
  const writer = await openForChange(database);
  await writer.relink('https://address0.example');
  await writer.close();

  const server = await startServer({ DATABASE_URL: database, WORKERS: '2' });
  const addresses = names
    .slice(0, 20)
    .flatMap((name) => [`/b/api/username/${name}`, `/b/api/username/${name}/shots`]);
  const load = startLoad(server, addresses, (_, { status, body }) => {
    const seen = new Set([...body.matchAll(/https:\/\/(address\d+|old)\.example/g)].map(([, name]) => name));
    return status === 200 && seen.size <= 1 && !seen.has('old') ? undefined : `${status} ${[...seen]}`;
  });
  for (let newest = 1; newest <= 20; newest++) {
    const mediaUrl = `https://address${newest}.example`;
    await done(['media', 'relink', '--database-url', database, '--media-url', mediaUrl]);
    expect((await ask(server, addresses[0] as string)).body).toContain(`${mediaUrl}/`);
  }
  expect(load.answered()).toBeGreaterThan(100);
  expect(await load.stop()).toEqual([]);
}, 120_000);
