// Every response matches its schema: records, lists and errors, of every user, in every variant.
import { METHODS } from 'node:http';
import { type TSchema, Type } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import type { FastifySchema, InjectOptions } from 'fastify';
import { beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../src/config/config.ts';
import { ErrorBody } from '../src/http/errors.ts';
import { ITEM_CAP } from '../src/records/kinds.ts';
import { itemsBody, MicroblogProfile, PortfolioProfile, Post, Shot } from '../src/records/schemas.ts';
import { buildApp } from '../src/server/app.ts';
import { openReader } from '../src/stores/sqlite/read.ts';
import { createLog } from '../src/telemetry/log.ts';
import { createTelemetry } from '../src/telemetry/telemetry.ts';
import { VARIANTS } from './expected.ts';
import {
  ask,
  databaseOf,
  fixture,
  json,
  type Reply,
  readRecords,
  type Server,
  sendRaw,
  startServer,
  ugly,
} from './rig.ts';

const PROFILES = { 'microblog profile': MicroblogProfile, 'portfolio profile': PortfolioProfile };
const ITEMS = { post: Post, shot: Shot };
const error = TypeCompiler.Compile(ErrorBody);
const FILES = [
  fixture('microblog.ndjson'),
  fixture('portfolio.ndjson'),
  ugly('hostile-names.ndjson'),
  ugly('hostile-texts.ndjson'),
];
const NAMES = [
  ...new Set(FILES.flatMap(readRecords).flatMap(({ username }) => (username as string | undefined) ?? [])),
];

let server: Server;
let limited: Server;
beforeAll(async () => {
  server = await startServer({ DATABASE_URL: await databaseOf(...FILES) });
  limited = await startServer({ RATE_LIMIT: '1/1h' });
});

/** The schema errors of a body, member by member. */
const faultsOf = (
  schema: {
    Check(value: unknown): boolean;
    Errors(value: unknown): Iterable<{ path: string; message: string }>;
  },
  body: unknown,
) => (schema.Check(body) ? [] : [...schema.Errors(body)].map(({ path, message }) => `${path}: ${message}`));

function expectError(reply: Pick<Reply, 'status' | 'body'>) {
  const body = json(reply);
  expect([reply.body, faultsOf(error, body)]).toEqual([reply.body, []]);
  expect([Object.keys(body), body.statusCode]).toEqual([
    Object.keys(ErrorBody.properties),
    String(reply.status),
  ]);
}

describe.each(VARIANTS)('variant $variant', ({ profile, item, collection, profileOf, itemsOf }) => {
  const profileSchema = PROFILES[profile];
  const itemSchema = ITEMS[item];
  const aProfile = TypeCompiler.Compile(profileSchema);
  const aList = TypeCompiler.Compile(itemsBody('List', collection, itemSchema));

  test(`every profile matches ${profileSchema.$id}, and every list item ${itemSchema.$id}`, async () => {
    const lengths = new Set<number>();
    for (const name of NAMES) {
      const [one, list] = [await ask(server, profileOf(name)), await ask(server, itemsOf(name))];
      expect([name, one.status]).toEqual([name, list.status]);
      if (one.status !== 200) {
        expectError(one);
        expectError(list);
        continue;
      }
      expect([name, faultsOf(aProfile, json(one))]).toEqual([name, []]);
      expect(Object.keys(json(one))).toEqual(Object.keys(profileSchema.properties));
      expect([name, faultsOf(aList, json(list))]).toEqual([name, []]);
      expect(Object.keys(json(list))).toEqual([collection]);
      for (const each of json(list)[collection])
        expect(Object.keys(each)).toEqual(Object.keys(itemSchema.properties));
      lengths.add(json(list)[collection].length);
    }
    // The data must include full lists, or this test would prove little.
    expect(lengths).toContain(0);
    expect(lengths).toContain(ITEM_CAP);
    expect(Math.max(...lengths)).toBe(ITEM_CAP);
  });

  test('every error matches Error', async () => {
    const urls = ['', '%', '%00', 'nobody', 'x'.repeat(300), '%ff'].flatMap((name) =>
      [profileOf(''), itemsOf('')].map((url) => url.replace(/(user=|username\/)/, `$1${name}`)),
    );
    for (const url of urls) {
      const reply = await ask(server, url);
      expect([url, reply.status >= 400 && reply.status < 500]).toEqual([url, true]);
      expectError(reply);
    }
    for (const method of METHODS.filter((name) => !['GET', 'HEAD', 'OPTIONS', 'CONNECT'].includes(name))) {
      const reply = await ask(server, profileOf('ada'), { method });
      expect([method, reply.status]).toEqual([method, 405]);
      expectError(reply);
    }
  });
});

test('errors before routing match Error', async () => {
  const host = 'Host: x\r\nConnection: close\r\n';
  const raw = [
    ...[
      'rubbish\r\n\r\n',
      'GET / HTTP/1.1\r\n\r\n',
      `GET /a b HTTP/1.1\r\n${host}\r\n`,
      `CONNECT x:1 HTTP/1.1\r\n${host}\r\n`,
    ],
    ...[`GET / HTTP/1.1\r\n${host}Expect: x\r\n\r\n`, `GET /${'x'.repeat(9000)} HTTP/1.1\r\n${host}\r\n`],
    ...[`GET / HTTP/1.1\r\n${host}X: ${'x'.repeat(70_000)}\r\n\r\n`, `GET ftp://x/ HTTP/1.1\r\n${host}\r\n`],
  ];
  for (const bytes of raw) {
    const replies = await sendRaw(server, bytes);
    expect([bytes.slice(0, 40), replies.length]).toEqual([bytes.slice(0, 40), 1]);
    expectError(replies[0] as Reply);
  }
  expectError(await ask(server, '/nothing/here'));
  expect((await ask(limited, '/a/api/?user=ada')).status).toBe(200);
  const refused = await ask(limited, '/a/api/?user=ada');
  expect(refused.status).toBe(429);
  expectError(refused);
});

describe('every response matches the schema of its route', () => {
  let app: ReturnType<typeof buildApp>['app'];
  /** The schema of the route that handled the latest request. */
  let routed: FastifySchema | undefined;
  const compiled = new Map<TSchema, ReturnType<typeof TypeCompiler.Compile>>();

  beforeAll(async () => {
    const config = readConfig({ logLevel: 'silent' });
    const store = openReader(await databaseOf(...FILES));
    ({ app } = buildApp({
      config,
      store,
      telemetry: createTelemetry(config, createLog(config, { write() {} })),
    }));
    app.addHook('onRequest', (request, _reply, done) => {
      routed = request.routeOptions.schema;
      done();
    });
    await app.ready();
  });

  /** The errors of a response by the schema that its route declares for its status. */
  function faultsIn(status: number, body: string, declared: unknown): string[] {
    // No route declares what other methods of its address get.
    const others = { 204: Type.Null(), 405: ErrorBody } as Record<number, TSchema>;
    const schema = (declared as Record<number, TSchema> | undefined)?.[status] ?? others[status];
    if (schema === undefined) return [`the route declares no ${status}`];
    let check = compiled.get(schema);
    if (check === undefined) compiled.set(schema, (check = TypeCompiler.Compile(schema)));
    const value = body === '' ? null : schema.type === 'string' ? body : JSON.parse(body);
    return [...check.Errors(value)].map(({ path, message }) => `${path}: ${message}`);
  }

  const lookups = VARIANTS.flatMap(({ profileOf, itemsOf }) =>
    // Injection resolves dot segments, as browsers do.
    NAMES.filter((name) => !/^\.\.?$/.test(name)).flatMap((name) => [profileOf(name), itemsOf(name)]),
  );
  const REQUESTS: [method: InjectOptions['method'], url: string, headers?: Record<string, string>][] = [
    ...lookups.map((url): ['GET', string] => ['GET', url]),
    ...(VARIANTS.flatMap(({ profileOf, itemsOf }): [InjectOptions['method'], string, object?][] =>
      [profileOf, itemsOf].flatMap((urlOf): [InjectOptions['method'], string, object?][] => [
        ['GET', urlOf('ada'), { 'if-none-match': '*' }],
        ['GET', urlOf('nobody')],
        ['GET', urlOf('x'.repeat(300))],
        ['GET', urlOf('\u0001')],
        ['POST', urlOf('ada')],
        ['OPTIONS', urlOf('ada')],
      ]),
    ) as [InjectOptions['method'], string, Record<string, string>?][]),
    ['GET', '/a/api/'],
    ['GET', '/a/api/?user=a&user=b'],
    ['GET', '/a/api/?user=ada&post=yes'],
    ['GET', '/a/api/?user=%ff'],
    ['GET', '/b/api/username/'],
    ['GET', '/c/api/username//shots'],
    ['GET', '/healthz'],
    ['GET', '/readyz'],
    ['GET', '/openapi.json'],
    ['GET', '/openapi.json', { 'if-none-match': '*' }],
    ['DELETE', '/openapi.json'],
    ['GET', '/docs'],
    ['GET', '/docs.css'],
    ['GET', '/people/b/ada'],
    ['GET', '/people/b/nobody'],
    ['GET', '/card/b/ada.svg'],
    ['GET', '/card/b/nobody.svg'],
    ['GET', '/feeds/b/ada.atom'],
    ['GET', '/'],
    ['GET', '/embed.js'],
  ];

  test('lookups, errors, probes and pages', async () => {
    const statuses = new Set<number>();
    for (const [method = 'GET', url, headers = {}] of REQUESTS) {
      const reply = await app.inject({ method, url, headers });
      statuses.add(reply.statusCode);
      const name = `${method} ${url.slice(0, 60)}`;
      expect([name, faultsIn(reply.statusCode, reply.body, routed?.response)]).toEqual([name, []]);
    }
    expect([...statuses].sort()).toEqual([200, 204, 304, 400, 404, 405, 414]);
  });

  test('a wrong response is detected', async () => {
    const { body } = await app.inject('/b/api/username/ada');
    const response = routed?.response;
    const profile = JSON.parse(body);
    const { bio: _bio, ...incomplete } = profile;
    for (const wrong of [incomplete, { ...profile, id: 7 }, { ...profile, Likes: 'many' }, profile.id])
      expect(faultsIn(200, JSON.stringify(wrong), response)).not.toEqual([]);
    expect(faultsIn(418, body, response)).toEqual(['the route declares no 418']);
    const items = await app.inject('/b/api/username/ada/shots');
    const sixteen = Array(16).fill(items.json().Shots[0]);
    expect(faultsIn(200, JSON.stringify({ Shots: sixteen }), routed?.response)).toEqual([
      expect.stringContaining('/Shots'),
    ]);
  });
});

test('probes are objects of strings', async () => {
  for (const url of ['/healthz', '/readyz'])
    for (const value of Object.values(json(await ask(server, url)))) expect(value).toBeTypeOf('string');
});
