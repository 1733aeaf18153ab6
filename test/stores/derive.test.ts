// What is stored after any order of imports, removals and takedowns is what one import of the same records stores.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isPostgresUrl } from '../../src/config/database-url.ts';
import { checkDatabase, openArchive, openWriter } from '../../src/stores/open.ts';
import { databaseOf, importInto, storeName } from '../support/database.ts';
import { ndjson } from '../support/files.ts';
import { change, executeSql, saveOriginals } from '../support/importing.ts';
import { blog, folio, post } from '../support/records.ts';

interface User {
  readonly name: string;
  readonly bio: string;
  readonly items: readonly number[];
}
type Model = ReadonlyMap<number, User>;

const NAMES = ['ada', 'bob', 'cy', 'dot', 'eve'];

/** All users with other names, bios and items, in one import. Names may be handed over and swapped. */
const imported = fc
  .tuple(
    fc.shuffledSubarray(NAMES, { minLength: 5 }),
    fc.array(fc.constantFrom('', 'new'), { minLength: 5, maxLength: 5 }),
    fc.subarray([1, 2, 3, 4, 5], { minLength: 1 }),
    fc.array(fc.nat({ max: 3 }), { minLength: 5, maxLength: 5 }),
  )
  .map(([names, bios, ids, items]): [Model, object[]] => {
    const users = ids.map((id) => ({
      id,
      name: names[id - 1] as string,
      bio: bios[id - 1] as string,
      count: items[id - 1] as number,
    }));
    const records = users.flatMap(({ id, name, bio, count }) => [
      blog(id, name, { bio }),
      ...Array.from({ length: count }, (_, nr) => post(id * 10 + nr, id)),
    ]);
    const model = users.map(({ id, name, bio, count }): [number, User] => [
      id,
      { name, bio, items: Array.from({ length: count }, (_, nr) => id * 10 + nr) },
    ]);
    return [new Map(model), records];
  });

/** Who changed between two states, by name. */
function changedNames(before: Model, after: Model): string[] {
  const byName = (model: Model) =>
    new Map([...model].map(([id, user]) => [user.name, JSON.stringify([id, user])]));
  const [one, other] = [byName(before), byName(after)];
  return NAMES.filter((name) => one.get(name) !== other.get(name));
}

describe(`derived data in ${storeName()}`, () => {
  test('replacements of users who swap and hand over names leave what one import would, and note who changed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(imported, { minLength: 2, maxLength: 5 }), async (steps) => {
        const url = await databaseOf(blog(9, 'nobody'));
        let before: Model = new Map([[9, { name: 'nobody', bio: '', items: [] }]]);
        for (const [model, records] of steps) {
          await using archive = await openArchive(url);
          const { generation } = await archive.changes(undefined);
          await archive.close();
          await importInto(url, ['-'], ndjson(...records), { replace: true, maxRemoved: undefined });
          expect((await checkDatabase(url)).faults).toEqual([]);
          await using later = await openArchive(url);
          const { changes } = await later.changes(generation, { withOldItems: true });
          const noted =
            changes === 'everything' ? [] : changes.map(({ key }) => key).filter((key) => key !== 'nobody');
          expect(noted).toEqual(changedNames(before, model));
          before = model;
        }
        await using writer = await openWriter(url);
        expect(await writer.repair()).toBe(0);
      }),
      { numRuns: 15 },
    );
  });

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

  test('a repair notes the user who answers otherwise, and nobody else', async () => {
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

  test('who names a linked copy that is measured anew is noted by the end of the fetch', async () => {
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
  });
});
