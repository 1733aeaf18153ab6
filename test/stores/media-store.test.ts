// Copies of pictures in a store: records keep the original addresses, and what is served names the copies.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isPostgresUrl } from '../../src/config/database-url.ts';
import { checkDatabase, openArchive, openReader } from '../../src/stores/open.ts';
import type { MeasuredCopy, UndecodedCopy } from '../../src/stores/sql/media-statements.ts';
import { addRecords, databaseOf, newDatabase, storeName } from '../support/database.ts';
import { bodyOf, change, readMedia, saveOriginals } from '../support/importing.ts';
import { blog, folio, post, shot } from '../support/records.ts';

const OLD = 'https://old.example';
const MEDIA = 'https://new.example/media';
const file = (digit: string, extension = 'jpg') => `${digit.repeat(64)}.${extension}`;
const copy = (url: string, name: string) => ({ url, file: name, bytes: 10, reason: null });

const RECORDS = [
  blog(1, 'ada', { avatar: `${OLD}/ada.jpg`, website: `${OLD}/ada.jpg`, bio: `"avatar":"${OLD}/ada.jpg"` }),
  post(10, 1, { photo: `${OLD}/10.jpg`, date: '2024-01-02 00:00:00' }),
  post(11, 1, { photo: `${OLD}/none.jpg`, url_audio: `${OLD}/11.mp3` }),
  folio(1, 'ada', { avatar: `${OLD}/ada.jpg` }),
  folio(2, 'bob', { avatar: `${OLD}/bob.jpg` }),
  shot(20, 2, { image: `${OLD}/20.jpg`, large_image: `${OLD}/ada.jpg` }),
];

const ENTRIES = [
  copy(`${OLD}/ada.jpg`, file('a')),
  copy(`${OLD}/10.jpg`, file('b')),
  copy(`${OLD}/11.mp3`, file('c', 'mp3')),
  copy(`${OLD}/bob.jpg`, file('d')),
  copy(`${OLD}/20.jpg`, file('d')),
  { url: `${OLD}/none.jpg`, file: null, bytes: 0, reason: 'status 404' },
];

async function linked(): Promise<string> {
  const url = await databaseOf(...RECORDS);
  await saveOriginals(url, ENTRIES);
  await change(url, (writer) => writer.relink(MEDIA));
  return url;
}

const LIST = { microblog: 'posts', portfolio: 'Shots' } as const;

/** What is served of the users: profile, then items. */
async function served(url: string, ...users: ['microblog' | 'portfolio', string][]) {
  await using reader = await openReader(url);
  const found = [];
  for (const [family, name] of users) {
    found.push(JSON.parse(bodyOf(await reader.profile(family, name))));
    found.push(...JSON.parse(bodyOf(await reader.items(family, name, LIST[family])))[LIST[family]]);
  }
  return found;
}

async function records(url: string, withCopies: boolean): Promise<Record<string, string>[]> {
  await using archive = await openArchive(url);
  return (await Array.fromAsync(archive.records(withCopies))).map((text) => JSON.parse(text));
}

/** Removes bob; the files that went with him. */
async function takeDownBob(url: string): Promise<string[]> {
  const removed: string[] = [];
  const subject = { family: 'portfolio', kind: 'user', value: 'bob' } as const;
  await change(url, async (writer) => {
    await writer.takeDown([subject]);
    await writer.cleanUp((names) => void removed.push(...names));
  });
  return removed;
}

const sound = async (url: string) => (await checkDatabase(url)).faults;

describe(`copies of pictures in ${storeName()}`, () => {
  test('the newest shots name copies, where there are any', async () => {
    await using reader = await openReader(await linked());
    expect(await reader.newestShots(['bob'], 3)).toEqual([
      {
        key: 'bob',
        id: '20',
        title: '',
        image: `${MEDIA}/${file('d')}`,
        large_image: `${MEDIA}/${file('a')}`,
      },
    ]);
  });

  test('leaves out a list with too long records, even if its copies have short addresses', async () => {
    const image = (id: number) => `${OLD}/${id}?${'s'.repeat(30_000)}`;
    const url = await databaseOf(folio(1, 'ada'), shot(1, 1, { image: image(1) }), folio(2, 'none'));
    const file = `${'a'.repeat(64)}.jpg`;
    const entries = [1, 2, 3, 4, 5].map((id) => ({ url: image(id), file, bytes: 10, reason: null }));
    await saveOriginals(url, entries);
    await change(url, (writer) => writer.relink(MEDIA));
    const sizes: boolean[] = [];
    for (const id of [1, 2, 3, 4, 5]) {
      await addRecords(url, shot(id, 1, { image: image(id) }));
      await using own = await openReader(url);
      sizes.push((await own.newest('portfolio', 'ada', 'Shots'))?.list.body !== null);
      expect((await own.newest('portfolio', 'none', 'Shots'))?.list.body).not.toBeNull();
    }
    expect(sizes).toEqual([true, true, true, true, false]);
  });

  test('copies are served once they are linked; records keep the originals', async () => {
    const url = await databaseOf(...RECORDS);
    await saveOriginals(url, ENTRIES);
    expect((await served(url, ['microblog', 'ada']))[0]).toMatchObject({ avatar: `${OLD}/ada.jpg` });
    expect(await sound(url)).toEqual([]);

    // The profiles of ada twice and of bob; the lists of ada and bob.
    expect(await change(url, (writer) => writer.relink(MEDIA))).toBe(5);
    expect(await served(url, ['microblog', 'ada'], ['portfolio', 'bob'])).toMatchObject([
      { avatar: `${MEDIA}/${file('a')}`, website: `${OLD}/ada.jpg`, bio: `"avatar":"${OLD}/ada.jpg"` },
      { id: '10', photo: `${MEDIA}/${file('b')}` },
      { id: '11', photo: `${OLD}/none.jpg`, url_audio: `${MEDIA}/${file('c', 'mp3')}` },
      { avatar: `${MEDIA}/${file('d')}` },
      { image: `${MEDIA}/${file('d')}`, large_image: `${MEDIA}/${file('a')}` },
    ]);
    expect(await sound(url)).toEqual([]);
    expect(await change(url, (writer) => writer.relink(MEDIA))).toBe(0);
  });

  test('an address may hold quotes and backslashes', async () => {
    const url = await newDatabase();
    const odd = `${OLD}/"ada"\\1.jpg`;
    await addRecords(url, blog(1, 'ada', { avatar: odd }), post(10, 1, { photo: odd }));
    await saveOriginals(url, [copy(odd, file('a'))]);
    await change(url, (writer) => writer.relink(MEDIA));
    const link = `${MEDIA}/${file('a')}`;
    expect(await served(url, ['microblog', 'ada'])).toMatchObject([{ avatar: link }, { photo: link }]);
    expect(await sound(url)).toEqual([]);
  });

  test('an export has the originals, or the copies', async () => {
    const before = await records(await databaseOf(...RECORDS), true);
    const url = await linked();
    expect(await records(url, false)).toEqual(before);
    expect(JSON.stringify(await records(url, true))).toBe(
      JSON.stringify(before).replaceAll(
        /"(avatar|photo|image|large_image|url_audio)":"([^"]+)"/g,
        (text, member, original) => {
          const found = ENTRIES.find((entry) => entry.url === original)?.file;
          return found == null ? text : `"${member}":"${MEDIA}/${found}"`;
        },
      ),
    );
  });

  test('records that name copies, as such an export does, keep the files and follow MEDIA_URL', async () => {
    const url = await linked();
    await addRecords(url, ...(await records(url, true)));
    expect(await sound(url)).toEqual([]);
    expect(await takeDownBob(url)).toEqual([file('d')]);
    await change(url, (writer) => writer.pruneCopies(0));
    await change(url, (writer) => writer.relink('https://newer.example'));
    expect(await served(url, ['microblog', 'ada'])).toMatchObject([
      { avatar: `https://newer.example/${file('a')}` },
      { id: '10', photo: `https://newer.example/${file('b')}` },
      { id: '11', photo: `${OLD}/none.jpg`, url_audio: `https://newer.example/${file('c', 'mp3')}` },
    ]);
    expect(await sound(url)).toEqual([]);
  });

  test('every ETag changes with its text, and another address for all copies is one change', async () => {
    const url = await linked();
    const etags = async () => {
      await using reader = await openReader(url);
      const list = await reader.items('microblog', 'ada', 'posts');
      const profiles = [await reader.profile('microblog', 'ada'), await reader.profile('portfolio', 'bob')];
      return [list, ...profiles].map((stored) => stored?.etag);
    };
    const before = await etags();
    await change(url, (writer) => writer.relink('https://cdn.example'));
    for (const [index, etag] of (await etags()).entries()) expect(etag).not.toBe(before[index]);
    expect(JSON.stringify(await records(url, true))).not.toContain(MEDIA);
    expect(await sound(url)).toEqual([]);
    await change(url, (writer) => writer.relink(MEDIA));
    expect(await etags()).toEqual(before);
  });

  test('imports name the copies that are known already, also of new and changed records', async () => {
    const url = await linked();
    await addRecords(url, ...RECORDS);
    expect(await change(url, (writer) => writer.relink(MEDIA))).toBe(0);
    await addRecords(
      url,
      blog(1, 'ada', { avatar: `${OLD}/bob.jpg` }),
      post(12, 1, { photo: `${OLD}/10.jpg`, date: '2024-01-03 00:00:00' }),
      post(10, 1, { photo: `${OLD}/new.jpg`, date: '2024-01-02 00:00:00' }),
      folio(3, 'cleo', { avatar: `${OLD}/20.jpg`, cover_image: `${OLD}/new.jpg` }),
      folio(2, 'bob'),
    );
    expect(
      await served(url, ['microblog', 'ada'], ['portfolio', 'cleo'], ['portfolio', 'bob']),
    ).toMatchObject([
      { avatar: `${MEDIA}/${file('d')}` },
      { id: '12', photo: `${MEDIA}/${file('b')}` },
      { id: '10', photo: `${OLD}/new.jpg` },
      { id: '11' },
      { avatar: `${MEDIA}/${file('d')}`, cover_image: `${OLD}/new.jpg` },
      { avatar: '' },
      { id: '20', image: `${MEDIA}/${file('d')}` },
    ]);
    expect(await sound(url)).toEqual([]);
  });

  test('lists what has no copy, and sums up the copies', async () => {
    const url = await databaseOf(...RECORDS);
    const users = Array.from({ length: 10 }, (_, n) =>
      folio(n + 10, `u${n}`, { avatar: `${OLD}/u${n}.jpg` }),
    );
    await addRecords(url, ...users, folio(30, 'dora', { avatar: `${OLD}/dora.jpg` }));
    await saveOriginals(url, [...ENTRIES, ...users.map((user) => copy(String(user.avatar), file('e')))]);
    await using archive = await openArchive(url);
    const missing = await Array.fromAsync(archive.missing());
    expect(missing).toEqual([
      { kind: 'post', whose: '11', member: 'photo', url: `${OLD}/none.jpg`, reason: 'status 404' },
      { kind: 'portfolio profile', whose: 'dora', member: 'avatar', url: `${OLD}/dora.jpg`, reason: null },
    ]);
    const addresses = async (files: boolean) =>
      (await Array.fromAsync(archive.originals(files))).map((original) => original.url);
    // Pictures are named by users and items; other files come on demand.
    expect(new Set(await addresses(false))).toContain(`${OLD}/dora.jpg`);
    expect((await addresses(true)).length).toBeGreaterThan((await addresses(false)).length);
    expect(await archive.mediaSummary()).toEqual({ copies: 15, files: 5, bytes: 50 });
  });

  test('pages know the size of a copy by each address, until its bytes change', async () => {
    const url = await linked();
    const facts = { width: 1600, height: 900, color: 'c0ffee', small: [480, 960] };
    // Earlier versions saved no hash.
    const measured = { ...facts, small: [{ width: 480, hash: '0f3a' }, { width: 960 }] };
    const glass = { width: 20, height: 30, color: null, small: [] };
    const save = (name: string, known: MeasuredCopy | UndecodedCopy) =>
      change(url, (writer) => writer.saveFacts(name, known));
    expect([
      await save(file('d'), measured),
      await save(file('a'), glass),
      await save(file('9'), measured),
    ]).toEqual([...[true, true, false]]);
    await save(file('b'), { failedDecodes: 2 });
    const known = async (...names: string[]) => {
      await using reader = await openReader(url);
      return [...(await reader.pictures(names))].sort();
    };
    expect(await known(file('9'), file('d'), file('b'), file('a'))).toEqual([
      [file('a'), glass],
      [file('d'), facts],
    ]);
    const before = await openArchive(url);
    expect((await before.copies(file('c', 'mp3'))).map(({ small }) => small)).toEqual([measured.small]);
    // While it is open, each change waits 5 s for it.
    await before.close();
    await saveOriginals(url, [copy(`${OLD}/20.jpg`, file('d'))]);
    expect(await known(file('d'))).toEqual([[file('d'), facts]]);
    for (const name of ['20.jpg', 'bob.jpg']) await saveOriginals(url, [copy(`${OLD}/${name}`, file('e'))]);
    expect(await known(file('e'))).toEqual([]);
    await saveOriginals(url, [{ ...copy(`${OLD}/bob.jpg`, file('f')), facts: measured }]);
    expect(await known(file('f'))).toEqual([[file('f'), facts]]);
    await saveOriginals(url, [copy(`${OLD}/bob.jpg`, file('e'))]);
    await using archive = await openArchive(url);
    const copies = await archive.copies(file('a'));
    expect(copies.map((found) => [found.file, found.isMeasured, found.failedDecodes])).toEqual([
      [file('b'), false, 2],
      [file('c', 'mp3'), false, 0],
      [file('e'), false, 0],
    ]);
    expect((await archive.copies('')).at(0)).toMatchObject({ file: file('a'), isMeasured: true });
  });

  test('a copy that ends the process each time is left alone after the third time', async () => {
    const url = await linked();
    const due = async () => {
      await using archive = await openArchive(url);
      return (await archive.copies('', true)).map((found) => found.file);
    };
    const [name] = await due();
    const noteTry = () => change(url, (writer) => writer.noteTry(String(name), 10));
    for (const _ of [1, 2]) await noteTry();
    expect(await due()).toContain(name);
    await noteTry();
    expect(await due()).not.toContain(name);
    const facts = { width: 1, height: 2, color: null, small: [] };
    expect(await change(url, (writer) => writer.saveFacts(String(name), facts))).toBe(true);
    await using archive = await openArchive(url);
    const found = (await archive.copies('')).find(({ file }) => file === name);
    expect(found).toMatchObject({ isMeasured: true, failedDecodes: 0 });
  });

  test('a copy that was tried before it has an address is none, and goes with the next prune', async () => {
    const url = await linked();
    await change(url, (writer) => writer.noteTry(file('9'), 10));
    const copies = async () => {
      await using archive = await openArchive(url);
      return (await archive.copies('')).map((found) => found.file);
    };
    expect(await copies()).not.toContain(file('9'));
    await change(url, (writer) => writer.pruneCopies(0));
    await saveOriginals(url, [copy(`${OLD}/bob.jpg`, file('9'))]);
    await using archive = await openArchive(url);
    const found = (await archive.copies('')).find((one) => one.file === file('9'));
    expect(found).toMatchObject({ failedDecodes: 0 });
  });

  test('changes that are asked for at once are made one after the other, also after one that failed', async () => {
    const url = await databaseOf(...RECORDS);
    const archive = await openArchive(url);
    const mark = await archive.takedownsMark();
    await archive.close();
    await change(url, async (writer) => {
      const names = ['a', 'b', 'c'].map((digit) => file(digit));
      const made = await Promise.allSettled([
        writer.saveOriginals(ENTRIES, mark),
        ...names.map((name) => writer.noteTry(name, 10)),
        writer.saveOriginals(ENTRIES, mark, () => {
          throw new Error('the folder is gone');
        }),
        writer.relink(MEDIA),
      ]);
      expect(made.map(({ status }) => status)).toEqual([
        ...Array(4).fill('fulfilled'),
        'rejected',
        'fulfilled',
      ]);
    });
    expect((await served(url, ['portfolio', 'bob']))[0].avatar).toBe(`${MEDIA}/${file('d')}`);
    expect((await checkDatabase(url)).faults).toEqual([]);
  });

  test('prune forgets what no record named for a while, unless it is named again', async () => {
    const url = await linked();
    expect(await change(url, (writer) => writer.pruneCopies(0))).toEqual({ forgotten: 0, waiting: 0 });
    await addRecords(url, blog(1, 'ada'), post(10, 1, { date: '2024-01-02 00:00:00' }));
    // Others still name the avatar.
    expect(await change(url, (writer) => writer.pruneCopies(3600))).toEqual({ forgotten: 0, waiting: 1 });
    await addRecords(url, post(10, 1, { photo: `${OLD}/10.jpg`, date: '2024-01-02 00:00:00' }));
    expect((await served(url, ['microblog', 'ada']))[1]).toMatchObject({ photo: `${MEDIA}/${file('b')}` });
    expect(await change(url, (writer) => writer.pruneCopies(0))).toEqual({ forgotten: 0, waiting: 0 });
    await addRecords(url, post(10, 1, { date: '2024-01-02 00:00:00' }));
    expect(await change(url, (writer) => writer.pruneCopies(0))).toEqual({ forgotten: 1, waiting: 0 });
    const names = [file('a'), file('b'), file('9')];
    const unknown = () => change(url, (writer) => writer.unknownFiles(names, MEDIA));
    expect((await unknown()).sort()).toEqual([file('9'), file('b')]);
    // As in what `export --media-urls` writes.
    await addRecords(url, post(10, 1, { photo: `${MEDIA}/${file('b')}`, date: '2024-01-02 00:00:00' }));
    expect(await unknown()).toEqual([file('9')]);
    expect(await sound(url)).toEqual([]);
  });

  test('a takedown forgets addresses that only its user named, also when repeated', async () => {
    const url = await linked();
    const subject = { family: 'portfolio', kind: 'user', value: 'bob' } as const;
    const failing = () => Promise.reject(new Error('read-only folder'));
    await change(url, (writer) => writer.takeDown([subject]));
    await expect(change(url, (writer) => writer.cleanUp(failing))).rejects.toThrow('read-only');
    expect((await readMedia(url)).entries.map(({ url }) => url)).toContain(`${OLD}/bob.jpg`);
    expect(await takeDownBob(url)).toEqual([file('d')]);
    const urls = (await readMedia(url)).entries.map((entry) => entry.url);
    expect(urls).toEqual(['10.jpg', '11.mp3', 'ada.jpg', 'none.jpg'].map((name) => `${OLD}/${name}`));
    if (!isPostgresUrl(url))
      for (const name of readdirSync(dirname(url)))
        expect(readFileSync(join(dirname(url), name)).includes('bob.jpg')).toBe(false);
    expect(await sound(url)).toEqual([]);
  });

  test('a copy whose file a takedown has removed meanwhile is asked for again', async () => {
    const url = await databaseOf(...RECORDS);
    await change(url, (writer) => writer.saveOriginals(ENTRIES, '', (name) => name !== file('d')));
    const { entries } = await readMedia(url);
    expect(entries.find((entry) => entry.url === `${OLD}/bob.jpg`)).toMatchObject({
      file: null,
      reason: 'a takedown removed the file meanwhile',
    });
    expect(entries.filter((entry) => entry.file === null)).toHaveLength(
      ENTRIES.filter((entry) => entry.file === null || entry.file === file('d')).length,
    );
  });

  test('nothing is remembered when somebody was taken down since records were read', async () => {
    const url = await databaseOf(...RECORDS);
    const archive = await openArchive(url);
    const mark = await archive.takedownsMark();
    await archive.close();
    await takeDownBob(url);
    expect(await change(url, (writer) => writer.saveOriginals(ENTRIES, mark))).toBe(false);
    expect((await readMedia(url)).entries).toEqual([]);
  });
});
