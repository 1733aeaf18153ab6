// Who names which picture: whatever was written before, a takedown and `media prune` remove what no record names, and nothing else.
import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isPostgresUrl } from '../../src/config/database-url.ts';
import { importFiles } from '../../src/import/import.ts';
import { FAMILIES, type Family, KIND_NAMES } from '../../src/records/kinds.ts';
import { checkDatabase, openWriter } from '../../src/stores/open.ts';
import { copiedMembers } from '../../src/stores/sql/media-statements.ts';
import type { Writer } from '../../src/stores/writer.ts';
import { addRecords, databaseOf, select, storeName } from '../support/database.ts';
import { ndjson, PROGRAM } from '../support/files.ts';
import { change, executeSql, exported, readMedia, saveOriginals } from '../support/importing.ts';
import { blog, folio, post, shot } from '../support/records.ts';

const MEDIA = 'https://m.example';
const copyName = (digit: number) => `${String(digit).repeat(64)}.png`;
const copy = (url: string, nr = 1) => ({ url, file: copyName(nr), bytes: 1, reason: null });
const USERS = ['ada', 'bob', 'cy'];
// Two of them have the same copy, and one is the address of a copy.
const PICTURES = ['1', '2', '3', '4'].map((name) => `https://old.example/${name}`);
const ENTRIES = PICTURES.map((url, nr) =>
  nr === 3 ? { url, file: null, bytes: 0, reason: 'gone' } : copy(url, nr % 2),
);

const picture = fc.constantFrom('', ...PICTURES, `${MEDIA}/${copyName(1)}`);
const id = fc.integer({ min: 1, max: USERS.length });
const record = fc.oneof(
  fc
    .record({ make: fc.constantFrom(blog, folio), id, avatar: picture, cover_image: picture, bio: picture })
    .map(({ make, id, ...members }) => make(id, USERS[id - 1] as string, members)),
  fc
    .record({ nr: fc.integer({ min: 1, max: 20 }), user: id, photo: picture, url_audio: picture })
    .map(({ nr, user, ...members }) => post(nr, user, members)),
  fc
    .record({ nr: fc.integer({ min: 1, max: 20 }), user: id, image: picture, attachment: picture })
    .map(({ nr, user, ...members }) => shot(nr, user, members)),
);
const family = fc.constantFrom<Family>(...FAMILIES);

type Step = (writer: Writer, url: string) => Promise<void>;

async function load(writer: Writer, records: readonly object[], replace: boolean): Promise<void> {
  const stdin = (async function* () {
    yield Buffer.from(ndjson(...records));
  })();
  const options = { replace, skipInvalid: true, out: { write() {} }, stdin };
  await importFiles(writer, { files: ['-'], ...options });
}

const MEMBERS = [...new Set(KIND_NAMES.flatMap(copiedMembers))];

/** The addresses that are known and that a record names. */
async function namedOf(url: string, known: readonly string[]): Promise<string[]> {
  const records = (await exported(url)).map((line) => JSON.parse(line));
  const named = new Set(records.flatMap((one) => MEMBERS.map((name) => one[name])));
  return known.filter((address) => named.has(address));
}

const known = async (url: string) => (await readMedia(url)).entries.map((entry) => entry.url);

/** Does what removes addresses: those that a record names stay, and no others. */
async function removesUnnamed(url: string, remove: () => Promise<unknown>): Promise<void> {
  const expected = await namedOf(url, await known(url));
  await remove();
  expect(await known(url)).toEqual(expected);
}

async function cleanUp(writer: Writer, url: string): Promise<void> {
  const files = async () => (await readMedia(url)).entries.flatMap(({ file }) => file ?? []);
  const before = new Set(await files());
  const removed: string[] = [];
  await removesUnnamed(url, () => writer.cleanUp((names) => void removed.push(...names)));
  const left = new Set(await files());
  expect(removed.sort()).toEqual([...before].filter((file) => !left.has(file)).sort());
}

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .record({ records: fc.array(record, { minLength: 1, maxLength: 8 }), replace: fc.boolean() })
      .map(
        ({ records, replace }): Step =>
          (writer) =>
            load(writer, records, replace),
      ),
  },
  {
    weight: 3,
    arbitrary: fc.subarray(ENTRIES, { minLength: 1 }).map(
      (entries): Step =>
        (_, url) =>
          saveOriginals(url, entries),
    ),
  },
  fc.record({ partly: fc.boolean() }).map(
    ({ partly }): Step =>
      async (writer, url) => {
        await writer.finishFetch({ mediaUrl: partly ? MEDIA : MEDIA, files: false });
        expect((await checkDatabase(url)).faults).toEqual([]);
      },
  ),
  fc.record({ family, name: fc.constantFrom(...USERS) }).map(
    ({ family, name }): Step =>
      async (writer) =>
        void (await writer.remove(family, name)),
  ),
  fc
    .record({ family, kind: fc.constantFrom('user', 'item'), id, isStopped: fc.boolean() })
    .map(({ family, kind, id, isStopped }): Step => {
      const value = kind === 'user' ? (USERS[id - 1] as string) : String(id);
      const subjects = [{ family, kind: kind as 'user' | 'item', value }] as const;
      return async (writer, url) => {
        await writer.takeDown(subjects);
        await writer.undoTakedowns(subjects);
        if (!isStopped) await cleanUp(writer, url);
      };
    }),
  fc.constant<Step>((writer, url) => removesUnnamed(url, () => writer.pruneCopies(0))),
  fc.constant<Step>(async (writer) => void (await writer.relink(MEDIA))),
);

const RUNS = storeName() === 'SQLite' ? 15 : 5;

describe(`names of pictures in ${storeName()}`, () => {
  test('a takedown and a prune remove all copies that no record names, and no others', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 10 }), async (steps) => {
        const url = await databaseOf(blog(1, 'ada', { avatar: PICTURES[0] }));
        await using writer = await openWriter(url);
        for (const change of steps) await change(writer, url);
        await cleanUp(writer, url);
        expect((await checkDatabase(url)).faults).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  });

  const [A, B] = ['a', 'b'].map((name) => `https://old.example/${name}`) as [string, string];
  const link = { mediaUrl: MEDIA, files: false, since: undefined };

  /** A store with these records and a copy of both pictures, after a fetch. */
  async function fetched(...records: object[]): Promise<string> {
    const url = await databaseOf(...records);
    await saveOriginals(url, [copy(A), copy(B)]);
    await change(url, (writer) => writer.finishFetch(link));
    return url;
  }

  /** What is known after the takedown of a user. */
  async function leftOf(url: string, user: string): Promise<string[]> {
    await change(url, async (writer) => {
      await writer.takeDown([{ family: 'portfolio', kind: 'user', value: user }]);
      await writer.cleanUp(() => {});
    });
    return await known(url);
  }

  test('a user may name another address of the same copy, which changes no answer', async () => {
    const url = await fetched(folio(1, 'ada', { avatar: A }), folio(2, 'bob', { avatar: B }));
    await addRecords(url, folio(1, 'ada', { avatar: B }));
    expect(await leftOf(url, 'bob')).toEqual([B]);
  });

  test('an item takes its picture to another user', async () => {
    const users = [folio(1, 'ada'), folio(2, 'bob', { avatar: B })];
    const url = await fetched(...users, shot(1, 1, { image: A }));
    await addRecords(url, shot(1, 2, { image: A }));
    expect(await leftOf(url, 'bob')).toEqual([]);
  });

  test('an address in a text names no picture', async () => {
    const url = await fetched(folio(1, 'ada', { avatar: A, cover_image: B }), folio(2, 'bob'));
    await addRecords(url, folio(1, 'ada', { bio: A, cover_image: B }));
    expect(await leftOf(url, 'bob')).toEqual([B]);
  });

  test('a picture stays that another item of the user names', async () => {
    const url = await fetched(
      folio(1, 'ada'),
      folio(2, 'bob'),
      shot(1, 1, { image: A, attachment: B }),
      shot(2, 1, { image: A }),
    );
    await addRecords(url, shot(1, 1));
    expect(await leftOf(url, 'bob')).toEqual([A]);
  });

  test('an item leaves out one of its pictures, and keeps the other', async () => {
    const url = await fetched(folio(1, 'ada'), folio(2, 'bob'), shot(1, 1, { image: A, attachment: B }));
    await addRecords(url, shot(1, 1, { image: A, title: 'new' }));
    expect(await leftOf(url, 'bob')).toEqual([A]);
  });

  test('the pictures of a record that was damaged are named when it comes again', async () => {
    const url = await fetched(folio(1, 'ada', { avatar: A }));
    if (isPostgresUrl(url)) return;
    executeSql(url, `UPDATE profiles SET record = '{' WHERE id = 1`);
    await addRecords(url, folio(1, 'ada', { avatar: B }));
    expect(await select(url, `SELECT id FROM media_names WHERE url = '${B}'`)).toEqual([[1]]);
  });

  test('a copy stays that an unchanged record names by its own address', async () => {
    const own = `${MEDIA}/${copyName(1)}`;
    const url = await fetched(folio(1, 'ada', { avatar: own }), folio(2, 'bob', { avatar: A }));
    await addRecords(url, folio(1, 'ada', { avatar: own }));
    expect(await leftOf(url, 'bob')).toEqual([own]);
  });

  test('a copy stays that a record named by its own address before there was one', async () => {
    const own = `${MEDIA}/${copyName(1)}`;
    const url = await fetched(folio(1, 'ada', { avatar: own }), folio(2, 'bob', { avatar: A }));
    expect(await leftOf(url, 'bob')).toEqual([own]);
    expect(await leftOf(url, 'ada')).toEqual([]);
  });

  test('a repair finds a copy that a record names by its own address, as databases of earlier versions have it', async () => {
    const own = `${MEDIA}/${copyName(1)}`;
    const url = await fetched(folio(1, 'ada', { avatar: own }), folio(2, 'bob', { avatar: A }));
    if (isPostgresUrl(url)) return;
    executeSql(url, `DELETE FROM media WHERE url = '${own}'`);
    await change(url, (writer) => writer.repair());
    expect(await leftOf(url, 'bob')).toEqual([own]);
  });

  test('a fetch that was killed has copied the picture of a user who is gone', async () => {
    const url = await fetched(folio(1, 'ada', { avatar: A, cover_image: B }), folio(2, 'bob'));
    await addRecords(url, folio(3, 'cy', { avatar: PICTURES[0] }));
    await saveOriginals(url, [copy(PICTURES[0] as string)]);
    await change(url, (writer) => writer.remove('portfolio', 'cy'));
    expect(await leftOf(url, 'bob')).toEqual([A, B]);
  });

  test('a takedown that must read all records lets other writers in between', async () => {
    const users = Array.from({ length: 5001 }, (_, nr) => blog(nr + 1, `user${nr + 1}`));
    const url = await databaseOf(...users);
    await saveOriginals(
      url,
      PICTURES.map((address, nr) => copy(address, nr)),
    );
    await using writer = await openWriter(url);
    const seen = new Set<string>();
    await writer.cleanUp(
      () => {},
      (step) => {
        if (seen.has(step)) return;
        // At the beginning of each step, a user who was looked at already names a picture that no record named.
        const late = blog(1 + seen.size, `user${1 + seen.size}`, { avatar: PICTURES[seen.size] });
        const args = [PROGRAM, 'import', '--database-url', url, '-'];
        if (seen.add(step).size <= 2) execFileSync(process.execPath, args, { input: ndjson(late) });
      },
    );
    expect([...seen][0]).toBe('removing pictures');
    expect(await known(url)).toEqual(PICTURES.slice(0, 1));
  });

  test('a takedown reads no record of users who did not change', async () => {
    const url = await fetched(folio(1, 'ada', { avatar: A }), folio(2, 'bob', { avatar: B, cover_image: A }));
    if (isPostgresUrl(url)) return;
    // Behind the program's back: a command that read the record would find that it names another picture.
    executeSql(
      url,
      `UPDATE profiles SET record = replace(record, 'old.example', 'odd.example') WHERE id = 1`,
    );
    expect(await leftOf(url, 'bob')).toEqual([A]);
  });

  test('an item that comes reads no other item of its user', async () => {
    const url = await fetched(folio(1, 'ada'), shot(1, 1, { image: A }), shot(2, 1, { image: B }));
    if (isPostgresUrl(url)) return;
    const other = PICTURES[0] as string;
    await saveOriginals(url, [copy(other)]);
    // Behind the program's back: a command that read this record would find that it names another picture.
    executeSql(url, `UPDATE items SET record = replace(record, '${A}', '${other}') WHERE id = 1`);
    await addRecords(url, shot(3, 1, { image: B }), shot(2, 1));
    await change(url, (writer) => writer.pruneCopies(0));
    expect(await known(url)).toEqual([A, B]);
  });
});
