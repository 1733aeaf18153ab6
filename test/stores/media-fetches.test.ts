// What fetches of pictures look at: users that changed, and addresses without a copy. What is served is sound after each of them.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isPostgresUrl } from '../../src/config/database-url.ts';
import { checkDatabase, openArchive } from '../../src/stores/open.ts';
import type { FetchOptions } from '../../src/tools/media/fetch.ts';
import { addRecords, databaseOf, storeName } from '../support/database.ts';
import { tempFolder } from '../support/files.ts';
import { change, readMedia } from '../support/importing.ts';
import { fetchInto, MEDIA_URL } from '../support/media-folder.ts';
import { type Files, startFiles } from '../support/mirror-site.ts';
import { pdf, png } from '../support/pictures.ts';
import { folio, shot } from '../support/records.ts';

/** A host with these pictures, and a store of one user for each. */
async function withPictures(files: Files, ...names: string[]) {
  const host = await startFiles(files);
  const store = await databaseOf(
    ...names.map((name, nth) => folio(nth + 1, `user${nth + 1}`, { avatar: `${host.url}/${name}` })),
  );
  const mediaDir = join(tempFolder(), 'media');
  async function fetch(run: Partial<FetchOptions> = {}, hosts = [host.host]) {
    const asked = host.asked.length;
    const { result } = await fetchInto(store, hosts, { mediaDir, concurrency: 1, ...run });
    expect((await checkDatabase(store)).faults).toEqual([]);
    return { asked: host.asked.slice(asked).sort(), relinked: result.relinked, ...result.originals };
  }
  return { files, host, store, fetch };
}

/** Addresses with a copy, by their ends. */
const copied = async (store: string) =>
  (await readMedia(store)).entries
    .filter(({ file }) => file !== null)
    .map(({ url }) => url.split('/').at(-1));

describe(`a fetch into ${storeName()}`, () => {
  test('looks at nothing if nothing changed, and at users that changed', async () => {
    const { host, store, fetch } = await withPictures(
      { '/a': png('a'), '/b': png('b'), '/c': png('c') },
      'a',
      'b',
    );
    expect(await fetch()).toMatchObject({ asked: ['/a', '/b'], fetched: 2, relinked: 2 });
    expect(await fetch()).toMatchObject({ asked: [], fetched: 0, present: 0, relinked: 0 });
    await addRecords(store, folio(2, 'user2', { avatar: `${host.url}/c`, cover_image: `${host.url}/a` }));
    expect(await fetch()).toMatchObject({ asked: ['/c'], fetched: 1, present: 1, relinked: 1 });
    await addRecords(store, folio(2, 'user2', { avatar: `${host.url}/b` }));
    expect(await fetch()).toMatchObject({ asked: [], present: 1 });
    expect(await fetch({ check: true })).toMatchObject({ asked: [], present: 2 });
    await using archive = await openArchive(store);
    const { since, generation } = await archive.fetchStart(false);
    expect(since).toBe(generation);
  });

  test('tries again what failed, then rebuilds all users that name it, also in old items', async () => {
    const { files, host, store, fetch } = await withPictures({ '/a': png('a') }, 'a', 'late', 'late');
    const shots = Array.from({ length: 20 }, (_, n) =>
      shot(n + 1, 1, {
        date: `2024-01-${String(n + 1).padStart(2, '0')}`,
        image: n === 0 ? `${host.url}/late` : '',
      }),
    );
    await addRecords(store, ...shots);
    expect(await fetch()).toMatchObject({ asked: ['/a', '/late'], fetched: 1, gone: 1 });
    expect(await fetch()).toMatchObject({ asked: ['/late'], fetched: 0, gone: 1, relinked: 0 });
    files['/late'] = png('late');
    expect(await fetch()).toMatchObject({ asked: ['/late'], fetched: 1, relinked: 2 });
    expect(await fetch()).toMatchObject({ asked: [] });
  });

  test('marks the users that name what it copied, also in old items', async () => {
    const { files, host, store, fetch } = await withPictures({ '/a': png('a') }, 'a', 'none', 'none');
    const shots = (user: number, oldest: string) =>
      Array.from({ length: 20 }, (_, n) =>
        shot(100 * user + n, user, {
          date: `2024-01-${String(n + 1).padStart(2, '0')} 00:00:00`,
          image: n === 0 ? `${host.url}/${oldest}` : '',
        }),
      );
    const marked = async (fetching: () => Promise<unknown>) => {
      const before = await openArchive(store);
      const { generation } = await before.changes(undefined);
      // While it is open, each change waits 5 s for it before it leaves the log as it is.
      await before.close();
      await fetching();
      await using archive = await openArchive(store);
      const { changes } = await archive.changes(generation, { withOldItems: true });
      if (changes === 'everything') return changes;
      return changes.map(({ key, profile, list }) =>
        [key, ...(profile ? ['profile'] : []), ...(list ? ['list'] : [])].join(' '),
      );
    };
    await addRecords(store, ...shots(1, 'late'), ...shots(2, 'none'));
    expect(await marked(fetch)).toEqual(['user1 profile']);
    expect(await marked(fetch)).toEqual([]);
    files['/late'] = png('late');
    expect(await marked(fetch)).toEqual(['user1']);
    files['/new'] = png('new');
    await addRecords(store, ...shots(3, 'new'));
    expect(await marked(fetch)).toEqual(['user3']);
    expect(await marked(() => fetch({ check: true }))).toEqual([]);
    const mediaUrl = 'https://other.example';
    expect(await marked(() => fetch({ mediaUrl }))).toEqual(['user1 profile', 'user3']);
    expect(await marked(() => change(store, (writer) => writer.relink(MEDIA_URL)))).toEqual([
      'user1 profile',
      'user3',
    ]);
  });

  test('does not ask again for what failed once no record names it', async () => {
    const { store, fetch } = await withPictures({}, 'a', 'b', 'c');
    expect(await fetch()).toMatchObject({ asked: ['/a', '/b', '/c'] });
    await addRecords(store, folio(1, 'user1'));
    await change(store, (writer) => writer.remove('portfolio', 'user2'));
    for (const _ of ['first', 'second']) expect(await fetch()).toMatchObject({ asked: ['/c'], gone: 1 });
  });

  test('looks at everything when a host that was refused is named', async () => {
    const { host, store, fetch } = await withPictures({ '/a': png('a'), '/b': png('b') }, 'a', 'b');
    expect(await fetch({}, ['elsewhere.example'])).toMatchObject({ asked: [], notNamed: 2 });
    await addRecords(store, folio(1, 'user1', { avatar: `${host.url}/a`, bio: 'changed' }));
    expect(await fetch({}, ['elsewhere.example'])).toMatchObject({ asked: [], notNamed: 1 });
    // Ended by a signal after the copies were saved.
    const onLinking = () => {
      throw new Error('the signal');
    };
    await expect(fetch({ onLinking })).rejects.toThrow('the signal');
    expect(await copied(store)).toEqual(['a', 'b']);
    expect(await fetch({}, ['elsewhere.example'])).toMatchObject({ relinked: 2 });
    expect(await fetch()).toMatchObject({ asked: [], present: 0 });
  });

  test('that is stopped, or that an import overtakes, leaves the rest to the next', async () => {
    const stop = new AbortController();
    const files: Files = {
      '/a': (response) => {
        stop.abort();
        response.end(png('a'));
      },
      '/b': png('b'),
      '/c': png('c'),
    };
    const { host, store, fetch } = await withPictures(files, 'a', 'b');
    await fetch({ signal: stop.signal });
    const newcomer = folio(3, 'user3', { avatar: `${host.url}/c` });
    files['/a'] = (response) => void addRecords(store, newcomer).then(() => response.end(png('a')));
    await fetch();
    expect(await copied(store)).toEqual(['a', 'b']);
    expect(await fetch()).toMatchObject({ asked: ['/c'], fetched: 1 });
    expect(await fetch()).toMatchObject({ asked: [] });
  });

  test('copies other files with --files, also of users that did not change since', async () => {
    const { host, store, fetch } = await withPictures({ '/a': png('a'), '/b': pdf('b') }, 'a', 'a');
    // One names as an attachment what another names as a picture later.
    await addRecords(
      store,
      shot(1, 1, { attachment: `${host.url}/both` }),
      shot(2, 1, { attachment: `${host.url}/b` }),
    );
    expect(await fetch()).toMatchObject({ asked: ['/a'] });
    await addRecords(store, shot(3, 2, { image: `${host.url}/both` }));
    expect(await fetch()).toMatchObject({ asked: ['/both'], gone: 1 });
    expect(await fetch({ files: true })).toMatchObject({ asked: ['/b', '/both'], fetched: 1, gone: 1 });
    expect(await fetch()).toMatchObject({ asked: ['/both'] });
    expect(await copied(store)).toEqual(['a', 'b']);
  });

  test('rebuilds an attachment that a fetch of pictures copied for another record', async () => {
    const { host, store, fetch } = await withPictures({ '/a': png('a'), '/both': png('both') }, 'a', 'a');
    await addRecords(store, shot(1, 1, { attachment: `${host.url}/both` }));
    await fetch();
    await addRecords(store, shot(3, 2, { image: `${host.url}/both` }));
    expect(await fetch()).toMatchObject({ asked: ['/both'], relinked: 2 });
  });

  test('rebuilds everything for another MEDIA_URL', async () => {
    const { fetch } = await withPictures({ '/a': png('a') }, 'a', 'a');
    await fetch();
    expect(await fetch({ mediaUrl: 'https://other.example' })).toMatchObject({ asked: [], relinked: 2 });
  });

  test('leaves no address of an item that is taken down', async () => {
    const { store, fetch } = await withPictures({}, 'a');
    await addRecords(
      store,
      shot(1, 1, { attachment: 'https://old.example/secret.zip', image: 'https://old.example/secret.gif' }),
    );
    await fetch();
    await change(store, async (writer) => {
      await writer.takeDown([{ family: 'portfolio', kind: 'item', value: '1' }]);
      await writer.cleanUp(() => {});
    });
    if (!isPostgresUrl(store)) expect(readFileSync(store).includes('secret')).toBe(false);
    expect(await fetch()).toMatchObject({ asked: ['/a'] });
  });
});
