// The contract of every store, tested against each of them.
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ImportOptions } from '../src/import/import.ts';
import { searchKey } from '../src/records/words.ts';
import type { Tallies } from '../src/stores/load.ts';
import { checkDatabase, openReader, openServed, openWriter } from '../src/stores/open.ts';
import type { Answer, HistoryOptions, Reader } from '../src/stores/reader.ts';
import type { RemovalLimit } from '../src/stores/removal-limit.ts';
import type { Raw } from './expected.ts';
import { fixture, ndjson, ugly } from './files.ts';
import { bodyOf, change, exported } from './importing.ts';
import { blog, folio, post, shot } from './records.ts';
import { importInto, newDatabase, storeName, tryImport } from './rig.ts';
import { until } from './stress.ts';

/** The tallies as new, changed, unchanged, removed; undefined when nothing was imported. */
async function take(url: string, records: object[], options: Partial<ImportOptions> = {}) {
  const { tallies, faults } = await tryImport(url, ['-'], ndjson(...records), options);
  return { tallies: tallies && told(tallies), faults };
}

const told = (tallies: Tallies) =>
  Object.fromEntries(
    Object.entries(tallies)
      .map(([kind, tally]) => [kind, [tally.new, tally.changed, tally.unchanged, tally.removed]] as const)
      .filter(([, counts]) => counts.some((count) => count > 0)),
  );

const all = async (url: string): Promise<Raw[]> => (await exported(url)).map((line) => JSON.parse(line));

const briefly = (records: Raw[]) =>
  records.map(({ id, username, user, user_id }) => `${username ?? `${user ?? user_id}'s`} ${id}`);

describe(`the ${storeName()} store`, () => {
  test('a dry run gives the tallies of the import and changes nothing', async () => {
    const url = await newDatabase();
    const old = [blog(1, 'one'), blog(2, 'two'), post(7, 1), post(8, 2)];
    const fresh = { 'microblog profile': [2, 0, 0, 0], post: [2, 0, 0, 0] };
    expect((await take(url, old, { dryRun: true })).tallies).toEqual(fresh);
    expect((await take(url, old)).tallies).toEqual(fresh);
    const before = await exported(url);
    for (const replace of [false, true]) {
      const changes = [blog(1, 'uno'), blog(3, 'one'), post(7, 3), post(9, 1)];
      const tried = await take(url, changes, { dryRun: true, replace });
      expect(tried.tallies).toEqual({
        'microblog profile': [1, 1, 0, replace ? 1 : 0],
        post: [1, 1, 0, replace ? 1 : 0],
      });
      expect(await exported(url)).toEqual(before);
    }
    expect((await checkDatabase(url)).faults).toEqual([]);
    expect((await take(url, old)).tallies).toEqual({
      'microblog profile': [0, 0, 2, 0],
      post: [0, 0, 2, 0],
    });
  });

  test('faults of records and misfits are reported in one round, without the items of faulty profiles', async () => {
    const url = await newDatabase();
    await take(url, [blog(5, 'taken')]);
    const before = await exported(url);
    const records = [
      blog(1, 'one', { verified: 'yes' }),
      post(7, 1),
      blog(2, 'TAKEN'),
      post(8, 2),
      post(9, 99),
      folio(1, 'one', { Likes: 'x' }),
      shot(7, 1),
      shot(8, 98),
    ];
    for (const replace of [false, true]) {
      const { tallies, faults } = await take(url, records, { replace });
      const clash = replace ? [] : ['3: username'];
      expect(tallies).toBeUndefined();
      expect(faults.map((line) => /\d+: \w+/.exec(line)?.[0])).toEqual([
        ...['1: verified', '6: Likes', ...clash, '5: user', '8: user_id'],
      ]);
      expect(await exported(url)).toEqual(before);
    }
  });

  test('a name stays with its user; of two newcomers the first gets it; families are separate', async () => {
    const url = await newDatabase();
    await take(url, [blog(1, 'Zoë'), folio(9, 'ZOË')]);
    const { tallies, faults } = await take(url, [
      blog(2, 'zoe\u0308'),
      blog(3, 'new'),
      blog(4, 'NEW'),
      folio(2, 'new'),
    ]);
    expect(tallies).toBeUndefined();
    expect(faults).toEqual([
      'standard input:1: username: is already the name of id 1, so id 2 cannot have it, got "zoe\u0308"',
      'standard input:3: username: is already the name of id 3, so id 4 cannot have it, got "NEW"',
    ]);
    expect(briefly(await all(url))).toEqual(['Zoë 1', 'ZOË 9']);
  });

  test('a refused user keeps the old name, even if another record claims it', async () => {
    const url = await newDatabase();
    await take(url, [blog(1, 'one'), blog(2, 'two')]);
    // 1 cannot become `two`, so keeps `one`, so 3 cannot have that.
    const { tallies, faults } = await take(
      url,
      [blog(1, 'two'), blog(2, 'two', { bio: 'x' }), blog(3, 'one'), blog(5, 'five')],
      { skipInvalid: true },
    );
    expect(tallies).toEqual({ 'microblog profile': [1, 1, 0, 0] });
    expect(faults.map((line) => line.split(':')[1])).toEqual(['1', '3']);
    expect(briefly(await all(url))).toEqual(['five 5', 'one 1', 'two 2']);
  });

  test('replace refuses to remove more of a kind of record than allowed', async () => {
    const url = await newDatabase();
    const numbers = Array.from({ length: 10 }, (_, index) => index + 1);
    const records = [...numbers.map((id) => blog(id, `user${id}`)), ...numbers.map((id) => post(id, 1))];
    await take(url, [...records, folio(1, 'one')]);
    const part = [...records.slice(0, 8), ...records.slice(10, 17)];
    const replacing = (maxRemoved: RemovalLimit) => take(url, part, { replace: true, maxRemoved });
    await expect(replacing({ share: 0.2 })).rejects.toThrow(
      '--replace would remove 3 of 10 posts, and may remove 20%: is the input complete? `--max-removed 100%` allows it.',
    );
    await expect(replacing({ count: 1 })).rejects.toThrow(
      '2 of 10 microblog profiles and 3 of 10 posts, and may remove 1:',
    );
    expect(await all(url)).toHaveLength(21);
    expect((await checkDatabase(url)).faults).toEqual([]);
    expect((await replacing({ count: 3 })).tallies).toEqual({
      'microblog profile': [0, 0, 8, 2],
      post: [0, 0, 7, 3],
    });
  });

  describe('a search', () => {
    const found = async (url: string, text: string, limit = 50) => {
      const reader = await openReader(url);
      const users = await reader.search('portfolio', searchKey(text), limit);
      await reader.close();
      return users.map(({ username }) => username);
    };

    const PEOPLE = [
      folio(1, 'ada', { name: 'Zoë Łukasz O’Neil' }),
      folio(2, 'QUINN_okafor', { name: 'Ada van den Berg' }),
      folio(3, 'asakura', { name: '朝倉 遥' }),
      folio(4, 'sakura', { name: '田中さくら' }),
      folio(5, '__', { name: '' }),
      folio(6, 'jin', { name: '김민준' }),
      blog(7, 'ada'),
    ];

    test('finds by the beginning of the user name or of any word of the name, case and accents aside', async () => {
      const url = await newDatabase();
      await take(url, PEOPLE);
      const searches = {
        ada: ['ada', 'QUINN_okafor'],
        'ADA V': ['QUINN_okafor'],
        adam: [],
        da: [],
        zoe: ['ada'],
        Zöe: ['ada'],
        lukasz: ['ada'],
        'o neil': ['ada'],
        'o-N': ['ada'],
        nei: ['ada'],
        'den b': ['QUINN_okafor'],
        quinn: ['QUINN_okafor'],
        'quinn ok': ['QUINN_okafor'],
        okafor: [],
        遥: ['asakura'],
        朝: ['asakura'],
        朝倉遥: ['asakura'],
        '朝倉 遥': ['asakura'],
        倉: [],
        ...{
          さく: ['sakura'],
          田中さ: ['sakura'],
          '田中 さ': ['sakura'],
          김: ['jin'],
          기: ['jin'],
          _: ['__'],
        },
      };
      for (const [text, users] of Object.entries(searches))
        expect([text, await found(url, text)]).toEqual([text, users]);
      expect(await found(url, 'a', 2)).toEqual(['ada', 'QUINN_okafor']);
    });

    test('follows every change: of names, users and files, also after a first import', async () => {
      const url = await newDatabase();
      await take(url, [blog(9, 'first')]);
      await take(url, PEOPLE);
      await take(url, [
        folio(1, 'ada', { name: 'Mira' }),
        folio(2, 'mira', { name: 'Ada' }),
        folio(8, 'new', { name: 'Mi' }),
      ]);
      expect(await found(url, 'mi')).toEqual(['new', 'ada', 'mira']);
      expect([await found(url, 'zoe'), await found(url, 'quinn'), await found(url, 'ada')]).toEqual([
        [],
        [],
        ['ada', 'mira'],
      ]);
      await take(url, [folio(1, 'mira', { name: 'Ada' }), folio(2, 'ada', { name: 'Mira' })]);
      expect(await found(url, 'mi')).toEqual(['new', 'mira', 'ada']);
      const writer = await openWriter(url);
      await writer.remove('portfolio', 'mira');
      await writer.takeDown([{ family: 'portfolio', kind: 'user', value: 'new' }], () => {});
      await writer.close();
      expect(await found(url, 'mi')).toEqual(['ada']);
      await take(url, [folio(2, 'only', { name: 'One' })], { replace: true });
      expect([await found(url, 'mi'), await found(url, 'on'), await found(url, 'sakura')]).toEqual([
        [],
        ['only'],
        [],
      ]);
      expect((await checkDatabase(url)).faults).toEqual([]);
    });

    test('names each user once, and those called so first', async () => {
      const url = await newDatabase();
      const words = Array.from({ length: 20 }, (_, at) => `Anna${at}`).join(' ');
      await take(
        url,
        Array.from({ length: 120 }, (_, at) => folio(at + 1, `ann${at}`, { name: words })),
      );
      await take(url, [folio(999, 'anna')]);
      const users = await found(url, 'anna', 51);
      expect([users[0], users.length, new Set(users).size]).toEqual(['anna', 51, 51]);
    });
  });

  test('remove deletes a user and their items', async () => {
    const url = await newDatabase();
    await take(url, [
      blog(1, 'one'),
      blog(2, 'two'),
      post(1, 1),
      post(2, 2),
      post(3, 1),
      folio(1, 'one'),
      shot(1, 1),
    ]);
    const writer = await openWriter(url);
    expect(await writer.remove('microblog', 'one')).toEqual({ items: 2 });
    expect(await writer.remove('microblog', 'one')).toBeUndefined();
    await writer.close();
    expect((await checkDatabase(url)).faults).toEqual([]);
    expect(briefly(await all(url))).toEqual(['two 2', 'one 1', "2's 2", "1's 1"]);
  });

  describe('reading', () => {
    let url: string;
    let reader: Reader;
    const told: string[] = [];
    beforeAll(async () => {
      url = await newDatabase();
      const many = Array.from({ length: 20 }, (_, i) =>
        post(i + 1, 1, { date: `2024-01-${i < 10 ? '01' : '02'} 00:00:00` }),
      );
      await take(url, [
        blog(1, 'one'),
        blog(2, 'none'),
        blog('9223372036854775807', 'last'),
        ...many,
        post('9223372036854775807', '9223372036854775807'),
        folio(1, 'one'),
      ]);
      reader = await openServed(url, ({ message }) => void told.push(message));
    });
    afterAll(async () => await reader.close());

    const ids = async (name: string) =>
      JSON.parse(bodyOf(await reader.items('microblog', name, 'posts'))).posts.map(({ id }: Raw) => id);

    test('profiles by key and family, as imported', async () => {
      expect(JSON.parse(bodyOf(await reader.profile('microblog', 'one')))).toMatchObject({
        id: '1',
        username: 'one',
        totalFavs: '0',
      });
      expect(await reader.profile('portfolio', 'none')).toBeUndefined();
      expect(await reader.profile('microblog', "one' OR 1=1")).toBeUndefined();
      expect(JSON.parse(bodyOf(await reader.profile('microblog', 'last')))).toMatchObject({
        id: '9223372036854775807',
      });
    });

    test('the newest 15 items, by date and then by id', async () => {
      expect(await ids('one')).toEqual('20 19 18 17 16 15 14 13 12 11 10 9 8 7 6'.split(' '));
      expect(await ids('last')).toEqual(['9223372036854775807']);
      expect(bodyOf(await reader.items('microblog', 'none', 'posts'))).toBe('{"posts":[]}');
      expect(await reader.items('microblog', 'nobody', 'posts')).toBeUndefined();
    });

    test('no body when If-None-Match names the ETag', async () => {
      for (const find of [
        (known?: string) => reader.profile('microblog', 'one', { known }),
        (known?: string) => reader.items('microblog', 'one', 'posts', { known }),
      ]) {
        const { etag, body } = (await find()) as Answer;
        expect(body).toBeInstanceOf(Buffer);
        for (const known of [etag, `W/${etag}`, `"a", ${etag}, "b"`])
          expect(await find(known)).toEqual({ etag, body: null });
        for (const known of ['', '*', '"a"', `"${etag.slice(2)}`])
          expect(await find(known)).toEqual({ etag, body });
        expect(await reader.profile('microblog', 'nobody', { known: etag })).toBeUndefined();
      }
    });

    test('what is long is answered compressed, and follows every change; short answers stay plain', async () => {
      const url = await newDatabase();
      const bio = 'a long text, '.repeat(100);
      const bodies = async (user: string) => {
        const lookups = await openReader(url);
        const read = async (gzip: boolean) => [
          await lookups.profile('portfolio', user, { gzip }),
          await lookups.items('portfolio', user, 'Shots', { gzip }),
          await lookups.items('portfolio', user, 'Posts', { gzip }),
        ];
        const [plain, packed] = [await read(false), await read(true)];
        const { etag } = packed[1] as Answer;
        expect(await lookups.items('portfolio', user, 'Shots', { gzip: true, known: etag })).toEqual({
          ...packed[1],
          body: null,
        });
        await lookups.close();
        const unpacked = packed.map((answer) => {
          const { isGzip = false, body, etag } = answer as Answer;
          return { etag, body: isGzip ? gunzipSync(body as Buffer) : body };
        });
        expect(unpacked).toEqual(plain);
        return packed.map((answer) => answer?.isGzip === true);
      };
      const long = [folio(1, 'ada', { bio }), shot(1, 1, { description: bio }), shot(2, 1), folio(2, 'bea')];
      await importInto(url, ['-'], ndjson(...long));
      expect(await bodies('ada')).toEqual([true, true, true]);
      expect(await bodies('bea')).toEqual([false, false, false]);
      await importInto(url, ['-'], ndjson(folio(1, 'ada', { bio: `${bio}!` }), shot(2, 1, { title: 'new' })));
      expect(await bodies('ada')).toEqual([true, true, true]);
      const subject = { family: 'portfolio', kind: 'item', value: '1' } as const;
      await change(url, (writer) => writer.takeDown([subject], () => {}));
      expect(await bodies('ada')).toEqual([true, false, false]);
      expect((await checkDatabase(url)).faults).toEqual([]);
    });

    test('the users with the lowest ids, by family', async () => {
      expect(await reader.firstUsers('microblog', 2)).toEqual(['one', 'none']);
      expect(await reader.firstUsers('microblog', 9)).toEqual(['one', 'none', 'last']);
      expect(await reader.firstUsers('portfolio', 2)).toEqual(['one']);
    });

    test('users in the order of their names, from any of them on', async () => {
      const names = async (options: Parameters<typeof reader.users>[1]) =>
        (await reader.users('microblog', options)).map(({ key, username }) => [key, username].join());
      expect(await names({ limit: 2 })).toEqual(['last,last', 'none,none']);
      expect(await names({ limit: 2, after: 'none' })).toEqual(['one,one']);
      expect(await names({ limit: 9, skip: 1 })).toEqual(['none,none', 'one,one']);
      const one = (await reader.users('microblog', { after: 'n', limit: 9 }))[1];
      const { etag, body } = (await reader.profile('microblog', 'one')) as Answer;
      const { username, name, bio, avatar } = JSON.parse(String(body));
      expect(one).toEqual({ key: 'one', username, etag, name, bio, avatar });
    });

    test('the whole history of a user, from any item on', async () => {
      const history = async (options: HistoryOptions) => {
        const found = await reader.history('microblog', 'one', options);
        expect(bodyOf(found?.profile)).toBe(bodyOf(await reader.profile('microblog', 'one')));
        return found?.records.map((record) => JSON.parse(record).id);
      };
      const everything = Array.from({ length: 20 }, (_, nth) => String(20 - nth));
      expect(await history({ limit: 15 })).toEqual(await ids('one'));
      expect(await history({ limit: 99 })).toEqual(everything);
      expect(await history({ from: '4', limit: 2 })).toEqual(['4', '3']);
      expect(await history({ from: '4', limit: 2, skip: 1 })).toEqual(['3', '2']);
      expect(await history({ from: '18', limit: 9, side: 'newer' })).toEqual(['18', '19', '20']);
      expect(await history({ from: '4711', limit: 2 })).toEqual([]);
      expect((await reader.history('microblog', 'none', { limit: 2 }))?.records).toEqual([]);
      expect(await reader.history('portfolio', 'none', { limit: 2 })).toBeUndefined();
    });

    test('counts records and finds no fault', async () => {
      expect(await reader.counts()).toEqual({
        'microblog profile': 3,
        post: 21,
        'portfolio profile': 1,
        shot: 0,
      });
      expect(await reader.fault()).toBeUndefined();
    });

    test('the version changes soon after a commit', async () => {
      const before = reader.version();
      await take(url, [blog(2, 'none', { bio: 'new' })]);
      await until('the new version', () => reader.version() !== before);
      expect(bodyOf(await reader.profile('microblog', 'none'))).toContain('"bio":"new"');
    });
  });

  test('every text is read as written', async () => {
    const url = await newDatabase();
    const files = [
      fixture('microblog.ndjson'),
      fixture('portfolio.ndjson'),
      ugly('hostile-names.ndjson'),
      ugly('date-ties.ndjson'),
    ];
    await importInto(url, files);
    const awkward = [
      ...['\\', '\\\\N', '\\.', 'a\tb\nc\rd', '\u0000', '\\u0000', '"quoted"', '🗺️', '\u2028', 'é'],
      ...['\u007f', '%s $1 {}', '/* -- ;'],
    ];
    await take(
      url,
      awkward.map((bio, i) => blog(700_000 + i, `awkward ${i} \\ " ' \\N`, { bio })),
    );
    const records = await all(url);
    for (const [i, bio] of awkward.entries())
      expect(records.find(({ id }) => id === String(700_000 + i))?.bio).toBe(bio);
    const reader = await openServed(url, () => {});
    expect(JSON.parse(bodyOf(await reader.profile('microblog', `awkward 1 \\ " ' \\n`))).bio).toBe('\\\\N');
    await reader.close();
  });
});
