// The rows of lookups: Vitrine next to its alternatives, with the same data.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram } from '../programs.ts';
import {
  type Bodies,
  etagsFile,
  expectedBodies,
  jsonDatabase,
  ordinaryDatabase,
  type Size,
  staticFiles,
  vitrineDatabase,
} from './dataset.ts';
import { address, request, type Target } from './load.ts';
import type { Row } from './measure.ts';
import { startPrintedNginx, startStaticNginx } from './nginx.ts';
import { type Process, startPeer, startVitrine } from './processes.ts';

export const BARE = 'bare node:http, constant';
export const BY_HAND = 'Fastify + TypeBox + better-sqlite3';
export const RANDOM = 'Vitrine, random users';

const STATIC_USERS = 3000;
const JSON_SERVER_USERS = 1000;
const UNKNOWN_USERS = 1_000_000;
/** More than nginx has in its cache. */
const MANY_USERS = 20_000;
/** So few that nginx has all of them. */
const HIT_USERS = 300;

export const GROUPS = {
  '15 items': (stage: Stage) => startKind(stage, 'items', { random: 2.1, p99: 0.34 }),
  profile: (stage: Stage) => startKind(stage, 'profile', { random: 2 }),
  '304 Not Modified': startNotModified,
  '404 unknown user': startNotFound,
  '15 items, gzip': startGzip,
  'behind the printed nginx, from its cache': (stage: Stage) => startDeployment(stage, HIT_USERS, 1.2),
  'behind the printed nginx, without its cache': (stage: Stage) => startDeployment(stage, MANY_USERS, 1.3),
};
export type Group = keyof typeof GROUPS;

export type Stage = ReturnType<typeof createStage>;

/** The data and servers that groups share; each is made when the first row needs it. */
export function createStage(folder: string, size: Size) {
  const bodies = once(() => expectedBodies(size.users, Math.min(size.users, STATIC_USERS)));
  const database = once(() => vitrineDatabase(folder, size));
  const ordinary = once(() => ordinaryDatabase(folder, size));
  return {
    folder,
    size,
    bodies,
    database,
    random: once(async () => startVitrine(await database())),
    byHand: once(async () => startPeer('fastify-sqlite', { DATABASE: await ordinary() }, PROBE)),
    express: once(async () => startPeer('express-sqlite', { DATABASE: await ordinary() }, PROBE)),
    nginx: once(async () => startStaticNginx(folder, await staticFiles(folder, bodies()))),
  };
}

const PROBE = '/a/api/?user=user1';

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

const lookups = (kind: keyof Bodies, users: number): Target => ({
  before: '/a/api/?user=user',
  users,
  after: kind === 'items' ? '&post=true' : '',
});

/** Node adds these itself. */
const OF_THE_CONNECTION = ['connection', 'keep-alive', 'date', 'transfer-encoding'];

/** Starts a peer that sends one of Vitrine's responses, headers and bytes, to every request. */
async function startConstant({ folder }: Stage, peer: string, from: Process, path: string, sent = {}) {
  const { status, headers, body } = await request(from.port, path, sent);
  const file = join(folder, `constant-${peer}-${encodeURIComponent(path + JSON.stringify(sent))}.json`);
  const own = Object.entries(headers).filter(([name]) => !OF_THE_CONNECTION.includes(name));
  writeFileSync(file, JSON.stringify({ status, headers: own.flat(), body: body.toString('base64') }));
  return startPeer(peer, { ANSWER: file });
}

interface KindPromises {
  readonly random: number;
  readonly p99?: number;
}

/** Everyone's rows for one of the two lookups. */
async function startKind(stage: Stage, kind: keyof Bodies, promises: KindPromises): Promise<Partial<Row>[]> {
  const { size, folder } = stage;
  const expected = stage.bodies()[kind];
  const all = lookups(kind, kind === 'items' ? size.users : size.profiles);
  const random = await stage.random();
  const first = address(all, 1);
  const constant = { target: all, expected: expected.slice(0, 1) };
  const { p99 } = promises;
  const rows: Partial<Row>[] = [
    { name: BARE, servers: [await startConstant(stage, 'node-http', random, first)], ...constant },
    {
      name: RANDOM,
      servers: [random],
      target: all,
      expected,
      atMost: promises.random,
      ...(p99 && { p99: { base: BY_HAND, atMost: p99 } }),
    },
    {
      name: 'bare Fastify, constant',
      servers: [await startConstant(stage, 'fastify', random, first)],
      ...constant,
    },
    { name: BY_HAND, servers: [await stage.byHand()], target: all, expected },
    { name: 'Express + better-sqlite3', servers: [await stage.express()], target: all, expected },
  ];
  if (findProgram('nginx')) {
    const target = { before: `/${kind}/user`, users: expected.length, after: '.json' };
    rows.push({ name: 'nginx, static files', servers: [await stage.nginx()], target, expected });
  }
  if (kind === 'items') {
    // It cannot hold as many users, so its items are not those of the others.
    const users = Math.min(size.users, JSON_SERVER_USERS);
    const server = await startPeer('json-server', { DATABASE: await jsonDatabase(folder, users) }, PROBE);
    rows.push({
      name: 'json-server, 1,000 users',
      servers: [server],
      target: lookups('items', users),
      expected: expectedBodies(users, 3).items,
    });
  }
  return rows;
}

async function startNotModified(stage: Stage): Promise<Partial<Row>[]> {
  const etags = await etagsFile(await stage.database());
  const one = { before: address(lookups('items', 1), 1), users: 0, after: '', etags };
  const random = await stage.random();
  const etag = (await request(random.port, one.before)).headers.etag;
  const bare = await startConstant(stage, 'node-http', random, one.before, { 'if-none-match': etag });
  const always = { status: 304, expected: [''] };
  const target = { ...lookups('items', stage.size.users), etags };
  return [
    { ...always, name: BARE, servers: [bare], target: one },
    { ...always, name: RANDOM, servers: [random], target, atMost: 2.1 },
  ];
}

async function startNotFound(stage: Stage): Promise<Partial<Row>[]> {
  const target = { before: '/a/api/?user=nobody', users: UNKNOWN_USERS, after: '' };
  const random = await stage.random();
  const expected = [String((await request(random.port, address(target, 1))).body)];
  const bare = await startConstant(stage, 'node-http', random, address(target, 1));
  const always = { target, status: 404, expected };
  return [
    { ...always, name: BARE, servers: [bare] },
    { ...always, name: 'Vitrine, unknown users', servers: [random], atMost: 2.6 },
  ];
}

/** Clients that accept gzip, as browsers and proxies do. */
async function startGzip(stage: Stage): Promise<Partial<Row>[]> {
  const target = { ...lookups('items', stage.size.users), gzip: true };
  const random = await stage.random();
  const bare = await startConstant(stage, 'node-http', random, address(target, 1), {
    'accept-encoding': 'gzip',
  });
  const { items } = stage.bodies();
  return [
    { name: BARE, servers: [bare], target, expected: items.slice(0, 1) },
    { name: RANDOM, servers: [random], target, expected: items, atMost: 2.2 },
  ];
}

/** nginx and Vitrine together: clients that accept gzip against clients that do not. */
async function startDeployment(
  { folder, size }: Stage,
  most: number,
  atMost: number,
): Promise<Partial<Row>[]> {
  if (!findProgram('nginx')) return [];
  const users = Math.min(size.users, most);
  const database = await vitrineDatabase(folder, { users, profiles: users });
  const vitrine = await startVitrine(database, { TRUST_PROXY: 'loopback' });
  const nginx = await startPrintedNginx(folder, vitrine, most === HIT_USERS);
  const target = lookups('items', users);
  const both = {
    servers: [nginx, vitrine] as const,
    expected: expectedBodies(users, 3).items,
    base: 'clients without gzip',
  };
  return [
    { ...both, name: 'clients without gzip', target },
    { ...both, name: 'clients with gzip', target: { ...target, gzip: true }, atMost },
  ];
}

/** The rows of one group, with what most of them have in common. */
export async function startGroup(group: Group, stage: Stage): Promise<Row[]> {
  const rows = await GROUPS[group](stage);
  return rows.map((row) => ({ group, base: BARE, status: 200, ...row }) as Row);
}
