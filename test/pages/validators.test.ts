// What is written for other programs, held against schemas and libraries that others made: feeds, sitemaps, oEmbed.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { extract } from '@extractus/oembed-extractor';
import { Ajv } from 'ajv';
import Database from 'better-sqlite3';
import { RelaxNGValidator, XmlDocument, XsdValidator } from 'libxml2-wasm';
import { parseSitemapIndex } from 'sitemap';
import { beforeAll, describe, expect, test } from 'vitest';
import { databaseOf } from '../support/database.ts';
import { ROOT } from '../support/files.ts';
import { freePort } from '../support/free-port.ts';
import { ask, json } from '../support/http.ts';
import { folio, shot } from '../support/records.ts';
import { serveHere } from '../support/serve-here.ts';
import type { LocalServer } from '../support/server.ts';

const require = createRequire(import.meta.url);
const parse = (path: string) => XmlDocument.fromBuffer(readFileSync(path));

const HOST = 'https://f.example';
const headers = { host: 'f.example' };

describe('feeds', () => {
  const atom = RelaxNGValidator.fromDoc(parse(join(ROOT, 'test/support/atom.rng')));
  const isJsonFeed = new Ajv({ strict: false, formats: { uri: URL.canParse, 'date-time': true } }).compile(
    require('jsonfeed-schema'),
  );
  let own: LocalServer;
  beforeAll(async () => {
    const items = Array.from({ length: 40 }, (_, nth) => nth + 1);
    const records = [
      folio(1, 'many', { name: '<&>', bio: ']]>' }),
      ...items.map((id) => shot(id, 1, { tags: 'a & b,c', date: '2026-01-01 00:00:00' })),
      ...[folio(2, 'zero'), shot(50, 2, { date: '0000-00-00 00:00:00' })],
    ];
    own = await serveHere({
      BASE_URL_B: `${HOST}/b`,
      DATABASE_URL: await databaseOf(...records),
    });
  });

  test.each(['a/ada', 'b/ada', 'c/quiet_reader'])('of a sample user, %s', async (user) => {
    const samples = await serveHere();
    await expectValid(samples, `/feeds/${user}`);
  });

  test('of an item without date and text', async () => {
    expect(await expectValid(own, '/feeds/b/zero')).toHaveLength(1);
  });

  test('of a user with more items than a list has: the newest', async () => {
    expect(await expectValid(own, '/feeds/b/many')).toHaveLength(15);
  });

  /** Gives the ids of the entries. */
  async function expectValid(server: LocalServer, path: string): Promise<string[]> {
    const { body } = await ask(server, `${path}.atom`, { headers });
    const document = XmlDocument.fromString(body);
    expect(() => atom.validate(document)).not.toThrow();
    document.dispose();
    const feed = json(await ask(server, `${path}.json`, { headers }));
    isJsonFeed(feed);
    expect(isJsonFeed.errors).toBe(null);
    const ids = [...body.matchAll(/<entry>\s*<id>(.*?)<\/id>/g)].map(([, id = '']) => id);
    expect(feed.items.map(({ id }: { id: string }) => id)).toEqual(ids);
    return ids;
  }
});

describe('sitemaps of 10,000 people', () => {
  const COUNT = 10_000;
  const schema = XsdValidator.fromDoc(
    parse(join(require.resolve('sitemap/package.json'), '../schema/sitemap.xsd')),
  );
  let url: string;
  let base: string;
  beforeAll(async () => {
    url = await databaseOf(folio(1, 'first'), shot(7, 1), shot(8, 1));
    const database = new Database(url);
    database
      .prepare(`
        WITH RECURSIVE numbers (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
        INSERT INTO profiles (family, user_key, id, etag, record)
        SELECT 'portfolio', printf('u%06d&', n), n, '"x"', json_object('username', printf('U%06d&', n)) FROM numbers`)
      .run(COUNT);
    database.prepare("UPDATE counts SET number = ? WHERE kind = 'portfolio profile'").run(COUNT);
    database.close();
    const port = await freePort();
    base = `http://127.0.0.1:${port}`;
    const bases = { BASE_URL_A: '', BASE_URL_B: `${base}/b`, BASE_URL_C: `${base}/c` };
    await serveHere({ PORT: String(port), DATABASE_URL: url, DIRECTORY: 'on', ...bases });
  });
  const get = (address: string, more = {}) => fetch(new URL(address, base), { headers: more });
  const files = async () => {
    const body = await (await get('/sitemap.xml')).text();
    return (await parseSitemapIndex(Readable.from([body]))).map(({ url }) => url);
  };

  test('are valid and short, and name everybody and their items once', async () => {
    const found: string[] = [];
    for (const file of await files()) {
      const body = await (await get(file)).text();
      const document = XmlDocument.fromString(body);
      expect(() => schema.validate(document)).not.toThrow();
      document.dispose();
      const addresses = [...body.matchAll(/<loc>(.*?)<\/loc>/g)].map(([, address = '']) => address);
      expect(addresses.length).toBeLessThanOrEqual(1000);
      found.push(...addresses);
    }
    const names = Array.from({ length: COUNT - 1 }, (_, nth) => `U${String(nth + 2).padStart(6, '0')}%26`);
    expect(found).toEqual(
      ['', '/first', '/first/8', '/first/7', ...names.map((name) => `/${name}`)].map(
        (path) => `${base}/people/b${path}`,
      ),
    );
    expect((await get(`/sitemap-b-${COUNT / 50 + 1}.xml`)).status).toBe(404);
    // B shows the same.
    expect((await get('/sitemap-c-1.xml')).status).toBe(404);
  });
});

test('a consumer of oEmbed finds a rich card by the address of a page', async () => {
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  await serveHere({ PORT: String(port), BASE_URL_B: `${base}/b` });
  expect(await extract(`${base}/people/b/ada`)).toMatchObject({
    version: '1.0',
    type: 'rich',
    title: 'Ada Lindqvist (@ada)',
    provider_url: `${base}/`,
    html: expect.stringContaining(`src="${base}/card/b/ada.svg"`),
  });
});
