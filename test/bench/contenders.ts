// Starts every contender, group by group.
import { type Bodies, etagsFile, expectedBodies, jsonDatabase, vitrineDatabase } from './dataset.ts';
import { shown } from './figures.ts';
import { type Ask, addressOf } from './load.ts';
import { type Group, type Row, type RowName, responseOf } from './rows.ts';
import { capture, peer, type Stage } from './stage.ts';
import { startVitrine } from './vitrine.ts';

export const BARE = 'bare node:http, constant';
export const READY = 'Vitrine, answer ready';
export const BY_HAND = 'Fastify + TypeBox + better-sqlite3';

const JSON_SERVER_USERS = 1000;
const UNKNOWN_USERS = 1_000_000;
/** 130 MB of responses, five times what is kept in memory by default. */
const CACHE_USERS = 20_000;

export async function startRows(group: Group, stage: Stage): Promise<Row[]> {
  const starters: Record<Group, (stage: Stage) => Promise<Row[]>> = {
    items: startItems,
    profile: startProfiles,
    304: startNotModified,
    404: startNotFound,
    cache: startCache,
  };
  return starters[group](stage);
}

const itemsOf = (users: number): Ask => ({ before: '/a/api/?user=user', users, after: '&post=true' });
const profileOf = (users: number): Ask => ({ before: '/a/api/?user=user', users, after: '' });
const strangers: Ask = { before: '/a/api/?user=nobody', users: UNKNOWN_USERS, after: '' };

async function startItems(stage: Stage): Promise<Row[]> {
  const promises = { ready: 1.25, random: 2.2, randomP99: { of: BY_HAND, atMost: 1 } };
  return [...(await startLookups(stage, 'items', itemsOf, promises)), await startJsonServer(stage)];
}

const startProfiles = (stage: Stage) =>
  startLookups(stage, 'profile', profileOf, { ready: 1.3, random: 1.7 });

interface Promises {
  readonly ready: number;
  readonly random: number;
  readonly randomP99?: RowName['p99'];
}

/** Everyone's rows for one of the two lookups. */
async function startLookups(
  stage: Stage,
  group: keyof Bodies & Group,
  ask: (users: number) => Ask,
  promises: Promises,
): Promise<Row[]> {
  const { size, readyUsers } = stage;
  const count = group === 'items' ? size.users : size.profiles;
  const expected = stage.bodies()[group];
  const { path, body } = await capture(stage.folder, group, await stage.random(), addressOf(ask(1), 1));
  const [few, all] = [ask(readyUsers), ask(count)];
  const constant = { ask: few, expected: [body, body] };
  const nginx = await stage.nginx();
  const files: Ask = { before: `/${group}/user`, users: expected.length, after: '.json' };
  const rows = [
    { name: BARE, server: await peer('node-http', { ANSWER: path }), ...constant },
    { name: READY, server: await stage.ready(), promise: promises.ready, ask: few, expected },
    {
      name: `Vitrine, random of ${shown(count)} users`,
      server: await stage.random(),
      promise: promises.random,
      p99: promises.randomP99,
      ask: all,
      expected,
    },
    { name: 'bare Fastify, constant', server: await peer('fastify', { ANSWER: path }), ...constant },
    ...(nginx === undefined ? [] : [{ name: 'nginx, static files', server: nginx, ask: files, expected }]),
    { name: BY_HAND, server: await stage.byHand(), ask: all, expected },
    { name: 'Express + better-sqlite3', server: await stage.express(), ask: all, expected },
  ];
  return rows.map((row) => ({ group, base: BARE, status: 200, ...row }));
}

/** It cannot hold as many users, so its items are not those of the others. */
async function startJsonServer({ folder, size }: Stage): Promise<Row> {
  const users = Math.min(size.users, JSON_SERVER_USERS);
  return {
    group: 'items',
    name: `json-server, ${shown(users)} users`,
    base: BARE,
    server: await peer('json-server', { DATABASE: await jsonDatabase(folder, users) }),
    ask: itemsOf(users),
    status: 200,
    expected: expectedBodies(users, 3).items,
  };
}

async function startNotModified(stage: Stage): Promise<Row[]> {
  const { folder, size } = stage;
  const etags = await etagsFile(await stage.database());
  const one: Ask = { before: addressOf(itemsOf(1), 1), users: 0, after: '', etags };
  const ready = await stage.ready();
  const { etag } = (await responseOf(ready, one.before)).headers; // From now on it is in memory.
  const { path } = await capture(folder, '304', ready, one.before, etag);
  const random = { ...itemsOf(size.users), etags };
  const rows = [
    { name: BARE, server: await peer('node-http', { ANSWER: path }), ask: one, expected: [''] },
    { name: READY, server: ready, promise: 1.15, ask: one, expected: [''] },
    {
      name: `Vitrine, random of ${shown(size.users)} users`,
      server: await stage.random(),
      promise: 1.6,
      ask: random,
      expected: ['', '', ''],
    },
  ];
  return rows.map((row) => ({ group: '304', base: BARE, status: 304, ...row }));
}

async function startNotFound(stage: Stage): Promise<Row[]> {
  const random = await stage.random();
  const { path, body } = await capture(stage.folder, '404', random, addressOf(strangers, 1));
  const bare = await peer('node-http', { ANSWER: path });
  const always = { group: '404', base: BARE, ask: strangers, status: 404, expected: [body, body] } as const;
  return [
    { ...always, name: BARE, server: bare },
    { ...always, name: 'Vitrine, unknown users', server: random, promise: 2 },
  ];
}

/** What responses in memory cost where they rarely help, and save where some users are popular. */
async function startCache({ folder, size }: Stage): Promise<Row[]> {
  const users = Math.min(size.users, CACHE_USERS);
  const database = await vitrineDatabase(folder, { users, profiles: users });
  const expected = expectedBodies(users, 3).items;
  const none = { ANSWERS_BYTES: '0' };
  const [uniform, zipf] = [itemsOf(users), { ...itemsOf(users), zipf: 1 }];
  const bases = { uniform: 'random users, none in memory', zipf: "users by Zipf's law, none in memory" };
  const rows = [
    { name: bases.uniform, base: bases.uniform, env: none, ask: uniform },
    {
      name: 'random users, default settings',
      base: bases.uniform,
      ask: uniform,
      promise: 1.05,
      p99: { of: bases.uniform, atMost: 1.5 },
    },
    { name: bases.zipf, base: bases.zipf, env: none, ask: zipf },
    { name: "users by Zipf's law, default settings", base: bases.zipf, ask: zipf, promise: 0.85 },
  ];
  return Promise.all(
    rows.map(async ({ env, ...row }): Promise<Row> => {
      const server = await startVitrine(database, { env });
      return { group: 'cache', status: 200, expected, server, ...row };
    }),
  );
}
