// What is derived from records, and who is noted as changed, case by case. derive-sequences.test.ts tries any order of writes.
import { describe, expect, test } from 'vitest';
import { isPostgresUrl } from '../../src/config/database-url.ts';
import { checkDatabase, openArchive } from '../../src/stores/open.ts';
import { databaseOf, importInto, select, storeName } from '../support/database.ts';
import { ndjson } from '../support/files.ts';
import { change, executeSql, saveOriginals } from '../support/importing.ts';
import { blog, folio, post, shot } from '../support/records.ts';

describe(`derived data in ${storeName()}`, () => {
  test('the former spelling of a name stays noted when only the list changes after it', async () => {
    const url = await databaseOf(blog(1, 'Ada'));
    const read = async (since?: number) => {
      await using archive = await openArchive(url);
      return await archive.changes(since);
    };
    const { generation } = await read();
    await importInto(url, ['-'], ndjson(blog(1, 'ADA')));
    await importInto(url, ['-'], ndjson(post(1, 1)));
    expect((await read(generation)).changes).toEqual([
      { family: 'microblog', key: 'ada', username: 'ADA', earlier: 'Ada', profile: true, list: true },
    ]);
  });

  test('a change of an item that is too old for the list is noted for who shows older items', async () => {
    const url = await databaseOf(blog(1, 'ada'), ...Array.from({ length: 17 }, (_, nr) => post(nr + 1, 1)));
    const read = async (since?: number, withOldItems = false) => {
      await using archive = await openArchive(url);
      return await archive.changes(since, { withOldItems });
    };
    const { generation } = await read();
    await importInto(url, ['-'], ndjson({ ...post(1, 1), post_details: 'new' }));
    expect((await read(generation)).changes).toEqual([]);
    const ada = { family: 'microblog', key: 'ada', username: 'ada', profile: false, list: false };
    expect((await read(generation, true)).changes).toEqual([ada]);
  });

  test('a repair notes the user who answers otherwise, and no other', async () => {
    const url = await databaseOf(blog(1, 'ada'), blog(2, 'bob'), folio(1, 'ada'));
    if (isPostgresUrl(url)) return;
    const before = await openArchive(url);
    const { generation } = await before.changes(undefined);
    await before.close();
    executeSql(url, `UPDATE profiles SET etag = '"other"' WHERE family = 'microblog' AND id = 2`);
    expect(await change(url, (writer) => writer.repair())).toBe(1);
    await using archive = await openArchive(url);
    const { changes } = await archive.changes(generation, { withOldItems: true });
    expect(changes).toMatchObject([{ family: 'microblog', key: 'bob', profile: true }]);
  });

  test.each([
    [`UPDATE profiles SET served = '{}' WHERE id = 1`, { profile: true, list: false }],
    [`UPDATE lists SET etag = '"~"' WHERE collection = 'Posts'`, { profile: false, list: true }],
    [`DELETE FROM lists WHERE collection = 'Posts'`, { profile: false, list: true }],
  ])('a repair notes who answered otherwise with the right ETag: %s', async (damage, noted) => {
    const url = await databaseOf(folio(1, 'ada'));
    if (isPostgresUrl(url)) return;
    const before = await openArchive(url);
    const { generation } = await before.changes(undefined);
    await before.close();
    executeSql(url, damage);
    expect(await change(url, (writer) => writer.repair())).toBe(1);
    await using archive = await openArchive(url);
    expect((await archive.changes(generation)).changes).toMatchObject([{ key: 'ada', ...noted }]);
  });

  test('a repair of the words of a list notes nobody, since no answer has them', async () => {
    const url = await databaseOf(blog(1, 'ada'), post(1, 1), folio(1, 'ada'), shot(1, 1, { tags: 'Ink' }));
    if (isPostgresUrl(url)) return;
    const before = await openArchive(url);
    const { generation } = await before.changes(undefined);
    await before.close();
    const words = await select(url, 'SELECT family, collection, words FROM lists ORDER BY 1, 2');
    executeSql(url, `UPDATE lists SET words = '["other"]'`);
    expect(await change(url, (writer) => writer.repair())).toBeGreaterThan(0);
    expect(await select(url, 'SELECT family, collection, words FROM lists ORDER BY 1, 2')).toEqual(words);
    expect((await checkDatabase(url)).faults).toEqual([]);
    await using archive = await openArchive(url);
    expect((await archive.changes(generation, { withOldItems: true })).changes).toEqual([]);
  });

  test('a repair also notes a name that only a misfiled list answered', async () => {
    const url = await databaseOf(folio(1, 'ada'), folio(2, 'bob'));
    if (isPostgresUrl(url)) return;
    const before = await openArchive(url);
    const { generation } = await before.changes(undefined);
    await before.close();
    executeSql(url, `UPDATE lists SET user_key = 'eve' WHERE owner = 1`);
    expect(await change(url, (writer) => writer.repair())).toBe(1);
    await using archive = await openArchive(url);
    expect((await archive.changes(generation)).changes).toEqual([
      { family: 'portfolio', key: 'ada', username: 'ada', profile: false, list: true },
      { family: 'portfolio', key: 'eve', profile: false, list: true },
    ]);
  });

  test('a repair says how far it is, and lets signals be heard in between', async () => {
    const url = await databaseOf(blog(1, 'ada'), blog(2, 'bob'), blog(7, 'cy'), folio(1, 'ada'));
    const steps: { share: number | undefined; turns: number }[] = [];
    let turns = 0;
    const onStep = (name: string, share?: number) => {
      if (name !== 'deriving profiles and lists') return;
      steps.push({ share, turns });
      setImmediate(() => turns++);
    };
    await change(url, (writer) => writer.repair({ usersAtOnce: 2, onStep }));
    expect(steps.map(({ share }) => share)).toEqual([undefined, 0.5, 0.75, 1]);
    const [, first, second, third] = steps.map((step) => step.turns);
    expect(second).toBeGreaterThan(first ?? 0);
    expect(third).toBeGreaterThan(second ?? 0);
  });

  test('who names a linked copy that is measured anew, or cannot be decoded any more, is noted by the end of the fetch', async () => {
    const [picture, file] = ['https://old.example/a', `${'0'.repeat(64)}.png`];
    const url = await databaseOf(folio(1, 'ada', { avatar: picture }), folio(2, 'bob'));
    await saveOriginals(url, [{ url: picture, file, bytes: 1, reason: null }]);
    const finish = () =>
      change(url, (writer) => writer.finishFetch({ mediaUrl: 'https://m.example/media', files: false }));
    const read = async (since?: number) => {
      await using archive = await openArchive(url);
      return await archive.changes(since, { withOldItems: true });
    };
    await finish();
    const { generation } = await read();
    const facts = { width: 800, height: 600, color: 'aabbcc', small: [] };
    await change(url, (writer) => writer.saveFacts(file, facts));
    await finish();
    expect((await read(generation)).changes).toMatchObject([{ key: 'ada', profile: false, list: false }]);
    const later = await read();
    await change(url, (writer) => writer.saveFacts(file, facts));
    await finish();
    expect((await read(later.generation)).changes).toEqual([]);
    expect((await read()).generation).toBe(later.generation);
    const fail = (failedDecodes: number) =>
      change(url, (writer) => writer.saveFacts(file, { failedDecodes }));
    await fail(1);
    await finish();
    expect((await read(later.generation)).changes).toMatchObject([
      { key: 'ada', profile: false, list: false },
    ]);
    const last = await read();
    await fail(2);
    await finish();
    expect((await read()).generation).toBe(last.generation);
  });
});
