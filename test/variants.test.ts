// The HTTP interface of the three variants: the response to each request, member by member.
import { METHODS } from 'node:http';
import { beforeAll, describe, expect, test } from 'vitest';
import { expectedItems, expectedRecord, type Raw, VARIANTS } from './expected.ts';
import {
  ask,
  databaseOf,
  fixture,
  json,
  type LocalServer,
  ndjson,
  readRecords,
  serveHere,
  tempFile,
} from './rig.ts';

const SAMPLES = {
  microblog: readRecords(fixture('microblog.ndjson')),
  portfolio: readRecords(fixture('portfolio.ndjson')),
};
const PEOPLE = SAMPLES.microblog.flatMap(({ username }) => (username as string | undefined) ?? []);

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
      tempFile('bare.ndjson', ndjson(...Object.values(BARE))),
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

// Method, URL, status, expected part of the body.
const WIRE: [method: string, url: string, status: number, body: object][] = [
  ['GET', `${a}?user=ada`, 200, ADA_A],
  ['GET', '/a/api?user=ada', 200, ADA_A],
  ['GET', `${a}?user=ADA`, 200, ADA_A],
  ['GET', `${a}?user=ada&`, 200, ADA_A],
  ['GET', `${a}?&user=ada&page=2&post_=true&=&x`, 200, ADA_A],
  ['GET', `${a}?%75ser=%61da`, 200, ADA_A],
  ['GET', `${a}?user=ada&post=true`, 200, LIST('posts')],
  ['GET', `${a}?post=true&user=ada`, 200, LIST('posts')],
  ['GET', '/a/api?post=true&user=ada', 200, LIST('posts')],
  ['GET', `${a}?user=Mo+Farouk`, 200, { username: 'Mo Farouk' }],
  ['GET', `${a}?user=mo%20farouk`, 200, { username: 'Mo Farouk' }],
  ['GET', `${b}/ada`, 200, ADA_B],
  ['GET', `${b}/aDa`, 200, ADA_B],
  ['GET', `${b}/%61da`, 200, ADA_B],
  ['GET', `${b}/ada?unknown=1&user=x`, 200, ADA_B],
  ['GET', `${b}/ada/shots`, 200, LIST('Shots')],
  ['GET', `${b}/ada/shots?page=2`, 200, LIST('Shots')],
  ['GET', '/c/api/username/ada', 200, ADA_B],
  ['GET', '/c/api/username/ada/shots', 200, LIST('Posts')],
  ['GET', '/healthz', 200, { status: 'ok' }],
  ['GET', '/readyz', 200, { status: 'ready' }],

  ['GET', a, 400, code('USER_MISSING')],
  ['GET', '/a/api', 400, code('USER_MISSING')],
  ['GET', `${a}?user`, 400, code('USER_MISSING')],
  ['GET', `${a}?user=`, 400, code('USER_MISSING')],
  ['GET', `${a}?USER=ada`, 400, code('USER_MISSING')],
  ['GET', `${a}?post=true`, 400, code('USER_MISSING')],
  ['GET', `${a}?user=ada&user=ada`, 400, code('USER_REPEATED')],
  ['GET', `${a}?user=ada&us%65r=`, 400, code('USER_REPEATED')],
  ['GET', `${a}?user=ada&post=`, 400, code('POST_MALFORMED')],
  ['GET', `${a}?user=ada&post`, 400, code('POST_MALFORMED')],
  ['GET', `${a}?user=ada&post=false`, 400, code('POST_MALFORMED')],
  ['GET', `${a}?user=ada&post=True`, 400, code('POST_MALFORMED')],
  ['GET', `${a}?user=ada&post=1`, 400, code('POST_MALFORMED')],
  ['GET', `${a}?user=ada&post=true&post=true`, 400, code('POST_MALFORMED')],
  ['GET', `${a}?user=%zz`, 400, code('BAD_ESCAPE')],
  ['GET', `${a}?user=50%`, 400, code('BAD_ESCAPE')],
  ['GET', `${a}?user=%C3`, 400, code('BAD_ESCAPE')],
  ['GET', `${a}?user=%ED%A0%80`, 400, code('BAD_ESCAPE')],
  ['GET', `${a}?user=ada&post=%`, 400, code('BAD_ESCAPE')],
  ['GET', `${a}?user=a%00b`, 400, code('USER_MALFORMED')],
  ['GET', `${a}?user=a%0Ab`, 400, code('USER_MALFORMED')],
  ['GET', `${a}?user=%C2%85`, 400, code('USER_MALFORMED')],
  ['GET', `${a}?user=${'x'.repeat(256)}`, 414, code('USER_TOO_LONG')],
  ['GET', `${a}?user=${'%F0%9D%92%9C'.repeat(256)}`, 414, code('USER_TOO_LONG')],
  ['GET', `${a}?user=${'x'.repeat(9000)}`, 414, code('URI_TOO_LONG')],
  ['GET', b, 400, code('USER_MISSING')],
  ['GET', `${b}/`, 400, code('USER_MISSING')],
  ['GET', `${b}//shots`, 400, code('USER_MISSING')],
  ['GET', `${b}/%zz`, 400, code('BAD_ESCAPE')],
  ['GET', `${b}/50%`, 400, code('BAD_ESCAPE')],
  ['GET', `${b}/%C3/shots`, 400, code('BAD_ESCAPE')],
  ['GET', `${b}/a%00b`, 400, code('USER_MALFORMED')],
  ['GET', `${b}/a%1Fb/shots`, 400, code('USER_MALFORMED')],
  ['GET', `${b}/${'x'.repeat(256)}`, 414, code('USER_TOO_LONG')],
  ['GET', `${b}/${'%E6%97%A5'.repeat(256)}/shots`, 414, code('USER_TOO_LONG')],
  ['GET', `${b}/${'x'.repeat(9000)}`, 414, code('URI_TOO_LONG')],

  ['GET', `${a}?user=nobody`, 404, code('USER_NOT_FOUND')],
  ['GET', `${a}?user=nobody&post=true`, 404, code('USER_NOT_FOUND')],
  ['GET', `${a}?user=${'x'.repeat(255)}`, 404, code('USER_NOT_FOUND')],
  ['GET', `${a}?user=undefined`, 404, code('USER_NOT_FOUND')],
  ['GET', `${b}/nobody`, 404, code('USER_NOT_FOUND')],
  ['GET', `${b}/nobody/shots`, 404, code('USER_NOT_FOUND')],
  ['GET', `${b}/${'%F0%9D%92%9C'.repeat(255)}`, 404, code('USER_NOT_FOUND')],
  ['GET', '/c/api/username/nobody/shots', 404, code('USER_NOT_FOUND')],
  ['GET', '/nothing', 404, code('ROUTE_NOT_FOUND')],
  ['GET', '/a', 404, code('ROUTE_NOT_FOUND')],
  ['GET', '/A/api/?user=ada', 404, code('ROUTE_NOT_FOUND')],
  ['GET', '/a/api/username/ada', 404, code('ROUTE_NOT_FOUND')],
  ['GET', '/a/api/ada', 404, code('ROUTE_NOT_FOUND')],
  ['GET', '/b/api/?user=ada', 404, code('ROUTE_NOT_FOUND')],
  ['GET', `${b}/ada/posts`, 404, code('ROUTE_NOT_FOUND')],
  ['GET', `${b}/ada/Shots`, 404, code('ROUTE_NOT_FOUND')],
  ['GET', `${b}/ada/shots/1`, 404, code('ROUTE_NOT_FOUND')],
  ['GET', '//a/api/?user=ada', 404, code('ROUTE_NOT_FOUND')],
  ['GET', '/a/../b/api/username/ada', 404, code('ROUTE_NOT_FOUND')],
  ['POST', '/nothing', 404, code('ROUTE_NOT_FOUND')],
];

describe('requests', () => {
  test.each(WIRE)('%s %s is answered %i', async (method, url, status, body) => {
    const reply = await ask(server, url, { method });
    expect([reply.status, json(reply)]).toEqual([status, expect.objectContaining(body)]);
    expectJson(reply);
    if (status >= 400) expect(Object.keys(json(reply))).toEqual(['statusCode', 'code', 'error', 'message']);
    if (status >= 400) expect(json(reply).statusCode).toBe(String(status));
    for (const value of Object.values(json(reply)).flatMap((one) =>
      Array.isArray(one) ? one.flatMap(Object.values) : [one],
    ))
      expect(value).toBeTypeOf('string');
  });

  test.each(WIRE.filter(([method]) => method === 'GET'))(
    'HEAD like %s %s, without the body',
    async (_, url) => {
      const [get, head] = [await ask(server, url), await ask(server, url, { method: 'HEAD' })];
      const { date: _get, connection: _c, 'keep-alive': _k, ...expected } = get.headers;
      expect([head.status, head.body]).toEqual([get.status, '']);
      expect(head.headers).toMatchObject(expected);
    },
  );
});

describe.each(VARIANTS)('variant $variant', ({ family, profile, item, collection, profileOf, itemsOf }) => {
  test.each(PEOPLE)('answers for %s with every member in order', async (name) => {
    const sample = SAMPLES[family].find(({ username }) => username === name) as Raw;
    expect((await ask(server, profileOf(name))).body).toBe(JSON.stringify(expectedRecord(profile, sample)));
    const reply = await ask(server, itemsOf(name));
    const expected = { [collection]: expectedItems(item, SAMPLES[family], sample.id) };
    expect(json(reply)).toEqual(expected);
    expect(reply.body).toBe(JSON.stringify(expected));
  });

  test('fills in absent members', async () => {
    expect(json(await ask(server, profileOf('bare')))).toEqual(expectedRecord(profile, BARE[profile]));
    expect(json(await ask(server, itemsOf('bare')))).toEqual({
      [collection]: [expectedRecord(item, BARE[item])],
    });
  });

  test('a user without items has an empty list', async () => {
    expect((await ask(server, itemsOf('quiet_reader'))).body).toBe(`{"${collection}":[]}`);
  });

  test.each(['zoë', 'ZOË', 'Zoe\u0308', 'ZOE\u0308', 'zOe\u0308'])('finds Zoë as %j', async (name) => {
    expect((await ask(server, itemsOf(name))).status).toBe(200);
    expect(json(await ask(server, profileOf(name))).username).toBe('Zoë');
  });

  test.each(['Zoe', 'Zo', 'Zoë ', 'ｚｏë'])('%j does not find Zoë', async (name) => {
    expect((await ask(server, profileOf(name))).status).toBe(404);
  });

  const others = METHODS.filter((method) => !['GET', 'HEAD', 'OPTIONS', 'CONNECT'].includes(method));
  test.each(others)('refuses %s with 405', async (method) => {
    for (const url of [profileOf('ada'), itemsOf('ada'), profileOf('nobody'), '/healthz', '/readyz']) {
      const reply = await ask(server, url, { method });
      expect([reply.status, reply.headers.allow]).toEqual([405, 'GET, HEAD, OPTIONS']);
      expect(json(reply).code).toBe('METHOD_NOT_ALLOWED');
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
