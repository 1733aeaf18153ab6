// Every response matches the schema that its route declares: records, lists and errors, of every user, in every variant.
import { type TSchema, Type } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import type { FastifySchema, InjectOptions } from 'fastify';
import { beforeAll, expect, test } from 'vitest';
import { readConfig } from '../src/config/config.ts';
import { ErrorBody } from '../src/http/errors.ts';
import { buildApp } from '../src/server/app.ts';
import { openReader } from '../src/stores/sqlite/read.ts';
import { createLog } from '../src/telemetry/log.ts';
import { createTelemetry } from '../src/telemetry/telemetry.ts';
import { VARIANTS } from './expected.ts';
import { databaseOf, fixture, readRecords, ugly } from './rig.ts';

const FILES = [
  fixture('microblog.ndjson'),
  fixture('portfolio.ndjson'),
  ugly('hostile-names.ndjson'),
  ugly('hostile-texts.ndjson'),
];
const NAMES = [
  ...new Set(FILES.flatMap(readRecords).flatMap(({ username }) => (username as string | undefined) ?? [])),
];

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

test('lookups, errors, probes and pages match the schemas of their routes', async () => {
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
