// A published site behind real web servers, with exactly the configurations that are written: what they answer is what the
// server answers.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Entry } from '../../src/publish/manifest.ts';
import { freePort } from '../free-port.ts';
import { runNginx } from '../nginx-any.ts';
import { skipWithout } from '../programs.ts';
import { startProxy } from '../proxies.ts';
import {
  databaseOf,
  done,
  exchange,
  fixture,
  type LocalServer,
  readLines,
  tempFolder,
  ugly,
} from '../rig.ts';
import { serveHere } from '../serve-here.ts';

const HOSTS = {
  nginx: {
    file: 'nginx.conf',
    start: (text: string, port: number) =>
      runNginx(text.replace('listen 80;', `listen 127.0.0.1:${port};`), [port]),
  },
  caddy: {
    file: 'Caddyfile',
    async start(text: string, port: number) {
      const config = join(tempFolder(), 'Caddyfile');
      const global = '{\n\tadmin off\n\tauto_https off\n}\n';
      writeFileSync(config, global + text.replace('http://profiles.example.org', `http://127.0.0.1:${port}`));
      await startProxy('caddy', ['run', '--config', config, '--adapter', 'caddyfile'], [port]);
    },
  },
} as const;

/** Headers that a host of files cannot have as the server has them, or that each sets itself. */
const OWN =
  /^(?:etag|last-modified|date|server|connection|keep-alive|accept-ranges|vary|content-length|transfer-encoding|content-encoding)$/;

const shown = async (host: Pick<LocalServer, 'port'>, address: string, headers = {}) => {
  const reply = await exchange(host, address, { headers });
  const kept = Object.entries(reply.headers).filter(([name]) => !OWN.test(name));
  return { status: reply.status, body: reply.body, headers: Object.fromEntries(kept) };
};

let server: LocalServer;
let database: string;
beforeAll(async () => {
  database = await databaseOf(
    ...['microblog.ndjson', 'portfolio.ndjson'].map(fixture),
    ugly('hostile-names.ndjson'),
  );
  server = await serveHere({ DATABASE_URL: database });
});

describe.each(['nginx', 'caddy'] as const)('%s', (name) => {
  describe.skipIf(skipWithout(name))('with its configuration', () => {
    const host = { port: 0 };
    let entries: Entry[];
    beforeAll(async () => {
      const folder = join(tempFolder(), 'site');
      await done(['publish', folder, '--for', name, '--without', 'previews'], {
        env: { DATABASE_URL: database, PORT: '0' },
      });
      entries = readLines(join(folder, 'current/manifest.ndjson')).map((line) => JSON.parse(line));
      host.port = await freePort();
      await HOSTS[name].start(readFileSync(join(folder, 'current', HOSTS[name].file), 'utf8'), host.port);
    });

    test('answers every canonical address as the server does', async () => {
      const addresses = entries.flatMap(({ address }) => address ?? []);
      expect(addresses.length).toBeGreaterThan(1000);
      const different: unknown[] = [];
      for (const address of addresses) {
        const [own, published] = [await shown(server, address), await shown(host, address)];
        if (JSON.stringify(own.body) !== JSON.stringify(published.body) || own.status !== published.status)
          different.push([address, own.status, published.status, published.body.slice(0, 100)]);
        else expect(published.headers, address).toEqual(own.headers);
      }
      expect(different).toEqual([]);
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
      expect(await shown(host, address)).toEqual(await shown(server, address));
      expect((await shown(host, address)).status).toBe(status);
    });

    test('refuses to write, and tells browsers so', async () => {
      for (const method of ['POST', 'DELETE', 'PUT']) {
        const [own, published] = [server, host].map((each) =>
          exchange(each, '/b/api/username/ada', { method }),
        );
        const { status, body, headers } = (await published) as Awaited<typeof published> & object;
        expect([status, body, headers.allow]).toEqual([405, (await own)?.body, (await own)?.headers.allow]);
      }
      const asked = {
        method: 'OPTIONS',
        headers: { 'access-control-request-method': 'GET', origin: 'https://x.example' },
      };
      const { status, headers } = await exchange(host, '/b/api/username/ada', asked);
      expect([status, headers['access-control-allow-origin']]).toEqual([204, '*']);
      expect(headers['access-control-allow-headers']).toBe('*');
    });

    test('sends the compressed file to those that take it, and 304 to those that have it', async () => {
      const list = '/b/api/username/ada/shots';
      const packed = await exchange(host, list, { headers: { 'accept-encoding': 'gzip' } });
      expect([packed.status, packed.headers['content-encoding']]).toEqual([200, 'gzip']);
      expect(packed.headers.vary).toMatch(/accept-encoding/i);
      const plain = await exchange(host, list);
      const again = await exchange(host, list, {
        headers: { 'if-none-match': plain.headers.etag as string },
      });
      expect([again.status, again.body]).toEqual([304, '']);
    });

    test('no address leads out of the folder', async () => {
      for (const part of [
        '..%2f..%2fmanifest.ndjson',
        '../../manifest',
        '%2e%2e/x',
        '..\\x',
        '%00',
        '.',
        '..',
      ]) {
        for (const address of [
          `/a/api/?user=${part}`,
          `/b/api/username/${part}`,
          `/media/${part}`,
          `/${part}`,
        ]) {
          const { status, body } = await exchange(host, address);
          expect([status < 500, /^\{"group"|^map /m.test(body)], address).toEqual([true, false]);
        }
      }
    });
  });
});
