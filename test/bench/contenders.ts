// Who is timed: how each is started, and what it is asked.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  expectedBodies,
  jsonDatabase,
  ordinaryDatabase,
  type Size,
  staticFiles,
  vitrineDatabase,
} from './dataset.ts';
import { type Ask, versionOf } from './load.ts';
import { type Process, start } from './processes.ts';

export type Group = 'items' | 'profile' | '304' | '404';
export const GROUPS: readonly Group[] = ['items', 'profile', '304', '404'];

/** One line of the table. */
export interface Row {
  readonly group: Group;
  readonly name: string;
  /** At most this many times the CPU of bare node:http. */
  readonly promise?: number;
  readonly server: Process;
  readonly ask: Ask;
  /** What each of these users' answers has to be. */
  readonly expected: readonly string[];
}

/** Asked for again and again, so that their answers are ready. */
const READY_USERS = 1000;
const JSON_SERVER_USERS = 1000;
const STATIC_USERS = 3000;

const HERE = import.meta.dirname;
const NODE = process.execPath;
const VITRINE = join(HERE, '../../src/vitrine.js');

const itemsOf = (users: number): Ask => ({ before: '/a/api/?user=user', users, after: '&post=true' });
const profileOf = (users: number): Ask => ({ before: '/a/api/?user=user', users, after: '' });
const strangers: Ask = { before: '/a/api/?user=nobody', users: 1_000_000, after: '' };

export const addressOf = ({ before, users, after }: Ask, user: number) =>
  users === 0 ? before : `${before}${user}${after}`;

const peer = (name: string, env: Record<string, string>) =>
  start(() => [NODE, join(HERE, 'peers', `${name}.ts`)], env);
export const startVitrine = (database: string, probe = '/healthz') =>
  start(() => [NODE, VITRINE, 'serve'], { DATABASE_URL: database }, { probe });

export async function startAll(folder: string, size: Size): Promise<Row[]> {
  const bodies = expectedBodies(size, STATIC_USERS);
  const database = vitrineDatabase(folder, size);
  const ordinary = ordinaryDatabase(folder, size);
  const [busy, wide] = [await startVitrine(database), await startVitrine(database)];
  const express = await peer('express-sqlite', { DATABASE: ordinary });
  const fastify = await peer('fastify-sqlite', { DATABASE: ordinary });
  const jsonServer = await peer('json-server', { DATABASE: jsonDatabase(folder, JSON_SERVER_USERS) });
  const nginx = await startNginx(folder, staticFiles(folder, bodies));

  const one = { ...itemsOf(0), before: addressOf(itemsOf(1), 1) };
  const etag = (await responseOf(wide, one.before)).headers.etag as string;
  const same: Ask = { ...one, etag };
  const constant = {
    items: await capture(folder, wide, 'items', one.before),
    profile: await capture(folder, wide, 'profile', addressOf(profileOf(1), 1)),
    304: await capture(folder, wide, '304', one.before, etag),
    404: await capture(folder, wide, '404', addressOf(strangers, 1)),
  };
  const bare = (group: Group) => peer('node-http', { ANSWER: constant[group].path });
  const bareFastify = (group: Group) => peer('fastify', { ANSWER: constant[group].path });

  const { items, profiles } = bodies;
  const always = (group: Group) => Array(3).fill(constant[group].body) as string[];
  const rows: (Row | undefined)[] = [
    {
      group: 'items',
      name: BARE,
      server: await bare('items'),
      ask: itemsOf(READY_USERS),
      expected: always('items'),
    },
    {
      group: 'items',
      name: 'Vitrine, answer ready',
      promise: 1.25,
      server: busy,
      ask: itemsOf(READY_USERS),
      expected: items,
    },
    {
      group: 'items',
      name: `Vitrine, random of ${shown(size.users)} users`,
      promise: 2.2,
      server: wide,
      ask: itemsOf(size.users),
      expected: items,
    },
    {
      group: 'items',
      name: 'bare Fastify, constant',
      server: await bareFastify('items'),
      ask: itemsOf(READY_USERS),
      expected: always('items'),
    },
    nginx && {
      group: 'items',
      name: 'nginx, static files',
      server: nginx,
      ask: { before: '/items/user', users: STATIC_USERS, after: '.json' },
      expected: items,
    },
    {
      group: 'items',
      name: 'Fastify + TypeBox + better-sqlite3',
      server: fastify,
      ask: itemsOf(size.users),
      expected: items,
    },
    {
      group: 'items',
      name: 'Express + better-sqlite3',
      server: express,
      ask: itemsOf(size.users),
      expected: items,
    },
    {
      group: 'items',
      name: `json-server, ${shown(JSON_SERVER_USERS)} users`,
      server: jsonServer,
      ask: itemsOf(JSON_SERVER_USERS),
      expected: JSON_SERVER_ITEMS,
    },
    {
      group: 'profile',
      name: BARE,
      server: await bare('profile'),
      ask: profileOf(READY_USERS),
      expected: always('profile'),
    },
    {
      group: 'profile',
      name: 'Vitrine, answer ready',
      promise: 1.3,
      server: busy,
      ask: profileOf(READY_USERS),
      expected: profiles,
    },
    {
      group: 'profile',
      name: `Vitrine, random of ${shown(size.profiles)} users`,
      promise: 1.7,
      server: wide,
      ask: profileOf(size.profiles),
      expected: profiles,
    },
    {
      group: 'profile',
      name: 'bare Fastify, constant',
      server: await bareFastify('profile'),
      ask: profileOf(READY_USERS),
      expected: always('profile'),
    },
    nginx && {
      group: 'profile',
      name: 'nginx, static files',
      server: nginx,
      ask: { before: '/profiles/user', users: STATIC_USERS, after: '.json' },
      expected: profiles,
    },
    {
      group: 'profile',
      name: 'Fastify + TypeBox + better-sqlite3',
      server: fastify,
      ask: profileOf(size.profiles),
      expected: profiles,
    },
    {
      group: 'profile',
      name: 'Express + better-sqlite3',
      server: express,
      ask: profileOf(size.profiles),
      expected: profiles,
    },
    { group: '304', name: BARE, server: await bare('304'), ask: same, expected: [''] },
    { group: '304', name: 'Vitrine, answer ready', promise: 1.15, server: busy, ask: same, expected: [''] },
    { group: '404', name: BARE, server: await bare('404'), ask: strangers, expected: always('404') },
    {
      group: '404',
      name: 'Vitrine, unknown users',
      promise: 2,
      server: wide,
      ask: strangers,
      expected: always('404'),
    },
  ];
  return rows.filter((row) => row !== undefined);
}

export const BARE = 'bare node:http, constant';
/** Its answers are of a smaller world: only their shape can be that of the others. */
const JSON_SERVER_ITEMS = expectedBodies({ users: JSON_SERVER_USERS, profiles: JSON_SERVER_USERS }, 3).items;

const shown = (number: number) => number.toLocaleString('en');

/** Asks every contender before it is timed, and throws unless it answers as it has to. */
export async function check({ group, name, server, ask, expected }: Row): Promise<void> {
  const status = group === '304' ? 304 : group === '404' ? 404 : 200;
  for (const [index, body] of expected.slice(0, 3).entries()) {
    const got = await responseOf(server, addressOf(ask, index + 1), ask.etag);
    if (got.status !== status || got.body !== body)
      throw new Error(
        `${name} (${group}) answers ${got.status} ${got.body.slice(0, 200)}…, not ${status} ${body.slice(0, 200)}…`,
      );
  }
}

async function responseOf({ port }: Process, address: string, etag?: string) {
  const response = await fetch(`http://127.0.0.1:${port}${address}`, {
    headers: etag === undefined ? {} : { 'if-none-match': etag },
  });
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: await response.text(),
  };
}

/** Node adds these itself. */
const OF_THE_CONNECTION = ['connection', 'keep-alive', 'date', 'transfer-encoding'];

/** Keeps one of Vitrine's responses, headers and all, for those that send nothing else. */
async function capture(folder: string, server: Process, group: Group, address: string, etag?: string) {
  const { status, headers, body } = await responseOf(server, address, etag);
  const path = join(folder, `constant-${group}.json`);
  const own = Object.entries(headers).filter(([name]) => !OF_THE_CONNECTION.includes(name));
  writeFileSync(path, JSON.stringify({ status, headers: own.flat(), body }));
  return { path, body };
}

async function startNginx(folder: string, files: string): Promise<Process | undefined> {
  if (versionOf('nginx', '-v') === undefined) return undefined;
  const configured = (port: number) => {
    const path = join(folder, 'nginx.conf');
    writeFileSync(
      path,
      `daemon off; master_process off; pid ${folder}/nginx.pid; error_log stderr error;
events { worker_connections 1024; }
http {
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000; default_type "application/json; charset=utf-8";
  open_file_cache max=10000; types { }
  server { listen 127.0.0.1:${port}; root ${files}; }
}`,
    );
    return ['nginx', '-c', path, '-p', folder];
  };
  return start(configured);
}
