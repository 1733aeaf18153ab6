// What databases say of changes, compared with what they answer before and after.
import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { importFiles } from '../../src/import/import.ts';
import { FAMILIES, type Family } from '../../src/records/kinds.ts';
import { openArchive, openReader, openWriter } from '../../src/stores/open.ts';
import type { Change, ChangeOptions, ChangeSet } from '../../src/stores/sql/changes.ts';
import { openForWriting } from '../../src/stores/sqlite/connect.ts';
import { sqlAdapter } from '../../src/stores/sqlite/dialect.ts';
import { change as changeIn } from '../../src/stores/sqlite/write.ts';
import { createWriter, type Writer } from '../../src/stores/writer.ts';
import { notifySubscribers, type Subscriber } from '../../src/tools/notify/notify.ts';
import { call } from '../../src/tools/remote/host.ts';
import { microblogName, portfolioName, USER_IDS, usersBeyondLimits } from '../support/beyond-limits.ts';
import { addRecords, databaseOf, newDatabase, storeName } from '../support/database.ts';
import { ndjson, tempFile } from '../support/files.ts';
import { bodyOf, change, executeSql, newPath, saveOriginals } from '../support/importing.ts';
import { startSite } from '../support/mirror-site.ts';
import { blog, folio, post, shot } from '../support/records.ts';
import { run } from '../support/run.ts';

const PICTURES = ['https://old.example/1.png', 'https://old.example/2.png', 'https://other.example/1.png'];
const COPY = `${'0'.repeat(64)}.png`;
const USERS = ['ada', 'bob', 'cy', 'dan'];
const SPELLINGS = [...USERS, 'ADA', 'Bob'];

async function read(url: string, since: number | undefined, options?: ChangeOptions): Promise<ChangeSet> {
  await using archive = await openArchive(url);
  return await archive.changes(since, options);
}

/** What is served of everybody. */
async function answers(url: string): Promise<Map<string, string>> {
  await using reader = await openReader(url);
  const served = new Map<string, string>();
  for (const family of FAMILIES)
    for (const key of USERS) {
      served.set(`${family} ${key} profile`, bodyOf(await reader.profile(family, key)));
      served.set(
        `${family} ${key} list`,
        bodyOf(await reader.items(family, key, family === 'microblog' ? 'posts' : 'Shots')),
      );
    }
  return served;
}

const parts = (changes: readonly Change[]) =>
  changes.flatMap(({ family, key, profile, list }) => [
    ...(profile ? [`${family} ${key} profile`] : []),
    ...(list ? [`${family} ${key} list`] : []),
  ]);

async function load(writer: Writer, records: readonly object[], replace = false): Promise<void> {
  const stdin = (async function* () {
    yield Buffer.from(ndjson(...records));
  })();
  const options = { replace, skipInvalid: true, out: { write() {} }, stdin };
  await importFiles(writer, { files: ['-'], ...options });
}

const id = fc.integer({ min: 1, max: 4 });
const bio = fc.constantFrom('', 'one', 'two');
const picture = fc.constantFrom(...PICTURES, `https://m.example/${COPY}`);
const record = fc.oneof(
  fc
    .tuple(fc.constantFrom(blog, folio), id, fc.constantFrom(...SPELLINGS), bio, picture)
    .map(([make, id, name, bio, avatar]) => make(id, name, { bio, avatar })),
  fc
    .tuple(fc.integer({ min: 1, max: 8 }), id, bio, picture)
    .map(([id, user, post_details, photo]) => post(id, user, { post_details, photo })),
  fc.tuple(fc.integer({ min: 1, max: 8 }), id, bio).map(([id, user, title]) => shot(id, user, { title })),
);
const user = { family: fc.constantFrom<Family>(...FAMILIES), name: fc.constantFrom(...USERS) };

/** One change of the data; whether it is a takedown that leaves no names. */
const step = fc.oneof(
  fc.record({ records: fc.array(record, { minLength: 1, maxLength: 8 }), replace: fc.boolean() }).map(
    ({ records, replace }) =>
      async (writer: Writer) =>
        load(writer, records, replace),
  ),
  fc.record(user).map(
    ({ family, name }) =>
      async (writer: Writer) =>
        void (await writer.remove(family, name)),
  ),
  fc
    .record({ ...user, keepNames: fc.boolean() })
    .map(({ family, name, keepNames }) => async (writer: Writer) => {
      const subjects = [{ family, kind: 'user', value: name }] as const;
      await writer.takeDown(subjects, { keepNames });
      await writer.undoTakedowns(subjects);
    }),
  fc.record({ family: user.family, id }).map(({ family, id }) => async (writer: Writer) => {
    const subjects = [{ family, kind: 'item', value: String(id) }] as const;
    await writer.takeDown(subjects, { keepNames: true });
    await writer.undoTakedowns(subjects);
  }),
  fc
    .constantFrom('https://m.example', 'https://n.example')
    .map((mediaUrl) => async (writer: Writer) => void (await writer.relink(mediaUrl))),
);

const RUNS = storeName() === 'SQLite' ? 40 : 15;

describe(`the changes of the ${storeName()} store`, () => {
  test('are exactly the users whose answers differ, since each generation', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
        const url = await newDatabase();
        await using writer = await openWriter(url);
        await load(
          writer,
          USERS.slice(0, 2).map((name, index) => blog(index + 1, name, { avatar: PICTURES[0] })),
        );
        await saveOriginals(
          url,
          PICTURES.slice(0, 2).map((url) => ({ url, file: COPY, bytes: 1, reason: null })),
        );
        const since: { generation: number; differing: Set<string> }[] = [];
        let before = await answers(url);
        let { generation } = await read(url, undefined);
        for (const change of steps) {
          since.push({ generation, differing: new Set() });
          await change(writer);
          await using archive = await openArchive(url);
          const after = await answers(url);
          const differing = [...after.keys()].filter((part) => after.get(part) !== before.get(part));
          for (const earlier of since) for (const part of differing) earlier.differing.add(part);
          before = after;
          for (const { generation, differing } of since) {
            const { changes } = await archive.changes(generation);
            if (changes !== 'everything') expect(parts(changes).sort()).toEqual([...differing].sort());
          }
          ({ generation } = await archive.changes(undefined));
        }
      }),
      { numRuns: RUNS },
    );
  });

  test('are listed with their addresses, up to a generation', async () => {
    const url = await newDatabase();
    const env = { BASE_URL_A: 'https://site.example/x', EXPLORER: 'off' };
    const list = async (...args: string[]) => {
      const { code, stdout, stderr } = await run(['changes', '--database-url', url, ...args], { env });
      return {
        code,
        stderr,
        lines: stdout
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line)),
      };
    };
    await addRecords(url, blog(1, 'Ada'), blog(2, 'bob'), folio(1, 'Ada'));
    const { lines: [{ generation }] = [] } = await list();
    await addRecords(url, post(1, 1), blog(3, 'new'));
    await change(url, (writer) => writer.remove('portfolio', 'ada'));
    const { code, lines } = await list('--since', `${generation}`);
    expect([code, lines.map(({ family, user, what }) => [family, user, what])]).toEqual([
      0,
      [
        ['microblog', 'Ada', ['list']],
        ['microblog', 'new', ['profile', 'list']],
        ['portfolio', 'Ada', ['removed']],
        [undefined, undefined, undefined],
      ],
    ]);
    const shown = (place: string) => [`/card/${place}.svg`, `/feeds/${place}.atom`, `/feeds/${place}.json`];
    expect(lines[0].addresses).toEqual(
      ['Ada', 'ada'].flatMap((name) =>
        [`/x/api/?user=${name}&post=true`, ...shown(`a/${name}`)].map(
          (path) => `https://site.example${path}`,
        ),
      ),
    );
    expect(lines[2].addresses.slice(0, 2)).toEqual(['/b/api/username/Ada', '/b/api/username/Ada/shots']);
    const last = lines.at(-1).generation;
    expect(await list('--since', `${last}`)).toMatchObject({ code: 0, lines: [{ generation: last }] });
    expect(await list('--since', '17')).toEqual({
      code: 1,
      lines: [{ generation: last, everything: true }],
      stderr: 'vitrine: what changed since generation 17 is not known: take everything as changed\n',
    });
  });

  test('of 201 users in each family are all listed, with their spellings and the addresses of each host', async () => {
    const url = await databaseOf(...usersBeyondLimits());
    const { generation } = await read(url, undefined);
    await addRecords(url, ...usersBeyondLimits(() => ({ bio: 'new' })));
    const env = {
      BASE_URL_A: 'https://a.example',
      BASE_URL_B: 'https://b.example',
      BASE_URL_C: 'https://b.example/c',
    };
    const { stdout } = await run(['changes', '--database-url', url, '--since', `${generation}`], { env });
    const lines = stdout.trim().split('\n');
    const listed = lines.slice(0, -1).map((line) => JSON.parse(line));
    const ofMicroblog = USER_IDS.map((id) => ({
      family: 'microblog',
      user: microblogName(id),
      what: ['profile'],
      api: [`https://a.example/api/?user=${microblogName(id)}`],
    }));
    const ofPortfolio = USER_IDS.map((id) => ({
      family: 'portfolio',
      user: portfolioName(id),
      what: ['profile'],
      api: ['https://b.example', 'https://b.example/c'].flatMap((base) =>
        [portfolioName(id), microblogName(id)].map((name) => `${base}/api/username/${name}`),
      ),
    }));
    const found = listed.map(({ addresses, ...line }) => ({
      ...line,
      api: addresses.filter((address: string) => address.includes('/api/')),
    }));
    const byUser = ({ user: one }: { user: string }, { user: other }: { user: string }) =>
      one < other ? -1 : 1;
    expect(found.toSorted(byUser)).toEqual([...ofMicroblog, ...ofPortfolio].toSorted(byUser));
  });

  test('of the newest change are listed without a generation', async () => {
    const url = await newDatabase();
    const list = async (...args: string[]) => {
      const { code, stdout, stderr } = await run(['changes', '--database-url', url, ...args]);
      const lines = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      return { code, stderr, users: lines.slice(0, -1).map(({ user }) => user), end: lines.at(-1) };
    };
    const nothingKnown = {
      code: 1,
      stderr: 'vitrine: what the last change changed is not known: take everything as changed\n',
      users: [],
      end: { generation: expect.any(Number), everything: true },
    };
    await addRecords(url, blog(1, 'Ada'), blog(2, 'bob'));
    expect(await list('--last')).toEqual(nothingKnown);
    await addRecords(url, blog(3, 'new'));
    expect(await list('--last')).toMatchObject({ code: 0, stderr: '', users: ['new'] });
    await addRecords(url, post(1, 1), blog(2, 'Bob'));
    expect(await list('--last')).toMatchObject({ code: 0, stderr: '', users: ['Ada', 'Bob'] });
    // An import that changes nothing is none.
    await addRecords(url, blog(2, 'Bob'));
    expect(await list('--last')).toMatchObject({ code: 0, users: ['Ada', 'Bob'] });
    await change(url, (writer) => writer.takeDown([{ family: 'microblog', kind: 'user', value: 'ada' }]));
    expect(await list('--last')).toEqual(nothingKnown);
    const both = await run(['changes', '--database-url', url, '--last', '--since', '17']);
    expect(both).toMatchObject({ code: 2, stderr: 'vitrine: give one of --since and --last\n' });
  });

  test('subscribers are notified until they accept it; names of takedowns stay until then', async () => {
    const url = await newDatabase();
    const told: string[] = [];
    const attempts: string[] = [];
    let isDown = false;
    const subscriber = (name: string, more: Partial<Subscriber> = {}): Subscriber => ({
      name,
      async deliver({ changes, wasReached }) {
        attempts.push(`${name}: ${wasReached}`);
        if (isDown && name === 'two') throw new Error('it is down');
        told.push(`${name}: ${changes === 'everything' ? changes : changes.map(({ key }) => key)}`);
      },
      ...more,
    });
    const tell = async (subscribers = [subscriber('one'), subscriber('two', { repeatAfter: 1 })]) => {
      told.length = 0;
      const faults = await change(url, (writer) =>
        notifySubscribers(writer, subscribers, AbortSignal.timeout(60_000)),
      );
      return [told.toSorted(), faults];
    };
    expect(await tell()).toEqual([[], []]);
    await addRecords(url, blog(1, 'ada'), blog(2, 'bob'));
    expect(await tell()).toEqual([['one: everything', 'two: everything', 'two: everything'], []]);
    expect(await tell()).toEqual([[], []]);
    isDown = true;
    await addRecords(url, post(1, 1));
    const fault = 'two was not notified, and will be the next time: it is down';
    expect(await tell()).toEqual([['one: ada'], [fault]]);
    const subjects = [{ family: 'microblog', kind: 'user', value: 'bob' }] as const;
    await change(url, (writer) => writer.takeDown(subjects, { keepNames: true }));
    expect(await tell()).toEqual([['one: bob'], [fault, expect.stringContaining('stay in the database')]]);
    expect(attempts.filter((text) => text.startsWith('two'))).toEqual([
      ...['two: true', 'two: true', 'two: true'],
      'two: false',
    ]);
    isDown = false;
    expect(await tell()).toEqual([['two: ada,bob', 'two: ada,bob'], []]);
    expect(await tell([subscriber('two')])).toEqual([[], []]);
    if (storeName() === 'SQLite') expect(readFileSync(url).includes('bob')).toBe(false);
    const stuck = subscriber('three', { deliver: () => new Promise(() => {}) });
    expect(await change(url, (writer) => notifySubscribers(writer, [stuck], AbortSignal.timeout(1)))).toEqual(
      ['three was not notified, and will be the next time: there was no time'],
    );
  });
});

test('a takedown while names of another are erased keeps its own until they are told', async () => {
  const path = newPath();
  await addRecords(path, blog(1, 'ada'), blog(2, 'bob'));
  const takeDown = (value: string) =>
    change(path, (writer) =>
      writer.takeDown([{ family: 'microblog', kind: 'user', value }], { keepNames: true }),
    );
  await takeDown('ada');
  using db = await openForWriting(path);
  const writer = createWriter({
    load: () => Promise.reject(),
    adapter: sqlAdapter(db),
    change: (action) => changeIn(db, path, action),
    eraseTraces: async () => void (await takeDown('bob')),
    close() {},
  });
  await writer.eraseNames();
  expect(await writer.keepsNames()).toBe(true);
  await change(path, async (other) => {
    await other.eraseNames();
    expect(await other.keepsNames()).toBe(false);
    // As by another command that has seen the names, too.
    await other.eraseNames();
  });
  expect(readFileSync(path).includes('bob')).toBe(false);
});

test('a takedown leaves no name where nobody is told', async () => {
  const url = newPath();
  await addRecords(url, blog(1, 'somebody'), blog(2, 'bob'));
  const { generation } = await read(url, undefined);
  await change(url, async (writer) => {
    await writer.takeDown([{ family: 'microblog', kind: 'user', value: 'somebody' }]);
    return writer.cleanUp(() => {});
  });
  expect((await read(url, generation)).changes).toBe('everything');
  expect(readFileSync(url).includes('somebody')).toBe(false);
});

test('a takedown erases users who are gone, and former names: what was before cannot be compared', async () => {
  const url = await newDatabase();
  await addRecords(url, blog(1, 'Gone'), blog(2, 'ada'), blog(3, 'bob'), blog(4, 'cy'));
  const { generation } = await read(url, undefined);
  // Another user has the name of one who is taken down.
  await addRecords(url, blog(1, 'Other'), blog(2, 'gone'), blog(3, 'bob', { bio: 'new' }));
  await change(url, (writer) => writer.takeDown([{ family: 'microblog', kind: 'user', value: 'other' }]));
  const later = (await read(url, undefined)).generation;
  await addRecords(url, blog(4, 'cy', { bio: 'new' }));
  expect((await read(url, generation)).changes).toBe('everything');
  expect(await read(url, later)).toMatchObject({ changes: [{ key: 'cy' }] });
});

test('of more than 100,000 changes the older half goes', async () => {
  const url = newPath();
  await addRecords(url, blog(1, 'ada'));
  executeSql(
    url,
    `
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 100001)
    INSERT INTO changes (family, user_key, list, generation) SELECT 'microblog', 'user' || n, generation - (SELECT max(n) FROM numbers) + n, generation - (SELECT max(n) FROM numbers) + n FROM vitrine, numbers;
    INSERT INTO generations SELECT generation - 60000 FROM vitrine;
    INSERT INTO generations SELECT generation - 40000 FROM vitrine`,
  );
  const { generation } = await read(url, undefined);
  await addRecords(url, blog(1, 'ada', { bio: 'new' }));
  expect(await read(url, generation - 60_000)).toMatchObject({ changes: 'everything' });
  const { changes } = await read(url, generation - 40_000);
  expect(changes).toHaveLength(40_002);
  const known = new Database(url, { readonly: true });
  expect(known.prepare('SELECT count(*) FROM changes').pluck().get()).toBe(50_000);
  known.close();
});

describe('webhooks', () => {
  /** A receiver that answers as it is told: each request that it gets, since the last time. */
  async function startReceiver(...answers: number[]) {
    const requests: { path: string; headers: IncomingHttpHeaders; body: string }[] = [];
    const site = await startSite(async (request, response) => {
      const body = `${Buffer.concat(await request.toArray())}`;
      requests.push({ path: request.url as string, headers: request.headers, body });
      response.writeHead(answers.shift() ?? 200, { location: '/elsewhere' }).end();
    });
    const url = newPath();
    const notify = `${site.url}/hook?key=k`;
    const env = { BASE_URL_A: 'https://site.example/a', NOTIFY: notify };
    const into = async (more: Record<string, string>, ...records: object[]) => {
      const input = ndjson(...records);
      const result = await run(['import', '--database-url', url, '-'], { env: { ...env, ...more }, input });
      return { ...result, requests: requests.splice(0) };
    };
    return { into, notify };
  }

  test('are notified of an import, once it is accepted', async () => {
    const { into } = await startReceiver(302, 503, 200, 503);
    const first = await into({}, blog(1, 'Ada'));
    expect([first.code, first.stderr, first.requests.map(({ path }) => path)]).toEqual([
      0,
      expect.stringMatching(/^webhook 127\.0\.0\.1:\d+ [0-9a-f]{8} was not notified.*: status 302\n$/),
      ['/hook?key=k'],
    ]);
    // One that could not be reached is asked once.
    const second = await into({}, post(1, 1));
    expect([second.requests.length, second.stderr]).toEqual([1, expect.stringContaining('status 503')]);
    const { requests } = await into({}, post(2, 1));
    const [taken] = requests.map(({ headers, body }) => ({ headers, body: JSON.parse(body) }));
    const generation = { before: null, after: Number(taken?.headers['webhook-id']) };
    expect(taken?.body).toEqual({ generation, changes: 'everything' });
    // One that was reached the last time is asked again.
    const [refused, next] = (await into({}, blog(1, 'Ada', { bio: 'new' }), post(3, 1))).requests;
    expect(next?.body).toBe(refused?.body);
    expect(JSON.parse(next?.body ?? '')).toMatchObject({
      generation: { before: generation.after },
      counts: { profiles: 1, lists: 1, removed: 0 },
      changes: [{ family: 'microblog', user: 'Ada', what: ['profile', 'list'] }],
    });
  });

  test('whose URLs a file holds are notified as those of NOTIFY', async () => {
    const { into, notify } = await startReceiver();
    const { stderr, requests } = await into(
      { NOTIFY: '', NOTIFY_FILE: tempFile('notify', `${notify}\n`) },
      blog(1, 'Ada'),
    );
    expect([stderr, requests.map(({ path }) => path)]).toEqual(['', ['/hook?key=k']]);
  });

  test.each([
    ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', {}],
    ['any-text', { format: 'raw' }],
  ] as const)(
    'are signed with %s, which a library of Standard Webhooks verifies',
    async (secret, options) => {
      const { into } = await startReceiver();
      const { requests } = await into({ NOTIFY_SECRET: secret }, blog(1, 'Ada'));
      const [{ headers, body }] = requests as [(typeof requests)[number]];
      const verify = (text: string) =>
        new Webhook(secret, options).verify(text, headers as Record<string, string>);
      expect(verify(body)).toEqual(JSON.parse(body));
      expect(() => verify(`${body} `)).toThrow('No matching signature');
    },
  );

  test('whsec_ without base64 is refused before anything is imported', async () => {
    const { into } = await startReceiver();
    const { code, stderr, requests } = await into({ NOTIFY_SECRET: 'whsec_=' }, blog(1, 'Ada'));
    expect([code, stderr, requests]).toEqual([2, expect.stringContaining('go on in base64'), []]);
  });

  test('that hang are given up after a limit for all attempts', async () => {
    const site = await startSite(() => {});
    const sent = call(
      { method: 'POST', url: site.url, body: '' },
      { signal: new AbortController().signal, wasReached: true, limit: 500 },
    );
    await expect(sent).rejects.toThrow('no answer within 0.5 s');
    expect(site.asked.length).toBeLessThanOrEqual(1);
  });
});
