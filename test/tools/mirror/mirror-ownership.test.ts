// A mirror may change only users and items that it imported itself: what stopped and killed ones own. The rest is in
// fixtures/cases/ownership.txt.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { openWriter } from '../../../src/stores/open.ts';
import { createMemory, type MirrorMemory } from '../../../src/tools/mirror/memory.ts';
import {
  microblogName,
  portfolioName,
  USER_IDS,
  USERS,
  usersBeyondLimits,
} from '../../support/beyond-limits.ts';
import { addRecords, databaseOf, newDatabase, storeName } from '../../support/database.ts';
import { tempFolder } from '../../support/files.ts';
import { newPath } from '../../support/importing.ts';
import { crowd, mirrorHere, namesIn, portfolio, startFiles, startSite } from '../../support/mirror-site.ts';
import { blog, folio } from '../../support/records.ts';

const ADA = folio(1, 'ada');
describe(`a mirror into ${storeName()}`, () => {
  test('a mirror killed while loading a batch still owns what it loaded', async () => {
    const database = newPath();
    await addRecords(database, ADA, folio(3, 'bob'));
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

  test('a name that has another id now belongs to the mirror under that id only', () => {
    using memory = createMemory(`${tempFolder()}/state`, 'b https://example.org/');
    for (const id of ['1', '2']) {
      memory.reserve([{ userKey: 'ada', id }]);
      memory.save([{ userKey: 'ada', id, lastFetch: undefined }]);
    }
    expect(['1', '2'].map((id) => memory.importedByMirror('ada', id))).toEqual([false, true]);
  });

  test('no byte of a name that is erased is left in the state file, also where rows were moved', () => {
    const state = `${tempFolder()}/state`;
    const users = Array.from({ length: 400 }, (_, n) => ({
      userKey: `name-${(n * 177) % 400}-of-user`,
      id: String(n + 1),
    }));
    const isGone = ({ id }: { id: string }) => Number(id) % 2 === 0;
    const noteAll = (memory: MirrorMemory, length: number, noted = users) => {
      const etag = `"${'e'.repeat(length)}"`;
      memory.reserve(noted);
      memory.save(
        noted.map((user) => ({
          ...user,
          lastFetch: { id: user.id, profile: { etag }, items: { etag }, localVersion: etag },
        })),
      );
    };
    using memory = createMemory(state, 'b https://example.org/');
    noteAll(memory, 10);
    // Others grow, so SQLite moves rows to other pages.
    const others = users.filter((user) => !isGone(user)).toReversed();
    for (const length of [90, 200, 300])
      for (let from = 0; from < others.length; from += 50)
        noteAll(memory, length, others.slice(from, from + 50));
    memory.erase(isGone);
    const bytes = readFileSync(state, 'latin1');
    expect(users.filter((user) => isGone(user) && bytes.includes(user.userKey))).toEqual([]);
    expect(users.filter(({ userKey }) => bytes.includes(userKey))).toHaveLength(200);
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
        await addRecords(database, folio(99, 'kim'));
      }
      answer(request, response);
    });
    const run = { concurrency: 1 };
    const { summary, faults } = await mirrorHere(database, site.url, [...names, 'mallory'], run);
    expect(summary).toMatch(/^users: 40 found, 0 unchanged, 0 unknown, 0 failed, 1 refused\n/);
    expect(faults).toContain('mallory: id: belongs to "kim" (id 99) here');
  });

  test('a second mirror with the same state file is refused and leaves the first alone', async () => {
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

  test('a damaged state file is named, and the advice takes the users over', async () => {
    const database = await databaseOf();
    const { names, answer } = crowd(100);
    const site = await startSite(answer);
    const { state } = await mirrorHere(database, site.url, names);
    const whole = readFileSync(state);
    for (let page = 1; page < whole.length / 4096; page++) {
      writeFileSync(state, Buffer.from(whole).fill(0xa5, page * 4096, page * 4096 + 600));
      const said = await mirrorHere(database, site.url, names, { state }).then(
        ({ faults, failure }) => faults + failure,
        (error: Error) => error.message,
      );
      expect(said, `page ${page}`).toContain(
        `${state}, in which this mirror notes its users, is damaged: move it away and run the command with --adopt`,
      );
    }
    rmSync(state);
    const adopted = await mirrorHere(database, site.url, names, { state, adopt: true });
    expect(adopted.summary).toMatch(/^users: 100 found, 0 unchanged, 0 unknown, 0 failed\n/);
    const next = await mirrorHere(database, site.url, names.slice(1), { state });
    expect(next.failure).toBe(undefined);
  });

  test('a run that is stopped while the list of users is read says so', async () => {
    const stdin = Readable.from([Buffer.from('ada\nbob\n')]);
    const stopped = { users: { file: '-', stdin }, signal: AbortSignal.abort() };
    await expect(mirrorHere(await databaseOf(), 'http://127.0.0.1:1', [], stopped)).rejects.toThrow(
      'stopped while the list of users was read',
    );
  });
});

describe(`mirror --prune in ${storeName()}`, () => {
  const people = (...users: (readonly [id: number, name: string])[]) =>
    Object.fromEntries(users.map(([id, name]) => [name, { profile: folio(id, name) }]));

  test('removes of 201 users the one that is gone, and nobody of another family or from another site', async () => {
    // Those of the other family have the same ids and names.
    const database = await databaseOf(...usersBeyondLimits().filter((record) => 'totalPost' in record));
    const ours = people(...USER_IDS.map((id) => [id, portfolioName(id)] as const));
    const theirs = people([1001, 'ada'], [1002, 'bob']);
    const [site, other] = [await startSite(portfolio(ours)), await startSite(portfolio(theirs))];
    const state = `${tempFolder()}/state`;
    const mirrorAll = (from: string, all: object) =>
      mirrorHere(database, from, Object.keys(all), { state, prune: true });
    const names = Object.keys(ours);
    expect((await mirrorAll(site.url, ours)).result.users).toMatchObject({ found: USERS, pruned: 0 });
    expect((await mirrorAll(other.url, theirs)).result.users).toMatchObject({ found: 2, pruned: 0 });
    delete ours[portfolioName(USERS)];
    delete theirs.bob;
    const { result } = await mirrorHere(database, site.url, names, { state, prune: true });
    expect(result.users).toMatchObject({ found: USERS - 1, unknown: 1, pruned: 1 });
    const left = [...USER_IDS.map(microblogName), ...Object.keys(ours), 'ada', 'bob'];
    expect((await namesIn(database)).sort()).toEqual(left.sort());
  });

  test('leaves users whom this run does not ask for, although an earlier one did not find them', async () => {
    const here = people([1, 'ada'], [2, 'bob']);
    const site = await startSite(portfolio(here));
    const database = await newDatabase();
    const state = `${tempFolder()}/state`;
    await mirrorHere(database, site.url, ['ada', 'bob'], { state });
    delete here.bob;
    await mirrorHere(database, site.url, ['ada', 'bob'], { state });
    const { result } = await mirrorHere(database, site.url, ['ada'], { state, prune: true });
    expect([result.users.pruned, await namesIn(database)]).toEqual([0, ['ada', 'bob']]);
  });

  test('leaves a user whom the mirror brought to the other family only', async () => {
    const name = 'ada';
    const site = await startFiles({
      '/api/?user=ada': JSON.stringify(blog(1, name)),
      '/api/?user=ada&post=true': '{"posts":[]}',
      '/api/username/zoe': JSON.stringify(folio(2, 'zoe')),
      '/api/username/zoe/shots': '{"Shots":[]}',
    });
    const database = await newDatabase();
    const state = `${tempFolder()}/state`;
    await mirrorHere(database, site.url, [name], { state, variant: 'a' });
    // Of the same name and id, and from an import.
    await addRecords(database, folio(1, name));
    const { result } = await mirrorHere(database, site.url, [name, 'zoe'], { state, prune: true });
    expect([result.users.pruned, (await namesIn(database)).sort()]).toEqual([0, [name, name, 'zoe']]);
  });
});
