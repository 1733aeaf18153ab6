// The contract of every store, tested against each of them. What imports make of records is in fixtures/cases/stores.txt.
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ImportOptions } from '../../src/import/import.ts';
import { searchKey } from '../../src/records/search-words.ts';
import { checkDatabase, openReader, openServed, openWriter } from '../../src/stores/open.ts';
import type { Answer, History, HistoryOptions, Newest, Reader } from '../../src/stores/reader.ts';
import { addRecords, importInto, newDatabase, storeName } from '../support/database.ts';
import type { Raw } from '../support/expected.ts';
import { fixture, ndjson, ugly } from '../support/files.ts';
import { bodyOf, change, exported } from '../support/importing.ts';
import { blog, folio, post, shot } from '../support/records.ts';
import { until } from '../support/stress.ts';

const take = (url: string, records: object[], options: Partial<ImportOptions> = {}) =>
  importInto(url, ['-'], ndjson(...records), options);

const all = async (url: string): Promise<Raw[]> => (await exported(url)).map((line) => JSON.parse(line));

describe(`the ${storeName()} store`, () => {
  test('newest shots are the first of each user in the order of the list, in one read', async () => {
    const many = Array.from({ length: 20 }, (_, nth) => shot(100 + nth, 2, { date: '2024-01-01 00:00:00' }));
    const url = await newDatabase();
    await take(url, [
      folio(1, 'Ada'),
      folio(2, 'bob'),
      folio(3, 'none'),
      folio(4, 'other'),
      blog(1, 'ada'),
      post(12, 1),
      shot(11, 1, { date: '2024-01-02 00:00:00', title: 'x'.repeat(400), image: 'https://a.example/s.png' }),
      shot(10, 1, { date: '2024-01-03 00:00:00', large_image: 'https://a.example/l.png' }),
      shot(13, 4),
      ...many,
    ]);
    const reader = await openReader(url);
    const found = await reader.newestShots(['bob', 'ada', 'none', 'gone'], 3);
    const nothing = await reader.newestShots([], 3);
    await reader.close();
    const by = Map.groupBy(found, ({ key }) => key);
    expect(by.get('ada')).toEqual([
      { key: 'ada', id: '10', title: expect.anything(), image: '', large_image: 'https://a.example/l.png' },
      { key: 'ada', id: '11', title: 'x'.repeat(300), image: 'https://a.example/s.png', large_image: '' },
    ]);
    expect(by.get('bob')?.map(({ id }) => id)).toEqual(['119', '118', '117']);
    expect([...by.keys()].sort()).toEqual(['ada', 'bob']);
    expect(nothing).toEqual([]);
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

    test('finds by the beginning of a user name or word, without case or accents', async () => {
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
        さく: ['sakura'],
        田中さ: ['sakura'],
        '田中 さ': ['sakura'],
        김: ['jin'],
        기: ['jin'],
        _: ['__'],
        // PostgreSQL takes no NUL.
        '\0_': ['__'],
      };
      for (const [text, users] of Object.entries(searches))
        expect([text, await found(url, text)]).toEqual([text, users]);
      expect(await found(url, 'a', 2)).toEqual(['ada', 'QUINN_okafor']);
    });

    test('finds by the words of skills and of the place', async () => {
      const url = await newDatabase();
      await take(url, [
        folio(1, 'ada', { location: 'Lisboa, Portugal', skills: 'type design,Screen Printing' }),
        folio(2, 'bob', { location: '', skills: '文字,خط، طباعة' }),
        folio(3, 'screen', { skills: 'posters' }),
      ]);
      for (const [text, users] of Object.entries({
        lisboa: ['ada'],
        portugal: ['ada'],
        'type design': ['ada'],
        printing: ['ada'],
        screen: ['screen', 'ada'],
        طباعة: ['bob'],
        文: ['bob'],
      }))
        expect([text, await found(url, text)]).toEqual([text, users]);
      await take(url, [folio(1, 'ada', { location: 'Porto', skills: '' })]);
      expect([await found(url, 'lis'), await found(url, 'porto'), await found(url, 'type')]).toEqual([
        [],
        ['ada'],
        [],
      ]);
    });

    test('finds by the tags of the works in the list, and by no others', async () => {
      const url = await newDatabase();
      const dated = (day: number) => ({ date: `2024-01-${String(day).padStart(2, '0')} 00:00:00` });
      const many = Array.from({ length: 15 }, (_, nth) =>
        shot(100 + nth, 2, {
          ...dated(nth + 2),
          tags: `tag${nth}, Tag${nth}${nth === 14 ? ',two words' : ''}`,
        }),
      );
      await take(url, [
        folio(1, 'ada'),
        folio(2, 'bob'),
        folio(3, 'cy'),
        folio(4, 'poster'),
        shot(1, 1, { tags: 'Poster,screen "print",Écru\\', title: '"tags":"title"' }),
        shot(2, 2, { ...dated(1), tags: 'too old' }),
        shot(4, 3, { tags: '"Quoted",design' }),
        shot(3, 4, { tags: Array.from({ length: 30 }, (_, nth) => `many words ${nth}`).join() }),
        ...many,
      ]);
      for (const [text, users] of Object.entries({
        poster: ['ada', 'poster'],
        'screen print': ['ada'],
        print: ['ada'],
        quoted: ['cy'],
        design: ['cy'],
        ecru: ['ada'],
        title: [],
        tag0: ['bob'],
        'two words': ['bob'],
        words: ['bob'],
        // Whole tags come before words within them, and only so many count.
        'many words 23': ['poster'],
        'many words 24': [],
        'too old': [],
      }))
        expect([text, await found(url, text)]).toEqual([text, users]);
      // An item moves to another user, and a work leaves a list.
      await take(url, [shot(1, 3, { tags: 'poster' }), shot(114, 2, { ...dated(20), tags: 'other' })]);
      for (const [text, users] of Object.entries({
        poster: ['cy', 'poster'],
        print: [],
        tag14: [],
        tag0: ['bob'],
        other: ['bob'],
      }))
        expect([text, await found(url, text)]).toEqual([text, users]);
      const writer = await openWriter(url);
      await writer.takeDown([{ family: 'portfolio', kind: 'item', value: '1' }]);
      expect(await found(url, 'poster')).toEqual(['poster']);
      await writer.takeDown([{ family: 'portfolio', kind: 'user', value: 'bob' }]);
      await writer.close();
      expect(await found(url, 'tag')).toEqual([]);
      expect((await checkDatabase(url)).faults).toEqual([]);
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
      await writer.takeDown([{ family: 'portfolio', kind: 'user', value: 'new' }]);
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
      const words = Array.from({ length: 30 }, (_, at) => `Anna${at}`);
      const members = { name: words.join(' '), location: words.join(' '), skills: words.join() };
      await take(
        url,
        Array.from({ length: 120 }, (_, at) => [
          folio(at + 1, `ann${at}`, members),
          shot(at + 1, at + 1, { tags: words.map((word) => `${word} tag`).join() }),
        ]).flat(),
      );
      await take(url, [folio(999, 'anna')]);
      const users = await found(url, 'anna', 51);
      expect([users[0], users.length, new Set(users).size]).toEqual(['anna', 51, 51]);
    });
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
      await addRecords(url, ...long);
      expect(await bodies('ada')).toEqual([false, true, true]);
      expect(await bodies('bea')).toEqual([false, false, false]);
      await addRecords(url, folio(1, 'ada', { bio: `${bio}!` }), shot(2, 1, { title: 'new' }));
      expect(await bodies('ada')).toEqual([false, true, true]);
      const subject = { family: 'portfolio', kind: 'item', value: '1' } as const;
      await change(url, (writer) => writer.takeDown([subject]));
      expect(await bodies('ada')).toEqual([false, false, false]);
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
        for (const { id, record } of found?.items ?? []) expect(JSON.parse(record).id).toBe(id);
        const sizes = found?.items.map(({ id, record }) => ({ id, bytes: record.length }));
        expect(await reader.historySizes('microblog', 'one', options)).toEqual(sizes);
        return sizes?.map(({ id }) => id);
      };
      const everything = Array.from({ length: 20 }, (_, nth) => String(20 - nth));
      expect(await history({ limit: 15 })).toEqual(await ids('one'));
      expect(await history({ limit: 99 })).toEqual(everything);
      expect(await history({ from: '4', limit: 2 })).toEqual(['4', '3']);
      expect(await history({ from: '4', limit: 2, skip: 1 })).toEqual(['3', '2']);
      const newer = await reader.historySizes('microblog', 'one', { from: '18', limit: 9, side: 'newer' });
      expect(newer.map(({ id }) => id)).toEqual(['18', '19', '20']);
      expect(await history({ from: '4711', limit: 2 })).toEqual([]);
      expect((await reader.history('microblog', 'none', { limit: 2 }))?.items).toEqual([]);
      expect(await reader.history('portfolio', 'none', { limit: 2 })).toBeUndefined();
    });

    test('a user with their list of the newest items, and whether there are more', async () => {
      const newest = async (user: string) => await reader.newest('microblog', user, 'posts');
      for (const [user, hasMore] of [
        ['one', true],
        ['none', false],
      ] as const) {
        const found = (await newest(user)) as Newest;
        const items = await reader.items('microblog', user, 'posts', { gzip: true });
        expect(found).toEqual({
          profile: await reader.profile('microblog', user),
          list: { etag: items?.etag, body: items?.body },
          hasMore,
          hasCopies: false,
        });
      }
      expect(await newest('nobody')).toBeUndefined();
    });

    test('an item with its user and the ids of those beside it', async () => {
      const profile = await reader.profile('microblog', 'one');
      for (const [id, older, newer] of [
        ['20', '19', undefined],
        ['4', '3', '5'],
        ['1', undefined, '2'],
      ] as const) {
        const record = (await reader.history('microblog', 'one', { from: id, limit: 1 }))?.items[0]?.record;
        expect(await reader.item('microblog', 'one', id)).toEqual({ profile, record, older, newer });
      }
      for (const [user, id] of [
        ['one', '4711'],
        ['none', '4'],
        ['nobody', '4'],
      ] as const)
        expect(await reader.item('microblog', user, id)).toBeUndefined();
    });

    test('a list that is longer than a history is left out', async () => {
      const url = await newDatabase();
      const items = (count: number, letter: string) =>
        Array.from({ length: count }, (_, nth) => shot(nth + 1, 1, { description: letter.repeat(60_000) }));
      for (const [count, letter, isThere] of [
        [2, 'x', true],
        [3, 'x', false],
      ] as const) {
        await importInto(url, ['-'], ndjson(folio(1, 'ada'), ...items(count, letter)));
        const own = await openReader(url);
        const { list } = (await own.newest('portfolio', 'ada', 'Shots')) as Newest;
        expect([count, list.body !== null]).toEqual([count, isThere]);
        await own.close();
      }
    });

    test('a history has as many long items as fit, and the id of the next', async () => {
      const url = await newDatabase();
      const description = 'é'.repeat(30_000);
      const long = [1, 2, 3].map((id) => shot(id, 1, { description }));
      await addRecords(url, folio(1, 'ada'), ...long, shot(4, 1));
      const own = await openReader(url);
      const history = async (options: HistoryOptions) => {
        const { items, next } = (await own.history('portfolio', 'ada', options)) as History;
        return [items.map(({ id }) => id).join(), next];
      };
      expect(await history({ limit: 9 })).toEqual(['4,3,2', '1']);
      expect(await history({ limit: 3 })).toEqual(['4,3,2', undefined]);
      expect(await history({ limit: 9, from: '3' })).toEqual(['3,2', '1']);
      expect(await history({ limit: 9, from: '3', skip: 1 })).toEqual(['2,1', undefined]);
      await own.close();
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
