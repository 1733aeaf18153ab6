import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { PUBLISHED } from '../../../src/config/addresses.ts';
import type { ManifestEntry } from '../../../src/tools/publish/manifest.ts';
import { databaseOf } from '../../support/database.ts';
import { fixture, readLines, readRecords, tempFolder, ugly } from '../../support/files.ts';
import { freePort } from '../../support/free-port.ts';
import { ask, dial, hearOut } from '../../support/http.ts';
import { skipWithout } from '../../support/programs.ts';
import { folio } from '../../support/records.ts';
import { done, run, spawned } from '../../support/run.ts';
import { serveHere } from '../../support/serve-here.ts';
import type { LocalServer } from '../../support/server.ts';
import { HOSTS } from './published-hosts.ts';

/** Headers that a host of files cannot have as the server has them. */
const OWN =
  /^(?:etag|last-modified|date|server|connection|keep-alive|accept-ranges|vary|content-length|transfer-encoding|content-encoding)$/;

const shown = async (host: Pick<LocalServer, 'port'>, address: string, headers = {}) => {
  const reply = await ask(host, address, { headers });
  const kept = Object.entries(reply.headers).filter(([name]) => !OWN.test(name));
  return { status: reply.status, body: reply.body, headers: Object.fromEntries(kept) };
};

/** The server has a page for the address of some errors, so that its JSON is private. Published errors have one form. */
function forProxies<Reply extends Awaited<ReturnType<typeof shown>>>(served: Reply): Reply {
  const caching = String(served.headers['cache-control']).replace('private, max-age=5', 'max-age=5');
  return { ...served, headers: { ...served.headers, 'cache-control': caching } };
}

/** Sample users with older pages, spaces, marks and other scripts in their names. */
const SAMPLES = ['ada', 'Mo Farouk', '林晓', 'Zoë', "o'neill"];

const recordsOf = (records: readonly Record<string, unknown>[], names: readonly string[]) => {
  const ids = records.flatMap(({ username, id }) => (names.includes(username as string) ? id : []));
  return records.filter(({ id, user, user_id }) => ids.includes(user ?? user_id ?? id));
};

let server: LocalServer;
let database: string;
/** What the server answers: the same for each host. */
const ofServer = new Map<string, ReturnType<typeof shown>>();
const shownByServer = (address: string) => {
  const known = ofServer.get(address) ?? shown(server, address);
  ofServer.set(address, known);
  return known;
};

beforeAll(async () => {
  database = await databaseOf(
    ...['microblog.ndjson', 'portfolio.ndjson'].flatMap((file) =>
      recordsOf(readRecords(fixture(file)), SAMPLES),
    ),
    ugly('hostile-names.ndjson'),
    // Endings that mean something to web servers.
    ...['gz', 'en', 'var', 'php', 'html', 'htaccess', 'json.gz'].map((ending, at) =>
      folio(9_000_000 + at, `x.${ending}`),
    ),
    folio(9_100_000, '.htaccess'),
  );
  server = await serveHere({ DATABASE_URL: database });
});

describe.each(Object.entries(HOSTS))('%s', (name, { program, isService, compresses, start }) => {
  describe.skipIf(program !== undefined && skipWithout(program))('with its configuration', () => {
    const host = { port: 0 };
    let entries: ManifestEntry[];
    beforeAll(async () => {
      host.port = await freePort();
      entries = await publish(host.port, { DATABASE_URL: database });
    });

    /** Publishes, and serves the files at this port; what the manifest says of them. */
    async function publish(
      port: number,
      env: Record<string, string>,
      ...more: string[]
    ): Promise<ManifestEntry[]> {
      const folder = join(tempFolder(), 'site');
      await done(['publish', folder, '--for', name, ...more], { env: { PORT: '0', ...env } });
      await start(join(folder, 'current'), port);
      return readLines(join(folder, 'current/manifest.ndjson')).map((line) => JSON.parse(line));
    }

    test('answers every canonical address as the server does', async () => {
      // A service makes a URL of a path, in which these names would be steps upwards.
      const addresses = entries.flatMap(({ address }) =>
        address === null || address === PUBLISHED || (isService && /\/\.\.?(?:\/|$)/.test(address))
          ? []
          : address,
      );
      expect(addresses.length).toBeGreaterThan(1000);
      const different: unknown[] = [];
      for (const address of addresses) {
        const [own, published] = [await shownByServer(address), await shown(host, address)];
        if (JSON.stringify(own.body) !== JSON.stringify(published.body) || own.status !== published.status)
          different.push([address, own.status, published.status, published.body.slice(0, 100)]);
        else if (address.includes('?before=') && own.headers['cache-control'] === 'private, no-cache')
          expect(published.headers['cache-control'], address).toMatch(/^public/);
        else expect(published.headers, address).toEqual(own.headers);
      }
      expect(different).toEqual([]);
      const older = addresses.find((address) => address.includes('?before=')) as string;
      const among = await shown(host, older.replace('?', '?x=1&'));
      expect(among.body).toEqual((await shown(host, older)).body);
    });

    test.each([
      ['/a/api/?user=ada&post=true', 200],
      ['/a/api?user=ada&_=123', 200],
      ['/a/api/?post=true&user=ada', 200],
      ['/a/api/?other=1&user=ada&post=true&x', 200],
      ['/a/api/?user=nobody', 404],
      ['/a/api/?user=nobody&post=true', 404],
      ['/a/api/', 400],
      ['/a/api/?user=', 400],
      ['/a/api/?post=true', 400],
      ['/a/api/?user=ada&post=false', 400],
      ['/a/api/?user=ada&post=true&post=true', 400],
      ['/a/api/?user=ada&user=ada', 400],
      ['/b/api/username/nobody', 404],
      ['/b/api/username/nobody/shots', 404],
      ['/b/api/username/', 400],
      ['/b/api/username', 400],
      ['/b/api/username/ada?x=1', 200],
      ['/feeds/b/nobody.atom', 404],
      ['/nothing', 404],
      ['/docs?x', 200],
    ])('answers %s as the server does, with %s', async (address, status) => {
      const own = await shownByServer(address);
      // Servers of files know two spellings of a name.
      const body =
        isService || status !== 404
          ? own.body
          : own.body.replace(
              /Letter case does.*spelling does\./,
              'Write it as the user does, or in lower case: other letter case is not found here.',
            );
      expect(await shown(host, address)).toEqual(forProxies({ ...own, body }));
      expect(own.status).toBe(status);
    });

    test.each(['/people/b/ada/3', '/people/b/ada?before=3', '/feeds/b/ada/3.atom'])(
      'does not say of %s that there is no such user',
      async (address) => {
        const { status, body } = await shown(host, address);
        expect([status, JSON.parse(body).code]).toEqual([404, 'ROUTE_NOT_FOUND']);
      },
    );

    if (isService)
      test.each([
        ...'/a/api/?user=ADA&post=true /a/api?us%65r=%41da /a/api/?post=%74rue&user=ada'.split(' '),
        ...'/%61/api/?user=ada /a/api/?user=mo+farouk /b/api/username/ZO%c3%8b /b/api/username/zo%65%cc%88'.split(
          ' ',
        ),
        ...'/b/api/username/%61da/shots /people/b/ADA /card/a/Ada.svg /feeds/b/ADA.atom'.split(' '),
        ...'/a/api/?user=%zz /b/api/username/%zz /b/api/username/%00'.split(' '),
        ...[`/b/api/username/${'x'.repeat(256)}`, `/a/api/?user=${'x'.repeat(255)}`],
      ])('answers %s, which is not canonical, as the server does', async (address) => {
        expect(await shown(host, address)).toEqual(await shownByServer(address));
      });

    if (isService)
      test('has the ETags of the server for lookups', async () => {
        const list = '/b/api/username/ada/shots';
        for (const coding of ['identity', 'gzip']) {
          const { etag } = (await ask(server, list, { headers: { 'accept-encoding': coding } })).headers;
          const again = { headers: { 'if-none-match': `"other", W/${etag}` } };
          const { status, body } = await ask(host, list, again);
          expect([status, body], etag).toEqual([304, '']);
        }
        expect((await ask(host, list)).headers.etag).toBe((await ask(server, list)).headers.etag);
        expect((await ask(host, '/nothing', { method: 'POST' })).status).toBe(404);
      });

    test('doctor says what the host is', async () => {
      const ran = await run(['doctor', `http://127.0.0.1:${host.port}/b`, '--user', 'ada']);
      const [first = ''] = ran.stdout.split('\n', 1);
      expect(first.slice(first.indexOf('user'))).toBe(`user "ada"; files of \`vitrine publish\` for ${name}`);
      // The emulators of services do not all compress, as the services do.
      if (compresses) expect(ran).toMatchObject({ code: 0, stdout: expect.not.stringMatching('broken') });
    });

    test('tells hosts apart, if base URLs name several', async () => {
      const env = {
        DATABASE_URL: database,
        PORT: '0',
        BASE_URL_A: 'http://one.example/a',
        BASE_URL_B: 'http://two.example/b',
        BASE_URL_C: '/c',
      };
      const port = await freePort();
      await publish(port, env, '--without', 'cards,feeds,pages');
      const own = await serveHere({ ...env, EXPLORER: 'off' });
      for (const host of ['one.example', 'two.example'])
        for (const address of '/a/api/?user=ada /b/api/username/ada/shots /c/api/username/ada /openapi.json /docs'.split(
          ' ',
        )) {
          const served = await shown(own, address, { host });
          expect(await shown({ port }, address, { host }), host + address).toEqual(served);
          if (isService) continue;
          for (const spelling of [`${host}:80`, `${host}:${port}`, `${host}.`, host.toUpperCase()])
            expect(await shown({ port }, address, { host: spelling }), spelling + address).toEqual(served);
        }
    });

    if (!isService)
      test('listens on the port of a base URL, which is a part of its host', async () => {
        const port = await freePort();
        const base = `http://127.0.0.1:${port}/b`;
        const env = { DATABASE_URL: database, PORT: '0', BASE_URL_B: base };
        await publish(port, env, '--without', 'cards,feeds');
        const own = await serveHere(env);
        for (const host of [`127.0.0.1:${port}`, '127.0.0.1'])
          for (const address of '/b/api/username/ada /people/b/ada /c/api/username/ada / /docs'.split(' ')) {
            const served = await shown(own, address, { host });
            expect(await shown({ port }, address, { host }), host + address).toEqual(forProxies(served));
            if (host.includes(':')) expect(served.status).toBe(200);
          }
        expect((await run(['doctor', base, '--user', 'ada'])).stdout).not.toMatch('serves nothing');
      });

    test('refuses to write, and tells browsers so', async () => {
      for (const method of ['POST', 'DELETE', 'PUT']) {
        const [own, published] = [server, host].map((each) => ask(each, '/b/api/username/ada', { method }));
        const { status, body, headers } = (await published) as Awaited<typeof published> & object;
        expect([status, body, headers.allow]).toEqual([405, (await own)?.body, (await own)?.headers.allow]);
      }
      const asked = {
        method: 'OPTIONS',
        headers: { 'access-control-request-method': 'GET', origin: 'https://x.example' },
      };
      const { status, headers } = await ask(host, '/b/api/username/ada', asked);
      expect([status, headers['access-control-allow-origin']]).toEqual([204, '*']);
      expect(headers['access-control-allow-headers']).toBe('*');
    });

    async function askRaw(address: string): Promise<string> {
      const socket = await dial(host);
      const heard = hearOut(socket);
      socket.write(`GET ${address} HTTP/1.1\r\nHost: 127.0.0.1:${host.port}\r\nConnection: close\r\n\r\n`);
      return String(await heard);
    }

    /** What is no path does not reach the code that is published: the service refuses it. */
    async function askService(address: string): Promise<string> {
      const { status, body } = await ask(host, address.replace(/^(?!\/)/, '/'));
      return `HTTP/1.1 ${status} ${body}`;
    }

    test('no hostile address leads out of the folder, or is an error of the host', {
      timeout: 900_000,
    }, async () => {
      const wrong: unknown[] = [];
      const outside = (body: string) => /^\{"group"|^\[build\]|^map |^const SITE|^#!|root:/m.test(body);
      for (const address of hostileAddresses(HOSTILE)) {
        const reply = await (isService ? askService(address) : askRaw(address));
        if (!/^HTTP\/1\.[01] [234]/.test(reply) || outside(reply)) wrong.push([address, reply]);
      }
      expect(wrong).toEqual([]);
    });
  });
});

test('a folder where none can be made is an error', async () => {
  const { code, stderr } = await spawned(['publish', '/proc/x/site', '--for', 'nginx'], {
    env: { DATABASE_URL: database },
  });
  expect([code, stderr]).toEqual([1, expect.stringContaining('/proc/x')]);
});

const HOSTILE = 2_000;
const PARTS = [
  ...String.raw`.. . / \ %2e %2E%2e %2f %5c %00 %0a %0d%0a %252e%252e%252f % %zz %c0%ae %u002e`.split(' '),
  ...'; & && = ? # + $1 {1} {path} %{ENV:HOME} * [a-z] ~ " < | é user=ada post=true ada'.split(' '),
  ...'manifest.ndjson nginx.conf etc/passwd .json .gz .html errors/'.split(' '),
  ...["'", '-errors/USER_MISSING', 'data/a/profile', 'x'.repeat(300), '../'.repeat(30)],
];
const STARTS = [
  ...'/a/api/?user= /a/api? /b/api/username/ /people/a/ /card/b/ /feeds/c/ /media/ /'.split(' '),
  '',
];

/** The same addresses each time. */
function* hostileAddresses(count: number): Generator<string> {
  let state = 1;
  const choose = <T>(list: readonly T[]): T => {
    state = (state * 48_271) % 2_147_483_647;
    return list[state % list.length] as T;
  };
  for (let number = 0; number < count; number++) {
    const parts = Array.from({ length: choose([1, 2, 3, 4, 6]) }, () => choose(PARTS));
    yield choose(STARTS) + parts.join('');
  }
}
