// The HTTP interface of the three variants: the response to each request, member by member.
import { METHODS } from 'node:http';
import { beforeAll, describe, expect, test } from 'vitest';
import { expectedRecord, VARIANTS } from './expected.ts';
import { fixture } from './files.ts';
import { ask, databaseOf, json, type LocalServer } from './rig.ts';
import { serveHere } from './serve-here.ts';

// No optional members except those that distinguish the record types.
const BARE = {
  'microblog profile': { totalPost: 0, id: 90001, username: 'bare' },
  'portfolio profile': { totalShots: 0, id: 90001, username: 'bare' },
  post: { id: 90002, user: 90001, date: '2024-01-01 00:00:00' },
  shot: { id: 90002, user_id: 90001, date: '2024-01-01 00:00:00' },
};

let server: LocalServer;
beforeAll(async () => {
  server = await serveHere({
    DATABASE_URL: await databaseOf(
      fixture('microblog.ndjson'),
      fixture('portfolio.ndjson'),
      ...Object.values(BARE),
    ),
  });
});

function expectJson(reply: Awaited<ReturnType<typeof ask>>) {
  expect(reply.headers['content-type']).toBe('application/json; charset=utf-8');
  expect(reply.headers['content-length']).toBe(String(Buffer.byteLength(reply.body)));
  expect(reply.headers['transfer-encoding']).toBeUndefined();
}

const code = (code: string) => ({ code });
const a = '/a/api/';
const b = '/b/api/username';
const ADA_A = {
  username: 'ada',
  id: '12',
  bio: expect.stringContaining('Cartographer'),
  totalFollowers: '18420',
};
const ADA_B = {
  username: 'ada',
  id: '7',
  skills: 'cartography,lettering,printmaking,illustration',
  type_account: '2',
};
const LIST = (collection: string) => ({ [collection]: expect.any(Array) });

// Status, expected part of the body, the URLs that get them.
const WIRE: [status: number, body: object, ...urls: string[]][] = [
  [200, ADA_A, `${a}?user=ada`, '/a/api?user=ada', `${a}?user=ADA`, `${a}?user=ada&`],
  [200, ADA_A, `${a}?&user=ada&page=2&post_=true&=&x`, `${a}?%75ser=%61da`],
  [200, LIST('posts'), `${a}?user=ada&post=true`, `${a}?post=true&user=ada`, '/a/api?post=true&user=ada'],
  [200, { username: 'Mo Farouk' }, `${a}?user=Mo+Farouk`, `${a}?user=mo%20farouk`],
  [200, ADA_B, `${b}/ada`, `${b}/aDa`, `${b}/%61da`, `${b}/ada?unknown=1&user=x`, '/c/api/username/ada'],
  [200, ADA_A, `${a}?user=ada&x=%&x=%`],
  [200, LIST('Shots'), `${b}/ada/shots`, `${b}/ada/shots?page=2`],
  [200, LIST('Posts'), '/c/api/username/ada/shots'],
  [200, { status: 'ok' }, '/healthz'],
  [200, { status: 'ready' }, '/readyz'],
  [400, code('USER_MISSING'), a, '/a/api', `${a}?user`, `${a}?user=`, `${a}?USER=ada`, `${a}?post=true`],
  [400, code('USER_MISSING'), b, `${b}/`, `${b}//shots`],
  [400, code('USER_REPEATED'), `${a}?user=ada&user=ada`, `${a}?user=ada&us%65r=`, `${a}?user=%zz&user=x`],
  [400, code('POST_MALFORMED'), `${a}?user=ada&post=`, `${a}?user=ada&post`, `${a}?user=ada&post=false`],
  [400, code('POST_MALFORMED'), `${a}?user=ada&post=True`, `${a}?user=ada&post=1`],
  [400, code('POST_MALFORMED'), `${a}?user=ada&post=true&post=true`],
  [400, code('BAD_ESCAPE'), `${a}?user=%zz`, `${a}?user=50%`, `${a}?user=%C3`, `${a}?user=%ED%A0%80`],
  [400, code('BAD_ESCAPE'), `${a}?user=ada&post=%`, `${b}/%zz`, `${b}/50%`, `${b}/%C3/shots`],
  [400, code('USER_MALFORMED'), `${a}?user=a%00b`, `${a}?user=a%0Ab`, `${a}?user=%C2%85`, `${b}/a%00b`],
  [400, code('USER_MALFORMED'), `${b}/a%1Fb/shots`],
  [414, code('USER_TOO_LONG'), `${a}?user=${'x'.repeat(256)}`, `${a}?user=${'%F0%9D%92%9C'.repeat(256)}`],
  [414, code('USER_TOO_LONG'), `${b}/${'x'.repeat(256)}`, `${b}/${'%E6%97%A5'.repeat(256)}/shots`],
  [
    414,
    code('USER_TOO_LONG'),
    `/c/api/username/${'x'.repeat(256)}`,
    `/c/api/username/${'x'.repeat(300)}/shots`,
  ],
  [414, code('USER_TOO_LONG'), `${a}?user=${'x'.repeat(300)}&post=true`, `${b}/${'%41'.repeat(256)}`],
  [414, code('URI_TOO_LONG'), `${a}?user=${'x'.repeat(9000)}`, `${b}/${'x'.repeat(9000)}`],
  [404, code('USER_NOT_FOUND'), `${a}?user=nobody`, `${a}?user=nobody&post=true`],
  [404, code('USER_NOT_FOUND'), `${a}?user=${'x'.repeat(255)}`, `${a}?user=undefined`, `${b}/nobody`],
  [404, code('USER_NOT_FOUND'), `${b}/nobody/shots`, `${b}/${'%F0%9D%92%9C'.repeat(255)}`],
  [404, code('USER_NOT_FOUND'), '/c/api/username/nobody/shots'],
  [404, code('ROUTE_NOT_FOUND'), '/nothing', '/a', '/A/api/?user=ada', '/a/api/username/ada'],
  [404, code('ROUTE_NOT_FOUND'), '/a/api/ada', '/b/api/?user=ada', `${b}/ada/posts`, `${b}/ada/Shots`],
  [404, code('ROUTE_NOT_FOUND'), `${b}/ada/shots/1`, '//a/api/?user=ada', '/a/../b/api/username/ada'],
];

describe('requests', () => {
  test.each(WIRE)('%i %j', async (status, body, ...urls) => {
    for (const url of urls) {
      const reply = await ask(server, url);
      expect([url, reply.status, json(reply)]).toEqual([url, status, expect.objectContaining(body)]);
      expectJson(reply);
      if (status >= 400) expect(Object.keys(json(reply))).toEqual(['statusCode', 'code', 'error', 'message']);
      if (status >= 400) expect(json(reply).statusCode).toBe(String(status));
      for (const value of Object.values(json(reply)).flatMap((one) =>
        Array.isArray(one) ? one.flatMap(Object.values) : [one],
      ))
        expect(value).toBeTypeOf('string');

      const head = await ask(server, url, { method: 'HEAD' });
      const { date: _get, connection: _c, 'keep-alive': _k, ...expected } = reply.headers;
      expect([url, head.status, head.body]).toEqual([url, status, '']);
      expect(head.headers).toMatchObject(expected);
    }
  });

  test('an unknown path is 404 for every method', async () => {
    expect(await ask(server, '/nothing', { method: 'POST' })).toMatchObject({
      status: 404,
      body: expect.stringContaining('ROUTE_NOT_FOUND'),
    });
  });
});

describe.each(VARIANTS)('variant $variant', ({ profile, item, collection, profileOf, itemsOf }) => {
  test('fills in absent members', async () => {
    expect(json(await ask(server, profileOf('bare')))).toEqual(expectedRecord(profile, BARE[profile]));
    expect(json(await ask(server, itemsOf('bare')))).toEqual({
      [collection]: [expectedRecord(item, BARE[item])],
    });
  });

  test('refuses other methods with 405', async () => {
    for (const method of METHODS.filter((each) => !['GET', 'HEAD', 'OPTIONS', 'CONNECT'].includes(each)))
      for (const url of [profileOf('ada'), itemsOf('ada'), profileOf('nobody'), '/healthz', '/readyz']) {
        const reply = await ask(server, url, { method });
        expect([method, url, reply.status]).toEqual([method, url, 405]);
        expect([reply.headers.allow, json(reply).code]).toEqual(['GET, HEAD, OPTIONS', 'METHOD_NOT_ALLOWED']);
        expectJson(reply);
      }
  });

  test('answers OPTIONS', async () => {
    for (const url of [profileOf('ada'), itemsOf('ada'), profileOf('nobody')]) {
      const reply = await ask(server, url, { method: 'OPTIONS' });
      expect([reply.status, reply.headers.allow, reply.body]).toEqual([204, 'GET, HEAD, OPTIONS', '']);
    }
  });
});
