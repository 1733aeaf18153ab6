// Every answer is what the schemas say: records, lists and errors, of every user, in every variant.
import { METHODS } from 'node:http';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { beforeAll, describe, expect, test } from 'vitest';
import { ErrorBody } from '../src/http/errors.ts';
import { ITEM_CAP } from '../src/records/kinds.ts';
import { itemsBody, MicroblogProfile, PortfolioProfile, Post, Shot } from '../src/records/schemas.ts';
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

/** What a schema finds wrong with a body, member by member. */
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

  test(`gives every profile as ${profileSchema.$id}, and every list as ${itemSchema.$id}s`, async () => {
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
    // A test that met no list, or only short ones, would hold little.
    expect(lengths).toContain(0);
    expect(lengths).toContain(ITEM_CAP);
    expect(Math.max(...lengths)).toBe(ITEM_CAP);
  });

  test('gives every refusal as Error', async () => {
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

test('so are the refusals of what never reaches a route', async () => {
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

test('probes are objects of strings', async () => {
  for (const url of ['/healthz', '/readyz'])
    for (const value of Object.values(json(await ask(server, url)))) expect(value).toBeTypeOf('string');
});
