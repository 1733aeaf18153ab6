// The rows of lookups: Vitrine next to its alternatives, with the same data. The first row of a group is what the others are
// compared with.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram } from '../support/programs.ts';
import { type Contenders, JSON_SERVER_USERS, MOST_PORTFOLIOS, STATIC_USERS } from './contenders.ts';
import { firstAddress, request, type Target } from './load.ts';
import type { Row } from './measure.ts';
import { type Server, startPeer, startPrintedNginx } from './servers.ts';

export const BY_HAND = 'Fastify + TypeBox + better-sqlite3';
export const RANDOM = 'Vitrine, random users';

const BARE = 'bare node:http, constant';
const UNKNOWN_USERS = 1_000_000;
const PAGES_KNOWN = 2000;
/** So few that nginx has all of them. */
const CACHED_USERS = 300;

type Start = (contenders: Contenders) => Promise<(Omit<Row, 'group' | 'status'> & Partial<Row>)[]>;

const GROUPS: Record<string, { readonly status: number; readonly start: Start }> = {
  '15 items': {
    status: 200,
    start: async (contenders) => {
      const [bare, random, ...others] = await startEverybody(contenders, 'items', '&post=true');
      const server = await contenders.jsonServer();
      const target = lookups(Math.min(contenders.users, JSON_SERVER_USERS), '&post=true');
      return [
        bare,
        // The stored list is unpacked: these clients do not accept gzip.
        { ...random, atMost: 3.5, p99: { base: BY_HAND, atMost: 0.6 } },
        ...others,
        { name: 'json-server, 1,000 users', servers: [server], target },
      ];
    },
  },
  profile: {
    status: 200,
    start: async (contenders) => {
      const [bare, random, ...others] = await startEverybody(contenders, 'profile', '');
      return [bare, { ...random, atMost: 2 }, ...others];
    },
  },
  '304 Not Modified': {
    status: 304,
    start: async (contenders) => {
      const etags = await contenders.etags();
      const target = { ...lookups(contenders.users, '&post=true'), etags };
      const address = firstAddress(target);
      const { etag } = (await request((await contenders.random()).port, address)).headers;
      const bare = await startConstant(contenders, 'node-http', target, { 'if-none-match': etag });
      // wrk sends the first ETag with an address that is complete.
      return [
        { name: BARE, servers: [bare], target: { before: address, users: 0, etags } },
        { name: RANDOM, servers: [await contenders.random()], target, atMost: 2.1 },
      ];
    },
  },
  '404 unknown user': {
    status: 404,
    start: async (contenders) => {
      const target = { before: '/a/api/?user=nobody', users: UNKNOWN_USERS };
      const bare = await startConstant(contenders, 'node-http', target);
      return [
        { name: BARE, servers: [bare], target },
        { name: 'Vitrine, unknown users', servers: [await contenders.random()], target, atMost: 2.6 },
      ];
    },
  },
  // Clients that accept gzip, as browsers and proxies do.
  '15 items, gzip': {
    status: 200,
    start: async (contenders) => {
      const target = { ...lookups(contenders.users, '&post=true'), gzip: true };
      const bare = await startConstant(contenders, 'node-http', target, { 'accept-encoding': 'gzip' });
      return [
        { name: BARE, servers: [bare], target },
        { name: RANDOM, servers: [await contenders.random()], target, atMost: 2.1 },
      ];
    },
  },
  'pages of microblogs': { status: 200, start: startMicroblogs },
  'pages of portfolios': { status: 200, start: startPortfolios },
  'behind the printed nginx, from its cache': {
    status: 200,
    start: (contenders) => startDeployment(contenders, true, 1.2),
  },
  'behind the printed nginx, without its cache': {
    status: 200,
    start: (contenders) => startDeployment(contenders, false, 1.3),
  },
};

export const GROUP_NAMES = Object.keys(GROUPS);

/** The rows of one group. */
export async function startGroup(group: string, contenders: Contenders): Promise<Row[]> {
  const { status, start } = GROUPS[group] as (typeof GROUPS)[string];
  return (await start(contenders)).map((row) => ({ group, status, ...row }));
}

/** Pages next to the lookup that every page of a person could make in their place. */
async function startMicroblogs(contenders: Contenders) {
  const { users } = contenders;
  const server = await contenders.withPages();
  const row = pageRow(server);
  const page = { before: '/people/a/user', users };
  const known = Math.min(users, PAGES_KNOWN);
  const etags = await writePageEtags(contenders, server, known);
  return [
    {
      name: 'list of 15 items, gzip',
      servers: [server] as const,
      target: { ...lookups(users, '&post=true'), gzip: true },
    },
    row('page of a person with 15 items', page, 19),
    row('page of an item', { ...page, addresses: await contenders.itemPages() }, 15),
    row('page of the directory, 50 people', { before: '/people/a?after=user', users }, 19),
    { ...row('page of a person, 304 Not Modified', { ...page, users: known, etags }, 3), status: 304 },
  ];
}

async function startPortfolios(contenders: Contenders) {
  const users = Math.min(contenders.users, MOST_PORTFOLIOS);
  const server = await contenders.portfolios();
  const row = pageRow(server);
  const list = { before: '/b/api/username/user', users, after: '/shots', gzip: true };
  const page = { before: '/people/b/user', users };
  return [
    { name: 'list of 15 works, gzip', servers: [server] as const, target: list },
    row('page of a person with 15 works', page, 19),
    row('page of a work', { ...page, addresses: await contenders.shotPages() }, 15),
    row('page of the directory, 50 people with 3 works each', { before: '/people/b?after=user', users }, 70),
  ];
}

const pageRow = (server: Server) => (name: string, target: Target, atMost: number) => ({
  name,
  servers: [server] as const,
  target: { gzip: true, ...target },
  atMost,
  isOther: true,
});

/** The ETags of the pages of the first users, in a file. */
async function writePageEtags({ folder }: Contenders, { port }: Server, users: number): Promise<string> {
  const path = join(folder, 'page-etags');
  const found: string[] = [];
  for (let user = 1; user <= users; user++)
    found.push(String((await request(port, `/people/a/user${user}`)).headers.etag));
  writeFileSync(path, found.join('\n'));
  return path;
}

const lookups = (users: number, after: string): Target => ({ before: '/a/api/?user=user', users, after });

/** Node adds these itself. */
const OF_THE_CONNECTION = ['connection', 'keep-alive', 'date', 'transfer-encoding'];

/** Starts a peer that sends Vitrine's response for the first user, headers and bytes, to every request. */
async function startConstant({ folder, random }: Contenders, peer: string, target: Target, sent = {}) {
  const address = firstAddress(target);
  const { status, headers, body } = await request((await random()).port, address, sent);
  const file = join(folder, `constant-${encodeURIComponent(`${peer} ${address} ${JSON.stringify(sent)}`)}`);
  const own = Object.entries(headers).filter(([name]) => !OF_THE_CONNECTION.includes(name));
  writeFileSync(file, JSON.stringify({ status, headers: own.flat(), body: body.toString('base64') }));
  return startPeer(peer, { ANSWER: file });
}

/** Bare Node, Vitrine, and the others for one of the two lookups. */
async function startEverybody(contenders: Contenders, kind: 'items' | 'profile', after: string) {
  const { users } = contenders;
  const target = lookups(users, after);
  const row = async (name: string, server: ReturnType<typeof startPeer>) => ({
    name,
    target,
    servers: [await server] as const,
  });
  const rows = [
    await row(BARE, startConstant(contenders, 'node-http', target)),
    await row(RANDOM, contenders.random()),
    await row('bare Fastify, constant', startConstant(contenders, 'fastify', target)),
    await row(BY_HAND, contenders.byHand()),
    await row('Express + better-sqlite3', contenders.express()),
  ] as const;
  if (!findProgram('nginx')) return rows;
  const files = { before: `/${kind}/user`, users: Math.min(users, STATIC_USERS), after: '.json' };
  return [...rows, { ...(await row('nginx, static files', contenders.nginx())), target: files }] as const;
}

/** nginx and Vitrine together: clients that accept gzip against clients that do not. */
async function startDeployment(contenders: Contenders, caches: boolean, atMost: number) {
  if (!findProgram('nginx')) return [];
  const upstream = await contenders.behindProxy();
  const nginx = await startPrintedNginx(contenders.folder, upstream, caches);
  const servers = [nginx, upstream] as const;
  const users = caches ? Math.min(contenders.users, CACHED_USERS) : contenders.users;
  const target = lookups(users, '&post=true');
  return [
    { name: 'clients without gzip', servers, target },
    { name: 'clients with gzip', servers, target: { ...target, gzip: true }, atMost },
  ];
}
