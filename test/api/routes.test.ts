// What holds for every address that is read: GET, HEAD and 304 agree, gzip is another form of the same, and it can only be read.
import { type IncomingMessage, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { beforeAll, expect, test } from 'vitest';
import { acceptsGzip } from '../../src/api/http/conditions.ts';
import { serveHere } from '../support/serve-here.ts';
import type { LocalServer } from '../support/server.ts';

const HTML = 'text/html; charset=utf-8';
const CSS = 'text/css; charset=utf-8';
const SCRIPT = 'text/javascript; charset=utf-8';
const JSON_TYPE = 'application/json; charset=utf-8';
const XML = 'application/xml; charset=utf-8';
const TEXT = 'text/plain; charset=utf-8';

/** `packed`: sent as gzip to who accepts it. `short`: would be, if there were more of it. `plain`: never. */
const ADDRESSES: [path: string, type: string, form: 'packed' | 'short' | 'plain'][] = [
  ['/explore', HTML, 'packed'],
  ['/explorer.css', CSS, 'packed'],
  ['/explorer.js', SCRIPT, 'packed'],
  ['/icon.svg', 'image/svg+xml', 'plain'],
  ['/favicon.ico', 'image/svg+xml', 'plain'],
  ['/apple-touch-icon.png', 'image/png', 'plain'],
  ['/preview.png', 'image/png', 'plain'],
  ['/embed.js', SCRIPT, 'packed'],
  ['/embed.d.ts', TEXT, 'packed'],
  ['/types.d.ts', TEXT, 'packed'],
  ['/samples/avatar-ada.svg', 'image/svg+xml', 'packed'],
  ['/docs', HTML, 'packed'],
  ['/docs.md', 'text/markdown; charset=utf-8', 'packed'],
  ['/llms.txt', TEXT, 'packed'],
  ['/docs.js', SCRIPT, 'packed'],
  ['/docs.css', CSS, 'packed'],
  ['/docs/recipes', HTML, 'packed'],
  ['/openapi.json', JSON_TYPE, 'packed'],
  ['/person.css', CSS, 'packed'],
  ['/people/b/ada', HTML, 'packed'],
  ['/card/b/ada.svg', 'image/svg+xml', 'packed'],
  ['/feeds/b/ada.atom', 'application/atom+xml; charset=utf-8', 'packed'],
  ['/feeds/b/ada.json', 'application/feed+json; charset=utf-8', 'packed'],
  ['/people/b/ada/289', HTML, 'packed'],
  ['/oembed?url=https%3A%2F%2Fb.example%2Fpeople%2Fb%2Fada', JSON_TYPE, 'packed'],
  ['/people/b', HTML, 'packed'],
  ['/people/b.json', JSON_TYPE, 'packed'],
  ['/sitemap.xml', XML, 'plain'],
  ['/sitemap-b-1.xml', XML, 'packed'],
  ['/robots.txt', TEXT, 'plain'],
  ['/a/api/?user=ada', JSON_TYPE, 'short'],
  ['/a/api/?user=ada&post=true', JSON_TYPE, 'packed'],
  ['/b/api/username/ada', JSON_TYPE, 'short'],
  ['/b/api/username/ada/shots', JSON_TYPE, 'packed'],
  ['/c/api/username/ada/shots', JSON_TYPE, 'packed'],
];

let server: LocalServer;
beforeAll(async () => {
  // A list of origins, so that each answer also varies by the origin.
  server = await serveHere({
    DIRECTORY: 'on',
    BASE_URL_B: 'https://b.example/b',
    CORS_ORIGIN: 'https://friend.example',
  });
});

async function send(path: string, headers: Record<string, string> = {}, method = 'GET') {
  const options = { port: server.port, path, method, headers: { host: 'b.example', ...headers } };
  const reply = await new Promise<IncomingMessage>((resolve, reject) =>
    request(options, resolve).on('error', reject).end(),
  );
  const { date: _, ...rest } = reply.headers;
  return { status: reply.statusCode, headers: rest, body: await buffer(reply) };
}

const CODINGS = ['identity', 'br, gzip'];

test.each(ADDRESSES)('%s', async (path, type, form) => {
  const answers = [];
  for (const coding of CODINGS) {
    const accepted = { 'accept-encoding': coding };
    const got = await send(path, accepted);
    expect(got).toMatchObject({ status: 200, headers: { 'content-type': type } });
    expect(got.headers).toMatchObject({
      'content-length': String(got.body.length),
      vary: form === 'plain' ? 'Origin' : 'Origin, Accept-Encoding',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    });
    expect(await send(path, accepted, 'HEAD')).toEqual({ ...got, body: Buffer.alloc(0) });
    answers.push(got);
  }
  const [plain, packed] = answers as [(typeof answers)[0], (typeof answers)[0]];
  expect(plain.headers.etag).toMatch(/^"[\w.-]{22,}"$/);
  expect(plain.headers['content-encoding']).toBeUndefined();
  if (form === 'packed') {
    expect(packed.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(packed.body).equals(plain.body)).toBe(true);
    expect(packed.headers.etag).toBe(plain.headers.etag?.replace(/"$/, '-gzip"'));
  } else expect(packed).toEqual(plain);
  // Either ETag is known whatever is accepted now.
  for (const known of [plain, packed])
    for (const [index, coding] of CODINGS.entries()) {
      const { etag, vary, 'cache-control': caching } = answers[index]?.headers ?? {};
      const again = await send(path, {
        'accept-encoding': coding,
        'if-none-match': String(known.headers.etag),
      });
      expect({ status: again.status, length: again.body.length }).toEqual({ status: 304, length: 0 });
      expect(again.headers).toMatchObject({ etag, vary, 'cache-control': caching });
    }
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
    const { status, headers, body } = await send(path, {}, method);
    expect({ status, allow: headers.allow }).toEqual({ status: 405, allow: 'GET, HEAD, OPTIONS' });
    expect(JSON.parse(body.toString()).code).toBe('METHOD_NOT_ALLOWED');
  }
});

test('errors are not compressed', async () => {
  const { status, headers } = await send('/b/api/username/nobody', { 'accept-encoding': 'gzip' });
  expect([status, headers['content-encoding']]).toEqual([404, undefined]);
});

test.each([
  [undefined, false],
  ['', false],
  ['gzip', true],
  ['GZIP', true],
  ['x-gzip', true],
  ['gzip, deflate, br, zstd', true],
  ['br', false],
  ['*', true],
  ['*;q=0', false],
  ['gzip;q=0', false],
  ['gzip;q=0, *', false],
  ['*;q=0, gzip', true],
  ['gzip; q=0.001', true],
  ['gzip;q=0.5, identity', false],
  ['gzip;q=0.5, identity;q=0.5', true],
  ['identity;q=0', true],
  ['identity;q=0, br', true],
  ['identity;q=0, gzip;q=0', false],
  ['gzip;q=2', false],
  ['gzip;q=x', false],
  ['gzipped', false],
])('Accept-Encoding %j', (header, accepts) => {
  expect(acceptsGzip(header)).toBe(accepts);
});
