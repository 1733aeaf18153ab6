// Sitemaps are made once for each version of the data, however many clients ask for them.

import { expect, test } from 'vitest';
import { oncePerVersion } from '../../../src/pages/directory/once-per-version.ts';
import { NO_COUNTS } from '../../../src/stores/sql/counts.ts';
import { ask } from '../../support/http.ts';
import { serveLookups } from '../../support/serve-here.ts';

const entry = (name: string) => ({ key: name, username: name, etag: '"x"', name, bio: '', avatar: '' });

test('clients share a sitemap and the index, at the same time and later', async () => {
  const found = { version: 1, users: 0 };
  const server = await serveLookups(
    {
      version: () => found.version,
      users: async (_family, { limit, after = '' }) => {
        found.users++;
        return after === '' ? [entry('ada'), entry('bo')].slice(0, limit) : [];
      },
      counts: () => ({ ...NO_COUNTS, 'portfolio profile': 2 }),
      historySizes: () => [],
    },
    { directory: 'on', baseUrlA: '', baseUrlB: 'http://b.example/b', baseUrlC: '' },
  );
  const read = async (path: string) => {
    const { status, body } = await ask(server, path, { headers: { host: 'b.example' } });
    expect(status).toBe(200);
    return body;
  };
  const countReads = async (during: () => Promise<unknown>) => {
    const before = found.users;
    await during();
    return found.users - before;
  };
  const readAll = (path: string) => Promise.all(Array.from({ length: 30 }, () => read(path)));

  const [first] = await readAll('/sitemap-b-1.xml');
  expect(first).toContain('<loc>http://b.example/people/b/bo</loc>');
  for (const path of ['/sitemap-b-1.xml', '/sitemap.xml']) {
    await read(path);
    expect(await countReads(() => readAll(path))).toBe(0);
  }
  // Whatever changes the data makes them anew, once.
  found.version++;
  expect(await countReads(() => readAll('/sitemap-b-1.xml'))).toBe(await countReads(() => changeAndRead()));
  async function changeAndRead() {
    found.version++;
    await read('/sitemap-b-1.xml');
  }
});

test('the index is made of the number of users, without reading them', async () => {
  let users = 0;
  const server = await serveLookups(
    {
      version: () => 1,
      users: async (_family, { limit }) => {
        users += limit;
        return Array.from({ length: limit }, () => entry('ada'));
      },
      counts: () => ({ ...NO_COUNTS, 'portfolio profile': 1_000_001 }),
    },
    { directory: 'on', baseUrlA: '', baseUrlB: 'http://b.example/b', baseUrlC: '' },
  );
  const { body } = await ask(server, '/sitemap.xml', { headers: { host: 'b.example' } });
  expect(body.match(/<loc>[^<]*/g)?.at(-1)).toBe('<loc>http://b.example/sitemap-b-20001.xml');
  expect(users).toBe(1);
});

test('of 1,051 people, the sitemaps that the index names list each once', async () => {
  const people = Array.from({ length: 1051 }, (_, nr) => entry(`user${String(nr).padStart(4, '0')}`));
  const server = await serveLookups(
    {
      version: () => 1,
      users: async (_family, { after = '', skip = 0, limit }) =>
        people.filter(({ key }) => key > after).slice(skip, skip + limit),
      counts: () => ({ ...NO_COUNTS, 'portfolio profile': people.length }),
      historySizes: () => [],
    },
    { directory: 'on', baseUrlA: '', baseUrlB: 'http://b.example/b', baseUrlC: '' },
  );
  const listed = async (path: string) => {
    const { body } = await ask(server, path, { headers: { host: 'b.example' } });
    return [...body.matchAll(/<loc>([^<]*)/g)].map(([, address = '']) => address);
  };
  const pages = [];
  for (const file of await listed('/sitemap.xml')) pages.push(...(await listed(new URL(file).pathname)));
  const directory = 'http://b.example/people/b';
  expect(pages).toEqual([directory, ...people.map(({ key }) => `${directory}/${key}`)]);
});

test('the last few are kept as the same objects, and failures are not kept', async () => {
  const data = { version: 1 };
  const share = oncePerVersion<{ name: string }>({ version: () => data.version }, 2);
  let made = 0;
  const get = (name: string) =>
    share(name, async () => {
      made++;
      return { name };
    });
  const [a, again] = await Promise.all([get('a'), get('a')]);
  expect(again).toBe(a);
  await get('b');
  expect(await get('a')).toBe(a);
  await get('c');
  expect([made, await get('a')]).toEqual([3, a]);
  await get('b');
  expect(made).toBe(4);
  data.version++;
  expect(await get('a')).not.toBe(a);
  await expect(share('d', () => Promise.reject(new Error('no data')))).rejects.toThrow('no data');
  expect(await get('d')).toEqual({ name: 'd' });
});
