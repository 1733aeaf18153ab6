// A mirror may change only users and items that it imported itself.
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { createMemory } from '../src/mirror/memory.ts';
import { openWriter } from '../src/stores/open.ts';
import { ndjson, tempFolder } from './files.ts';
import { change, newPath, recordsIn } from './importing.ts';
import { crowd, mirrorHere, portfolio, startSite } from './mirror-site.ts';
import { folio, shot } from './records.ts';
import { databaseOf, importInto, storeName } from './rig.ts';

const ADA = folio(1, 'ada');
const LOCAL = [ADA, folio(2, 'bob'), shot(10, 1, { title: 'hers' }), shot(11, 1), shot(20, 2)];

type People = Parameters<typeof portfolio>[0];

const FOREIGN = 'belongs to "ada" (id 1) here, which this mirror did not import, got';
const HOSTILE: [what: string, fault: string, name: string, profile: object, ...shots: object[]][] = [
  ['the id of a local user', `mallory: id: ${FOREIGN} "1"\n`, 'mallory', folio(1, 'mallory'), shot(10, 1)],
  [
    'items of a local user',
    `mallory/shots: id: ${FOREIGN} "10"\n`,
    ...(['mallory', folio(999, 'mallory'), shot(9, 999), shot(10, 999)] as const),
  ],
  [
    'the name of a local user, under another id',
    'Ada: username: belongs to "ada" (id 1) here, which this mirror did not import, got "Ada"\n',
    ...(['Ada', folio(999, 'Ada')] as const),
  ],
  ['the name and id of a local user', `ada: id: ${FOREIGN} "1"\n`, 'ada', folio(1, 'ada'), shot(30, 1)],
];

describe(`a mirror into ${storeName()}`, () => {
  test.each(HOSTILE)(
    'a site that claims %s is refused, and its other users are mirrored',
    async (_, fault, name, profile, ...shots) => {
      const database = await databaseOf(...LOCAL);
      const before = await recordsIn(database);
      const zoe = { profile: folio(50, 'zoe'), shots: { Shots: [shot(51, 50)] } };
      const site = await startSite(portfolio({ [name]: { profile, shots: { Shots: shots } }, zoe }));
      const { summary, failure, faults } = await mirrorHere(database, site.url, [name, 'zoe']);
      expect(faults).toBe(`${site.url}/api/username/${fault}`);
      expect(summary).toMatch(/^users: 1 found, 0 unchanged, 0 unknown, 0 failed, 1 refused\n/);
      expect(failure).toMatch(/^1 of 2 users was refused, .*--database-url.*--adopt/);
      expect((await recordsIn(database)).filter((record) => !/"(zoe|5[01])"/.test(record))).toEqual(before);
    },
  );

  test('two sites that both count from 1 do not change each other', async () => {
    const database = await databaseOf();
    const one = await startSite(portfolio({ ada: { profile: ADA, shots: { Shots: [shot(10, 1)] } } }));
    const two = await startSite(
      portfolio({
        eve: { profile: folio(1, 'eve') },
        kim: { profile: folio(2, 'kim'), shots: { Shots: [shot(10, 2)] } },
      }),
    );
    const { state } = await mirrorHere(database, one.url, ['ada']);
    const before = await recordsIn(database);
    const { summary } = await mirrorHere(database, two.url, ['eve', 'kim'], { state });
    expect(summary).toBe('users: 0 found, 0 unchanged, 0 unknown, 0 failed, 2 refused');
    expect(await recordsIn(database)).toEqual(before);
  });

  test('it may change what it imported, move and rename', async () => {
    const people: People = {
      ada: { profile: ADA, shots: { Shots: [shot(10, 1), shot(11, 1)] } },
      bob: { profile: folio(2, 'bob') },
    };
    const database = await databaseOf();
    const site = await startSite((request, response) => portfolio(people)(request, response));
    const { state } = await mirrorHere(database, site.url, ['ada', 'bob']);
    delete people.ada;
    people.adele = { profile: folio(1, 'adele'), shots: { Shots: [shot(10, 1)] } };
    people.bob = { profile: folio(2, 'bob'), shots: { Shots: [shot(11, 2)] } };
    const { failure, summary } = await mirrorHere(database, site.url, ['adele', 'bob'], { state });
    expect([failure, summary]).toEqual([undefined, expect.stringMatching(/^users: 2 found/)]);
    const records = await recordsIn(database);
    expect(
      records.filter((record) => record.includes('"username"')).map((record) => JSON.parse(record).username),
    ).toEqual(['adele', 'bob']);
    expect(records.find((record) => record.includes('"id":"11"'))).toContain('"user_id":"2"');
  });

  test('a user whose name another id has here is left out whole, and the others are loaded', async () => {
    const people: People = { ada: { profile: ADA }, bob: { profile: folio(2, 'bob') } };
    const database = await databaseOf();
    const site = await startSite((request, response) => portfolio(people)(request, response));
    const { state } = await mirrorHere(database, site.url, ['ada', 'bob']);
    people.ada = { profile: folio(1, 'ada', { Likes: '7' }) };
    people.bob = { profile: folio(5, 'bob'), shots: { Shots: [shot(50, 5)] } };
    const { summary, faults } = await mirrorHere(database, site.url, ['ada', 'bob'], { state });
    expect(summary).toMatch(/^users: 1 found, 0 unchanged, 0 unknown, 1 failed\n/);
    expect(faults).toContain('/api/username/bob: username: ');
    const records = (await recordsIn(database)).map((record) => JSON.parse(record));
    expect(records.reverse()).toMatchObject([
      { username: 'ada', Likes: '7' },
      { username: 'bob', id: '2' },
    ]);
  });

  test('without its state file, users of the same name and id are taken over with --adopt only', async () => {
    const people: People = {
      ada: { profile: folio(1, 'ada', { Likes: '5' }), shots: { Shots: [shot(10, 1), shot(12, 1)] } },
      mallory: { profile: folio(2, 'mallory') },
      nina: { profile: folio(3, 'nina'), shots: { Shots: [shot(20, 3)] } },
    };
    const database = await databaseOf(...LOCAL);
    const site = await startSite(portfolio(people));
    const names = Object.keys(people);
    const without = await mirrorHere(database, site.url, names);
    expect(without.summary).toMatch(/3 refused$/);
    const { state, summary, faults } = await mirrorHere(database, site.url, names, { adopt: true });
    expect(summary).toMatch(/^users: 1 found, 0 unchanged, 0 unknown, 0 failed, 2 refused\n/);
    expect(faults).not.toContain('ada:');
    expect((await recordsIn(database)).join()).toContain('"Likes":"5"');
    const after = await mirrorHere(database, site.url, ['ada'], { state });
    expect([after.failure, after.summary]).toEqual([undefined, expect.stringMatching(/^users: 1 found/)]);
  });

  test('--prune removes only users that the mirror imported', async () => {
    const people: People = {
      ada: { profile: ADA },
      zoe: { profile: folio(50, 'zoe') },
      kim: { profile: folio(60, 'kim') },
    };
    const database = await databaseOf(folio(70, 'local'));
    const site = await startSite((request, response) => portfolio(people)(request, response));
    const names = ['ada', 'zoe', 'kim', 'local', 'nobody'];
    const { state } = await mirrorHere(database, site.url, names);
    delete people.zoe;
    delete people.kim;
    // Replaced by the operator since.
    await change(database, (writer) => writer.remove('portfolio', 'kim'));
    await importInto(database, ['-'], ndjson(folio(61, 'kim')));
    const { summary, failure } = await mirrorHere(database, site.url, names, { state, prune: true });
    expect([failure, summary]).toEqual([
      undefined,
      expect.stringMatching(/^users: 1 found, 0 unchanged, 4 unknown, 0 failed, 1 removed here\n/),
    ]);
    const left = (await recordsIn(database)).map((record) => JSON.parse(record).username);
    expect(left.sort()).toEqual(['ada', 'kim', 'local']);
  });

  test('a mirror killed while loading a batch still owns what it loaded', async () => {
    const database = newPath();
    await importInto(database, ['-'], ndjson(ADA, folio(3, 'bob')));
    const site = await startSite(
      portfolio({ ada: { profile: folio(1, 'ada', { Likes: '7' }) }, bob: { profile: folio(3, 'bob') } }),
    );
    const state = `${tempFolder()}/state`;
    {
      using memory = createMemory(state, `b ${site.url}/`);
      memory.reserve([
        { userKey: 'ada', id: '1' },
        { userKey: 'bob', id: '2' },
        { userKey: 'not loaded', id: '4' },
      ]);
    }
    const { summary } = await mirrorHere(database, site.url, ['ada', 'bob'], { state });
    expect(summary).toMatch(/^users: 1 found, 0 unchanged, 0 unknown, 0 failed, 1 refused\n/);
  });

  test('whom a mirror could not load, it does not own', () => {
    using memory = createMemory(`${tempFolder()}/state`, 'b https://example.org/');
    const [ada, bob] = [
      { userKey: 'ada', id: '1' },
      { userKey: 'bob', id: '2' },
    ];
    memory.reserve([ada]);
    memory.save([{ ...ada, lastFetch: undefined }]);
    memory.reserve([ada, bob]);
    memory.save([]);
    expect([ada, bob].map(({ userKey, id }) => memory.importedByMirror(userKey, id))).toEqual([true, false]);
  });

  test('a signal ends --prune between two users, and the next run removes the others', async () => {
    const { names, answer } = crowd(9);
    let gone = false;
    const site = await startSite((request, response) => {
      if (gone && !request.url?.includes('user0')) response.writeHead(404).end();
      else answer(request, response);
    });
    const database = await databaseOf();
    const { state } = await mirrorHere(database, site.url, names);
    gone = true;
    const stop = new AbortController();
    await using writer = await openWriter(database);
    const remove: typeof writer.remove = (...user) => {
      // As a signal comes: when the event loop has its turn.
      setImmediate(() => stop.abort());
      return writer.remove(...user);
    };
    const run = { state, prune: true, signal: stop.signal, writer: { ...writer, remove } };
    const first = await mirrorHere(database, site.url, names, run);
    expect([first.result?.users.pruned, first.failure]).toEqual([
      1,
      'stopped; the same command continues where this run ended',
    ]);
    const second = await mirrorHere(database, site.url, names, { state, prune: true });
    expect(second.result?.users).toMatchObject({ skipped: 9, pruned: 7 });
  });

  test('what is imported while a mirror runs is protected at once', async () => {
    const database = await databaseOf();
    const { names, answer } = crowd(40, { mallory: { profile: folio(99, 'mallory') } });
    let imported = false;
    const site = await startSite(async (request, response) => {
      // In the second batch.
      if (request.url?.includes('user39') && !imported) {
        imported = true;
        await importInto(database, ['-'], ndjson(folio(99, 'kim')));
      }
      answer(request, response);
    });
    const run = { concurrency: 1 };
    const { summary, faults } = await mirrorHere(database, site.url, [...names, 'mallory'], run);
    expect(summary).toMatch(/^users: 40 found, 0 unchanged, 0 unknown, 0 failed, 1 refused\n/);
    expect(faults).toContain('mallory: id: belongs to "kim" (id 99) here');
  });

  test('a second mirror with the same state file is refused with a sentence, and leaves the first alone', async () => {
    const database = await databaseOf();
    const answer = portfolio({ ada: { profile: ADA } });
    const state = `${tempFolder()}/state`;
    let second: unknown;
    const site = await startSite(async (request, response) => {
      second ??= await mirrorHere(database, site.url, ['ada'], { state }).catch((error) => error.message);
      answer(request, response);
    });
    const { summary } = await mirrorHere(database, site.url, ['ada'], { state });
    expect(summary).toMatch(/^users: 1 found/);
    expect(second).toBe(
      `another mirror is using ${state}: wait until it has ended, or give this one a state file of its own with --state`,
    );
  });

  test('a run that is stopped while the list of users is read says so', async () => {
    const stdin = Readable.from([Buffer.from('ada\nbob\n')]);
    const stopped = { users: { file: '-', stdin }, signal: AbortSignal.abort() };
    await expect(mirrorHere(await databaseOf(), 'http://127.0.0.1:1', [], stopped)).rejects.toThrow(
      'stopped while the list of users was read',
    );
  });
});
