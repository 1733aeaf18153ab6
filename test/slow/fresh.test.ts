// The next response shows what an import committed; the answer cache is bounded and cleared when the data changes.
import { beforeAll, describe, expect, test } from 'vitest';
import { createAnswerCache } from '../../src/http/answer-cache.ts';
import { VARIANTS } from '../expected.ts';
import { blog, folio, post, shot } from '../records.ts';
import {
  ask,
  databaseOf,
  done,
  importInto,
  ndjson,
  type Server,
  startServer,
  tempFile,
  vitrine,
} from '../rig.ts';
import { adminOf } from '../stress.ts';

const FLIPS = 200;
const ADDRESSES = VARIANTS.flatMap(({ profileOf, itemsOf }) => [profileOf('ada'), itemsOf('ada')]);
/** One generation of one user in both families. */
const generation = (number: number) =>
  ndjson(
    blog(12, 'ada', { bio: `generation ${number}` }),
    folio(7, 'ada', { bio: `generation ${number}` }),
    post(5, 12, { post_details: `generation ${number}` }),
    shot(5, 7, { title: `generation ${number}` }),
  );

describe('a running server', () => {
  let path: string;
  let server: Server;
  beforeAll(async () => {
    path = await databaseOf(tempFile('0.ndjson', generation(0)));
    server = await startServer({ DATABASE_URL: path });
  });

  async function expectGeneration(number: number) {
    const bodies = await Promise.all(ADDRESSES.map(async (url) => (await ask(server, url)).body));
    for (const body of bodies) expect(body).toContain(`"generation ${number}"`);
  }

  test('shows each import by another process in the next response', async () => {
    for (let number = 1; number <= 5; number++) {
      await expectGeneration(number - 1);
      await done(['import', '--database-url', path, '-'], { input: generation(number) });
      await expectGeneration(number);
    }
  });

  test(`shows each of ${FLIPS} imports in a row in the next response`, async () => {
    for (let number = 100; number < 100 + FLIPS; number++) {
      await importInto(path, ['-'], generation(number));
      const address = ADDRESSES[number % ADDRESSES.length] as string;
      // The first request fills the cache, the second uses it: the next import must clear it.
      for (let time = 0; time < 2; time++)
        expect((await ask(server, address)).body).toContain(`"generation ${number}"`);
    }
  }, 120_000);

  test('shows added, removed and renamed users', async () => {
    const statusOf = async (name: string) => (await ask(server, `/a/api/?user=${name}`)).status;
    const become = (name: string) =>
      done(['import', '--database-url', path, '-'], {
        input: ndjson(blog(77, name)),
      });
    expect(await statusOf('newcomer')).toBe(404);
    await become('newcomer');
    expect(await statusOf('newcomer')).toBe(200);
    await become('renamed');
    expect([await statusOf('newcomer'), await statusOf('renamed')]).toEqual([404, 200]);
    await done(['remove', '--database-url', path, '--family', 'microblog', 'RENAMED']);
    expect(await statusOf('renamed')).toBe(404);
    await done(['import', '--database-url', path, '--replace', '-'], {
      input: ndjson(blog(78, 'alone')),
    });
    expect([await statusOf('alone'), await statusOf('ada')]).toEqual([200, 404]);
    expect((await ask(server, '/b/api/username/ada')).status).toBe(200);
  });

  test('shows all of an import or nothing, and answers every request meanwhile', async () => {
    const crowd = (mark: string) =>
      ndjson(
        blog(1, 'crowd', { bio: mark }),
        ...Array.from({ length: 20_000 }, (_, index) => post(index + 100, 1, { post_details: mark })),
      );
    await importInto(path, ['-'], crowd('old'));
    const child = vitrine(['import', '--database-url', path, '-']);
    let ended: number | null | undefined;
    child.once('close', (code) => {
      ended = code;
    });
    child.stdin?.end(crowd('new'));
    const seen = new Set<string>();
    for (let last = false; !last; ) {
      last = ended !== undefined;
      const { status, body } = await ask(server, '/a/api/?user=crowd&post=true');
      expect(status).toBe(200);
      const marks = new Set(
        JSON.parse(body).posts.map((post: { post_details: string }) => post.post_details),
      );
      expect(marks.size).toBe(1);
      seen.add([...marks].join());
    }
    expect([ended, [...seen]]).toEqual([0, ['old', 'new']]);
  });
});

describe('the answer cache', () => {
  const BODY = Buffer.alloc(500);

  function cacheOf(maxBytes: number) {
    const data = { version: 1 };
    const cache = createAnswerCache<{ body: Buffer }>({ maxBytes, version: () => data.version });
    /** Gets an answer or stores a new one, as a lookup does. */
    const ask = (address: string, body = BODY) => {
      const found = cache.find(address);
      if (found === undefined) cache.keep(address, { body }, cache.currentVersion());
      return found;
    };
    return { cache, data, ask };
  }

  test('stores answers and counts hits and misses', () => {
    const { cache, ask } = cacheOf(1e6);
    expect(ask('/one')).toBeUndefined();
    expect(ask('/one')).toEqual({ body: BODY });
    expect([cache.count(), cache.figures.hits, cache.figures.misses]).toEqual([1, 1, 1]);
  });

  test('never exceeds its size limit', () => {
    const { cache, ask } = cacheOf(50_000);
    for (let n = 0; n < 5000; n++) {
      ask(`/user/${n}`, Buffer.alloc((n * 7919) % 9000));
      expect(cache.bytes()).toBeLessThanOrEqual(50_000);
    }
    expect(cache.count()).toBeGreaterThan(5);
  });

  test('when full, rarely admits users requested once', () => {
    const { cache, ask } = cacheOf(50_000);
    for (let n = 0; n < 5000; n++) ask(`/user/${n}`);
    expect(cache.figures.evictions).toBeLessThan(100);
  });

  test('when full, admits users requested repeatedly', () => {
    const { cache, ask } = cacheOf(50_000);
    for (let n = 0; n < 200; n++) ask(`/user/${n}`);
    for (let n = 0; n < 2000; n++) ask('/favourite');
    expect(cache.find('/favourite')).toBeDefined();
    for (let n = 0; n < 20_000; n++) {
      ask(`/once/${n}`);
      if (n % 10 === 0) ask('/favourite');
    }
    expect(cache.find('/favourite')).toBeDefined();
  });

  test.each([0, 900])('with a limit of %i stores nothing larger', (bound) => {
    const { cache, ask } = cacheOf(bound);
    ask('/one', Buffer.alloc(1000));
    expect([cache.count(), cache.bytes()]).toEqual([0, 0]);
  });

  test('is cleared when the data changes, and rejects answers read before the change', () => {
    const { cache, data, ask } = cacheOf(1e6);
    ask('/one');
    const before = cache.currentVersion();
    data.version++;
    expect(cache.find('/one')).toBeUndefined();
    expect([cache.count(), cache.bytes(), cache.figures.drops]).toEqual([0, 0, 1]);
    cache.keep('/slow', { body: BODY }, before);
    expect(cache.find('/slow')).toBeUndefined();
  });
});

test('unknown users are not cached', async () => {
  const server = await startServer({ ADMIN_PORT: '0' });
  const admin = adminOf(server);
  await ask(server, '/a/api/?user=ada');
  for (let n = 0; n < 300; n++) expect((await ask(server, `/a/api/?user=nobody-${n}`)).status).toBe(404);
  expect((await ask(admin, '/metrics')).body).toMatch(/^vitrine_answers 1$/m);
});
