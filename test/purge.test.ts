// Caches that are told what changed: the tags on answers, how each kind of cache is told, and `vitrine purge`.
import { expect, test } from 'vitest';
import { userTag } from '../src/records/user-name.ts';
import { ask, databaseOf, done, fixture } from './rig.ts';
import { serveHere } from './serve-here.ts';

const data = () => databaseOf(fixture('microblog.ndjson'), fixture('portfolio.ndjson'));

test('every answer of a user has the tag of that user, and what changes with it may be kept for a day', async () => {
  const path = await data();
  await done(['takedown', '--database-url', path, '--family', 'portfolio', 'pekka']);
  const server = await serveHere({
    DATABASE_URL: path,
    PURGE: 'nginx:/var/cache/vitrine, fastly:SU1Z0isxPaozGVKXdv0eY',
    CDN_CACHE_CONTROL: 'max-age=3600',
    TAKEDOWN_STATUS: '410',
    DIRECTORY: 'on',
  });
  const page = encodeURIComponent(`${server.url}/people/b/ada`);
  const [blog, folio] = [userTag('microblog', 'ada'), userTag('portfolio', 'ada')];
  const [nobody, gone] = [userTag('portfolio', 'nobody'), userTag('portfolio', 'pekka')];
  const lasting = [
    ['/a/api/?user=ada', 200, blog],
    ['/a/api?post=true&user=%41DA', 200, blog],
    ['/b/api/username/ada', 200, folio],
    ['/b/api/username/aD%61/shots', 200, folio],
    ['/c/api/username/ada/shots', 200, folio],
    ['/people/b/ada', 200, folio],
    ['/card/c/Ada.svg', 200, folio],
    ['/b/api/username/nobody', 404, nobody],
    ['/b/api/username/Pekka/shots', 410, gone],
    ['/card/b/nobody.svg', 404, nobody],
    ['/feeds/b/nobody.atom', 404, nobody],
  ] as const;
  const passing = [
    ['/feeds/b/ada.atom', 200, folio],
    [`/oembed?url=${page}`, 200, folio],
    [`/oembed?url=${page.replace('ada', 'nobody')}`, 404, nobody],
    ['/people/b/nobody', 404, undefined],
    ['/people/b', 200, undefined],
    ['/openapi.json', 200, undefined],
    ['/a/api/', 400, undefined],
  ] as const;
  for (const [list, day, life] of [
    [lasting, '86400', 'max-age=3600'],
    [passing, undefined, undefined],
  ] as const)
    for (const [url, status, tag] of list) {
      const first = await ask(server, url);
      const same = await ask(server, url, { headers: { 'if-none-match': String(first.headers.etag) } });
      expect([url, first.status, same.status]).toEqual([url, status, first.headers.etag ? 304 : status]);
      for (const { headers } of [first, same])
        expect([
          url,
          headers['cache-tag'],
          headers['surrogate-key'],
          headers['x-accel-expires'],
          headers['cdn-cache-control'],
        ]).toEqual([url, tag && `vitrine,${tag}`, tag && `vitrine ${tag}`, day, life]);
    }
  expect(blog).toMatch(/^vitrine-[0-9a-f]{16}$/);
  await server.stop();
});

test.each([
  [{}, undefined, undefined],
  [{ CACHE_TAG_HEADER: 'xkey' }, { xkey: `vitrine ${userTag('portfolio', 'ada')}` }, undefined],
  [{ PURGE: 'varnish:http://127.0.0.1:6081', CACHE_CONTROL: 'private' }, {}, undefined],
  [{ PURGE: 'varnish:http://127.0.0.1:6081' }, {}, '86400'],
])('with %o', async (env, headers = {}, life) => {
  const server = await serveHere({ DATABASE_URL: await data(), ...env });
  const reply = await ask(server, '/b/api/username/ada');
  expect(reply.headers).toMatchObject(headers);
  expect([reply.headers['x-accel-expires'], 'cache-tag' in reply.headers]).toEqual([life, 'PURGE' in env]);
  await server.stop();
});
