import { join } from 'node:path';
import { expect, test } from 'vitest';
import { databaseOf } from '../../support/database.ts';
import { ndjson, tempFile, tempFolder } from '../../support/files.ts';
import { freePort } from '../../support/free-port.ts';
import { type Front, startFront, withoutProxy } from '../../support/fronts.ts';
import { ask, type Reply } from '../../support/http.ts';
import { folio, shot } from '../../support/records.ts';
import { done } from '../../support/run.ts';
import { type Server, startServer } from '../../support/server.ts';
import { linesOf, startLoad, until } from '../../support/stress.ts';

const USERS = 100;
const CHANGED = 7;
const [REMOVED, ADDED, TAKEN_DOWN] = [50, USERS + 1, 90];
const PURGED = [CHANGED, REMOVED, ADDED];
const EVERYBODY = Array.from({ length: USERS }, (_, index) => index + 1);

/** Of each user a profile and a shot that name their generation. */
const fileOf = (users: readonly number[], isNew: (user: number) => boolean) =>
  tempFile(
    'users.ndjson',
    ndjson(
      ...users.flatMap((user) => {
        const text = `generation ${isNew(user) ? 2 : 1}`;
        return [folio(user, `User${user}`, { bio: text }), shot(user, user, { title: text })];
      }),
    ),
  );

/** The addresses of a user, in several spellings. */
const addressesOf = (user: number) => [
  ...['', '/shots'].flatMap((end) =>
    ['b/api/username/User', 'b/api/username/uSER', 'c/api/username/useR'].map(
      (start) => `/${start}${user}${end}`,
    ),
  ),
  ...(user === ADDED ? [] : [`/people/b/User${user}`]),
];

/** An address as the server was asked for it. */
const userIn = (url: string) => Number(/user(\d+)/i.exec(url)?.[1]);

interface Site {
  readonly env: Record<string, string>;
  readonly server: Server;
  readonly front: Front;
}

async function startSite(): Promise<Site> {
  const env = {
    DATABASE_URL: await databaseOf(fileOf(EVERYBODY, () => false)),
    PORT: String(await freePort()),
    TRUST_PROXY: 'loopback',
    ACCESS_LOG: 'on',
    CACHE_CONTROL: 'public, max-age=1',
    TAKEDOWN_STATUS: '410',
    PURGE: `nginx:${join(tempFolder(), 'cache')}`,
  };
  const server = await startServer(env);
  const front = await startFront('nginx', env);
  await until('an answer', async () => (await ask(front, '/b')).status === 404);
  // The first time it is told everything.
  await done(['purge'], { env });
  return { env, server, front };
}

const askedOf = (server: Server) =>
  linesOf(server).flatMap(({ url }) => (userIn(String(url)) > 0 ? [String(url)] : []));

/** Status, state of the cache, and the headers that say how old it is. */
const look = async (front: Front, url: string) => {
  const { status, headers } = await ask(front, url);
  const { 'x-cache-status': state, 'cache-control': caching, age, 'x-accel-expires': life } = headers;
  return [status, state, caching, age, life];
};

test.skipIf(withoutProxy('nginx'))('nginx keeps answers for a day, and nothing old', async () => {
  const { env, server, front } = await startSite();
  const addresses = [...EVERYBODY, ADDED].flatMap(addressesOf);
  for (const url of addresses) await ask(front, url);
  const warm = Date.now();
  await until('the log', () => askedOf(server).length === addresses.length);
  await until('the time of CACHE_CONTROL to be over', () => Date.now() > warm + 2000);

  // Under load, 1% of the users change, one is removed, and one is new.
  let ended = Number.POSITIVE_INFINITY;
  // What was on its way through a busy machine may come later than the import ends.
  const GRACE_MS = 7000;
  const judge = (url: string, { status, headers, body }: Reply) => {
    const user = userIn(url);
    const state = headers['x-cache-status'];
    if (!PURGED.includes(user)) return status === 200 && state === 'HIT' ? undefined : `${status} ${state}`;
    const isNew = user === REMOVED ? status === 404 : body.includes('generation 2');
    return isNew || Date.now() < ended + GRACE_MS ? undefined : 'old';
  };
  const load = startLoad(front, addresses, judge);
  await load.more(500);
  const users = [...EVERYBODY, ADDED].filter((user) => user !== REMOVED);
  await done(['import', '--replace', fileOf(users, (user) => PURGED.includes(user))], { env });
  ended = Date.now();
  await until('the end of the grace time', () => Date.now() > ended + GRACE_MS);
  await load.more(2 * addresses.length);
  expect(await load.stop()).toEqual([]);
  const again = () => [...new Set(askedOf(server).slice(addresses.length))].sort();
  const purged = PURGED.flatMap(addressesOf).sort();
  await until('the log', () => again().length >= purged.length);
  expect(again()).toEqual(purged);

  // A takedown is known at once, and 410 is kept as well; clients see ordinary headers.
  const [gone = ''] = addressesOf(TAKEN_DOWN);
  expect(await look(front, gone)).toEqual([200, 'HIT', 'public, max-age=1', undefined, undefined]);
  await done(['takedown', '--family', 'portfolio', `user${TAKEN_DOWN}`], { env });
  for (const url of addressesOf(TAKEN_DOWN))
    expect({ url, status: (await ask(front, url)).status }).toEqual({ url, status: 410 });
  const asked = Date.now();
  await until('the time of a 410 to be over', () => Date.now() > asked + 6000);
  expect(await look(front, gone)).toEqual([
    410,
    'HIT',
    'max-age=5, stale-while-revalidate=0',
    undefined,
    undefined,
  ]);

  // Without a server what is kept is served, and no error is kept.
  await server.stop();
  const [other = '', , dropped = ''] = EVERYBODY.slice(60).flatMap(addressesOf);
  expect((await look(front, other)).slice(0, 2)).toEqual([200, 'HIT']);
  await done(['purge', '--all'], { env });
  await until('an error', async () => (await ask(front, dropped)).status === 503);
  await startServer(env);
  await until('an answer', async () => (await ask(front, dropped)).status === 200);
});
