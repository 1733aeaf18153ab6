// What an import commits is in the very next answer; ready answers are bounded, and dropped when the data moves.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../src/config/config.ts';
import { createAnswers } from '../src/http/answer-cache.ts';
import { serve } from '../src/server/serve.ts';
import { openReader } from '../src/stores/sqlite/read.ts';
import { createLog } from '../src/telemetry/log.ts';
import { VARIANTS } from './expected.ts';
import {
  ask,
  databaseOf,
  done,
  fixture,
  importInto,
  ndjson,
  type Server,
  startServer,
  tempFile,
  vitrine,
} from './rig.ts';

const FLIPS = 200;
const ADDRESSES = VARIANTS.flatMap(({ profileOf, itemsOf }) => [profileOf('ada'), itemsOf('ada')]);
/** One generation of one user in both families. */
const generation = (number: number) =>
  ndjson(
    { totalPost: '1', id: '12', username: 'ada', bio: `generation ${number}` },
    { totalShots: '1', id: '7', username: 'ada', bio: `generation ${number}` },
    { id: '5', user: '12', post_details: `generation ${number}`, date: '2024-01-01 00:00:00' },
    { id: '5', user_id: '7', title: `generation ${number}`, date: '2024-01-01 00:00:00' },
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

  test('shows each import of another process at once', async () => {
    for (let number = 1; number <= 5; number++) {
      await expectGeneration(number - 1);
      await done(['import', '--database-url', path, '-'], { input: generation(number) });
      await expectGeneration(number);
    }
  });

  test(`shows each of ${FLIPS} imports in a row, each in the very next answer`, async () => {
    for (let number = 100; number < 100 + FLIPS; number++) {
      await importInto(path, ['-'], generation(number));
      const address = ADDRESSES[number % ADDRESSES.length] as string;
      // Once read and once ready: the next import has to drop it.
      for (let time = 0; time < 2; time++)
        expect((await ask(server, address)).body).toContain(`"generation ${number}"`);
    }
  }, 120_000);

  test('shows what came, what went and whose name changed', async () => {
    const statusOf = async (name: string) => (await ask(server, `/a/api/?user=${name}`)).status;
    const become = (name: string) =>
      done(['import', '--database-url', path, '-'], {
        input: ndjson({ totalPost: 0, id: '77', username: name }),
      });
    expect(await statusOf('newcomer')).toBe(404);
    await become('newcomer');
    expect(await statusOf('newcomer')).toBe(200);
    await become('renamed');
    expect([await statusOf('newcomer'), await statusOf('renamed')]).toEqual([404, 200]);
    await done(['remove', '--database-url', path, '--family', 'microblog', 'RENAMED']);
    expect(await statusOf('renamed')).toBe(404);
    await done(['import', '--database-url', path, '--replace', '-'], {
      input: ndjson({ totalPost: 0, id: '78', username: 'alone' }),
    });
    expect([await statusOf('alone'), await statusOf('ada')]).toEqual([200, 404]);
    expect((await ask(server, '/b/api/username/ada')).status).toBe(200);
  });

  test('shows a whole import or none of it, and refuses nobody meanwhile', async () => {
    const crowd = (mark: string) =>
      ndjson(
        { totalPost: '9', id: '1', username: 'crowd', bio: mark },
        ...Array.from({ length: 20_000 }, (_, index) => ({
          id: String(index + 100),
          user: '1',
          post_details: mark,
          date: '2024-01-01 00:00:00',
        })),
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

describe('a database that is made while the server runs', () => {
  test('is created empty, and filled by an import', async () => {
    const path = tempFile('empty.db', '');
    const running = await serve(
      readConfig({ port: '0', databaseUrl: path, logLevel: 'silent' }),
      createLog({ logLevel: 'silent' }, { write() {} }),
    );
    afterAll(() => running.stop());
    const here = { port: Number(new URL(running.url).port) };
    expect((await ask(here, '/a/api/?user=ada')).status).toBe(404);
    await done(['import', '--database-url', path, fixture('microblog.ndjson')]);
    expect((await ask(here, '/a/api/?user=ada')).status).toBe(200);
  });
});

describe('ready answers', () => {
  const headersOf = () => ({ headers: [], notModifiedHeaders: [] });
  const BODY = Buffer.alloc(1000, 'x');

  function answersOver(maxBytes: number) {
    const data = { version: 1, reads: 0 };
    const answers = createAnswers<string>({ reader: { version: () => data.version }, maxBytes, headersOf });
    const read = (body: Buffer | undefined) => () => {
      data.reads++;
      return body;
    };
    return {
      answers,
      data,
      ask: (address: string, body: Buffer | undefined = BODY) =>
        answers.answer(address, 'profile', read(body)),
    };
  }

  test('are read once', () => {
    const { ask, answers, data } = answersOver(1e6);
    expect(ask('/one')).toBe(ask('/one'));
    expect([data.reads, answers.count()]).toEqual([1, 1]);
    expect(answers.ready('/one')?.operation).toBe('profile');
  });

  test('never take more than the bound, whatever comes', () => {
    const { ask, answers } = answersOver(50_000);
    for (let n = 0; n < 5000; n++) {
      // Once the room is taken, what is asked for once is not worth pushing others out.
      for (let time = 0; time < 2; time++) ask(`/user/${n}`, Buffer.alloc((n * 7919) % 9000));
      ask(`/user/${n % 7}`);
      expect(answers.figures.bytes).toBeLessThanOrEqual(50_000);
    }
    expect(answers.count()).toBeGreaterThan(5);
    expect(answers.figures.evictions).toBeGreaterThan(4000);
  });

  test('are not pushed out by what is asked for once', () => {
    const { ask, answers } = answersOver(50_000);
    for (let n = 0; n < 5000; n++) ask(`/user/${n}`);
    expect(answers.figures.evictions).toBeLessThan(50);
    for (let time = 0; time < 2; time++) ask('/user/4000');
    expect(answers.ready('/user/4000')).toBeDefined();
  });

  test('that are larger than the bound, or with a bound of nothing, are answered and not kept', () => {
    for (const bound of [0, 900]) {
      const { ask, answers } = answersOver(bound);
      expect((ask('/one') as { body: Buffer }).body).toBe(BODY);
      expect([answers.count(), answers.figures.bytes]).toEqual([0, 0]);
    }
  });

  test('are not pushed out by unknown users', () => {
    const { answers, ask } = answersOver(50_000);
    for (let n = 0; n < 20; n++) ask(`/known/${n}`);
    const { bytes } = answers.figures;
    for (let n = 0; n < 10_000; n++)
      expect(answers.answer(`/unknown/${n}`, 'profile', () => undefined)).toBeUndefined();
    expect([answers.count(), answers.figures.bytes, answers.figures.evictions]).toEqual([20, bytes, 0]);
    for (let n = 0; n < 20; n++) expect(answers.ready(`/known/${n}`)).toBeDefined();
  });

  test('that are asked for stay longer than those that are not', () => {
    const { answers, ask } = answersOver(50_000);
    ask('/favourite');
    for (let n = 0; n < 500; n++) {
      ask(`/once/${n}`);
      expect(answers.ready('/favourite')).toBeDefined();
    }
  });

  test('are dropped when the data moves, whatever is being read meanwhile', async () => {
    const { answers, data, ask } = answersOver(1e6);
    ask('/one');
    data.version++;
    expect(answers.ready('/one')).toBeUndefined();
    expect([answers.count(), answers.figures.bytes, answers.figures.drops]).toEqual([0, 0, 1]);
    const late = Promise.withResolvers<Buffer>();
    const slow = answers.answer('/slow', 'profile', () => late.promise);
    data.version++;
    ask('/two');
    late.resolve(BODY);
    expect(await slow).toBeDefined();
    expect(answers.ready('/slow')).toBeUndefined();
  });
});

test('unknown users leave the memory of a server’s ready answers alone', async () => {
  const path = await databaseOf(fixture('microblog.ndjson'));
  const reader = openReader(path);
  const answers = createAnswers<string>({
    reader,
    maxBytes: 100_000,
    headersOf: () => ({ headers: [], notModifiedHeaders: [] }),
  });
  const profile = (name: string) => answers.answer(name, 'profile', () => reader.profile('microblog', name));
  expect(profile('ada')).toBeDefined();
  for (let n = 0; n < 3000; n++) expect(profile(`nobody-${n}`)).toBeUndefined();
  expect([answers.count(), answers.ready('ada') === undefined]).toEqual([1, false]);
  await reader.close();
});
