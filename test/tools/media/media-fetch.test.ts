// Fetching copies of pictures from hosts of every kind, into a folder and a store. What it prints is in
// fixtures/cases/media.txt.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test, vi } from 'vitest';
import { copyPath } from '../../../src/records/copy-files.ts';
import { userKey } from '../../../src/records/user-name.ts';
import { openWriter } from '../../../src/stores/open.ts';
import type { OriginalState } from '../../../src/stores/sql/media.ts';
import type { FetchOptions } from '../../../src/tools/media/fetch.ts';
import { createSaver, TakedownMade } from '../../../src/tools/media/originals.ts';
import { portfolioName, USER_IDS, usersBeyondLimits } from '../../support/beyond-limits.ts';
import { databaseOf } from '../../support/database.ts';
import { tempFolder } from '../../support/files.ts';
import { change, readMedia } from '../../support/importing.ts';
import { copiesIn, fetchInto, MEDIA_URL, putCopy } from '../../support/media-folder.ts';
import { type Files, startFiles, startSite } from '../../support/mirror-site.ts';
import { png, sha256, svg } from '../../support/pictures.ts';
import { folio } from '../../support/records.ts';

const dns = vi.hoisted(() => ({ answers: [] as string[][] }));
// Names that a test lists resolve to addresses of the test.
vi.mock('node:dns', async (original) => {
  const actual = await original<typeof import('node:dns')>();
  type Found = (error: null, addresses: { address: string; family: number }[]) => void;
  const lookup = (name: string, options: object, found: Found) => {
    if (!name.endsWith('.test')) return actual.lookup(name, options, found as never);
    const addresses = dns.answers.length > 1 ? dns.answers.shift() : dns.answers[0];
    found(
      null,
      (addresses ?? []).map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  };
  return { ...actual, lookup };
});

const withAvatars = (...urls: string[]) =>
  databaseOf(...urls.map((avatar, index) => folio(index + 1, `user${index}`, { avatar })));

const entriesOf = async (store: string) => (await readMedia(store)).entries;
const urlOf = async (store: string) => (await readMedia(store)).mediaUrl;

/** The content of a copy. */
const copyOf = (mediaDir: string, { file }: Pick<OriginalState, 'file'>) =>
  readFileSync(join(mediaDir, copyPath(file as string)));

const unfinishedIn = (mediaDir: string) => readdirSync(join(mediaDir, 'incoming'));

/** Fetches one avatar of a host; what became of it. */
async function fetchOne(answer: Files[string], run: Partial<FetchOptions> = {}) {
  const host = await startFiles({ '/a': answer });
  const store = await withAvatars(`${host.url}/a`);
  const fetched = await fetchInto(store, [host.host], run);
  return { ...fetched, host, store, entry: (await entriesOf(store))[0] as OriginalState };
}

describe('a fetch', () => {
  test('saves once that a host is not named, and asks it when it is', async () => {
    const host = await startFiles({ '/a': png('a') });
    const store = await withAvatars(`${host.url}/a`, 'https://elsewhere.example/a');
    const mediaDir = join(tempFolder(), 'media');
    await using writer = await openWriter(store);
    const saveOriginals = vi.spyOn(writer, 'saveOriginals');
    for (const [notNamed, check] of [
      [2, false],
      [0, false],
      [2, true],
    ] as const) {
      const { result, said } = await fetchInto(store, [], { mediaDir, writer, check });
      expect([result.total, result.originals.notNamed]).toEqual([notNamed, notNamed]);
      expect(said).toContain('elsewhere.example is not named by --media-hosts\n');
      expect(saveOriginals).toHaveBeenCalledTimes(1);
    }
    const { originals } = await fetchInto(store, [host.host], { mediaDir, writer });
    expect(originals).toMatchObject({ fetched: 1, notNamed: 1 });
  });

  test('that is ended by a signal while it links is linked by the next', async () => {
    const host = await startFiles({ '/a': png('a') });
    const store = await withAvatars(`${host.url}/a`);
    const mediaDir = join(tempFolder(), 'media');
    const onLinking = () => {
      throw new Error('the signal');
    };
    await expect(fetchInto(store, [host.host], { mediaDir, onLinking })).rejects.toThrow('the signal');
    expect(await urlOf(store)).toBeFalsy();
    const { result } = await fetchInto(store, [host.host], { mediaDir });
    expect([result.relinked, await urlOf(store)]).toEqual([1, MEDIA_URL]);
  });

  test('does not bring back pictures of a user who is taken down meanwhile', async () => {
    // Of each family the pictures are on another host, where they have the same paths.
    const paths = USER_IDS.map((id) => `/${id}`);
    const bodyOf = (family: string, path: string) => png(`${family} ${path}`);
    const startHost = (family: string, more: Files = {}) =>
      startFiles({ ...Object.fromEntries(paths.map((path) => [path, bodyOf(family, path)])), ...more });
    const hosts = {
      microblog: await startHost('microblog'),
      portfolio: await startHost('portfolio', {
        '/5': (response) => void takeDown().then(() => response.end(bodyOf('portfolio', '/5'))),
      }),
    };
    const store = await databaseOf(
      ...usersBeyondLimits((family, id) => ({ avatar: `${hosts[family].url}/${id}` })),
    );
    const mediaDir = join(tempFolder(), 'media');
    const remove = (name: string) => rmSync(join(mediaDir, copyPath(name)), { force: true });
    async function takeDown() {
      await using writer = await openWriter(store);
      const subject = { family: 'portfolio', kind: 'user', value: userKey(portfolioName(5)) } as const;
      await writer.takeDown([subject]);
      await writer.cleanUp((files) => files.forEach(remove));
    }
    const named = Object.values(hosts).map(({ host }) => host);
    const { failure } = await fetchInto(store, named, { mediaDir });
    const entries = await entriesOf(store);
    const saved = Object.fromEntries(entries.map(({ url, file }) => [url, file]));
    const wanted = (['microblog', 'portfolio'] as const).flatMap((family) =>
      paths.map((path) => [hosts[family].url + path, `${sha256(bodyOf(family, path))}.png`] as const),
    );
    const others = wanted.filter(([url]) => url !== `${hosts.portfolio.url}/5`);
    expect([failure, saved]).toEqual([undefined, Object.fromEntries(others)]);
    expect(copiesIn(mediaDir)).toEqual(others.map(([, file]) => copyPath(file)).sort());
    // Nothing is asked for twice.
    const asked = [hosts.microblog.asked.length, hosts.portfolio.asked.length];
    await fetchInto(store, named, { mediaDir, check: true });
    expect([hosts.microblog.asked.length, hosts.portfolio.asked.length]).toEqual(asked);
  });

  test('--check asks again for a copy that is missing or has another size', async () => {
    const { mediaDir, entry, host, store } = await fetchOne(png('a'));
    const file = join(mediaDir, copyPath(entry.file as string));
    for (const spoil of [() => rmSync(file), () => writeFileSync(file, 'x')]) {
      spoil();
      await fetchInto(store, [host.host], { mediaDir });
      await fetchInto(store, [host.host], { mediaDir, check: true });
      expect(copyOf(mediaDir, entry)).toEqual(png('a'));
    }
    expect(host.asked).toHaveLength(3);
  });

  test('needs no request for copies that records name, as after import of an export', async () => {
    const mediaDir = join(tempFolder(), 'media');
    const file = putCopy(mediaDir, png('a'), 'png');
    const url = `${MEDIA_URL}/${file}`;
    const store = await withAvatars(url, `${MEDIA_URL}/${'0'.repeat(64)}.png`);
    const { originals, failure } = await fetchInto(store, ['elsewhere.example'], { mediaDir });
    expect([failure, originals]).toMatchObject([undefined, { fetched: 0, present: 1, failed: 0 }]);
    expect(await entriesOf(store)).toEqual([{ url, file, bytes: png('a').length, reason: null }]);
  });

  test('keeps what records name in the folder, although a user is taken down meanwhile', async () => {
    const mediaDir = join(tempFolder(), 'media');
    const files = Array.from({ length: 150 }, (_, nr) => putCopy(mediaDir, png(`${nr}`), 'png'));
    const host = await startFiles({
      '/slow': (response) => {
        const takenDown = change(store, (writer) =>
          writer.takeDown([{ family: 'portfolio', kind: 'user', value: 'nobody' }]),
        );
        void takenDown.then(() => response.end(png('slow')));
      },
    });
    const store: string = await withAvatars(
      ...files.map((file) => `${MEDIA_URL}/${file}`),
      `${host.url}/slow`,
    );
    const { originals } = await fetchInto(store, [host.host], { mediaDir });
    expect(originals).toMatchObject({ fetched: 1, present: 150 });
    expect((await entriesOf(store)).filter(({ file }) => file !== null)).toHaveLength(151);
    expect(copiesIn(mediaDir)).toHaveLength(151);
  });

  test('saves what it fetched, then says that the folder cannot be written', async () => {
    const host = await startFiles({ '/a': png('a'), '/b': png('b') });
    const mediaDir = join(tempFolder(), 'media');
    const store = await withAvatars(`${host.url}/a`, `${host.url}/b`);
    // A folder where the second copy must be.
    mkdirSync(join(mediaDir, copyPath(`${sha256(png('b'))}.png`)), { recursive: true });
    const { failure } = await fetchInto(store, [host.host], { mediaDir, concurrency: 1 });
    expect(failure).toContain(`given up: cannot write ${mediaDir}: `);
    const saved = (await entriesOf(store)).map(({ url }) => url);
    expect([saved, await urlOf(store)]).toEqual([[`${host.url}/a`], MEDIA_URL]);
  });

  test('stays below --media-quota, counts no copy twice, and goes on with a larger quota', async () => {
    const pictures = [1, 2, 3, 4, 5].map((n) => png(`${n}`.repeat(1000)));
    const files = Object.fromEntries([...pictures, pictures[0] as Buffer].map((body, n) => [`/${n}`, body]));
    const host = await startFiles(files);
    const store = await withAvatars(...Object.keys(files).map((path) => host.url + path));
    const limits = { mediaQuota: 2500, concurrency: 2 };
    const { mediaDir, failure } = await fetchInto(store, [host.host], limits);
    expect(failure).toBe(
      'given up: the copies take all of --media-quota; the same command continues where this run ended',
    );
    const saved = (await entriesOf(store)).length;
    expect([copiesIn(mediaDir).length, saved, unfinishedIn(mediaDir)]).toEqual([2, 2, []]);
    expect(await urlOf(store)).toBe(MEDIA_URL);
    const more = await fetchInto(store, [host.host], { mediaDir, mediaQuota: 6200, concurrency: 1 });
    expect([more.failure, more.originals]).toMatchObject([undefined, { fetched: 4, present: 2 }]);
  });
});

test('names all files that a takedown kept from being saved, so they can be removed', async () => {
  const saver = createSaver({ saveOriginals: async () => false }, 'an earlier mark');
  const entry = (url: string) => ({ url, file: `${url}.png`, bytes: 1, reason: null });
  await saver.add(entry('a'));
  const failing = saver.flush();
  await saver.add(entry('b'));
  await expect(failing).rejects.toThrow(TakedownMade);
  await saver.add(entry('c'));
  await expect(saver.flush()).rejects.toThrow(TakedownMade);
  expect(saver.unsaved().map(({ url }) => url)).toEqual(['a', 'b', 'c']);
});

describe('only named hosts are asked', () => {
  test('the site of a mirror counts as named', async () => {
    const host = await startFiles({ '/a': png() });
    const store = await withAvatars(`${host.url}/a`);
    expect((await fetchInto(store, [], { sites: [new URL(host.url)] })).failure).toBeUndefined();
  });

  test.each([
    ['a private one', [['127.0.0.1']]],
    ['another one each time', [['127.0.0.1', '93.184.216.34'], ['127.0.0.1'], ['::1'], ['169.254.169.254']]],
    ['a private one written as IPv6', [['::ffff:127.0.0.1']]],
  ])('no connection is made to a name with %s, also after a redirect', async (_, answers) => {
    dns.answers = answers;
    const target = await startFiles({ '/a': png() });
    const name = `rebound.test:${new URL(target.url).port}`;
    const location = `http://${name}/r`;
    const redirecting = await startFiles({ '/r': (response) => response.writeHead(302, { location }).end() });
    const urls = answers.map((_, index) => `http://${name}/${index}`);
    const store = await withAvatars(...urls, `${redirecting.url}/r`);
    const { failure } = await fetchInto(store, [redirecting.host, name], { concurrency: 1 });
    expect([target.asked, failure]).toEqual([[], expect.stringMatching(/^(\d) of \1 pictures failed$/)]);
    for (const { reason } of await entriesOf(store)) expect(reason).toBe('the host has a private address');
  });
});

describe('a hostile host', () => {
  const endless = (head: Buffer) => (response: ServerResponse) => {
    response.write(head);
    const chunk = Buffer.alloc(1 << 16);
    const write = () => {
      while (!response.destroyed && response.write(chunk));
    };
    response.on('drain', write);
    write();
  };
  const header =
    (status: number, headers: Record<string, string>, body?: Buffer | string, send?: 'write') =>
    (response: ServerResponse) =>
      response.writeHead(status, headers)[send ?? 'end'](body);
  const raw =
    (text: string): Files[string] =>
    ({ socket }) =>
      socket?.end(text);
  const SWITCHING = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n';
  const TOO_LONG = 'the body is longer than 1048576 bytes';
  const CLOSED = 'the connection was closed before the response was complete';
  const grows = gzipSync(png('x'.repeat(2 << 20)));
  // So long that a pause before it is not taken for a slow picture.
  const first = png('x'.repeat(40_000));

  test.each<[what: string, reason: string | RegExp, answer: Files[string], timeout?: number]>([
    ['an endless picture', TOO_LONG, endless(png())],
    ['an endless text', 'not a picture of a known type', endless(Buffer.from('hello'))],
    [
      'ten gigabytes, promised',
      TOO_LONG,
      header(200, { 'content-length': `${10 * 2 ** 30}` }, png(), 'write'),
    ],
    ['gzip that grows', TOO_LONG, header(200, { 'content-encoding': 'gzip' }, grows)],
    ['a picture without an end', 'nothing came for 0.3 s', (response) => void response.write(first), 300],
    [
      'a truncated picture',
      CLOSED,
      (response) => header(200, { 'content-length': '1000' }, png(), 'write')(response) && response.destroy(),
    ],
    [
      'a redirect with an endless body',
      'status 404',
      (response) => endless(Buffer.from('x'))(response.writeHead(302, { location: '/b' })),
    ],
    ['an answer that is not HTTP', /not valid HTTP/, raw('hello\r\n\r\n')],
    ['another protocol', 'the server switches to another protocol (status 101)', raw(SWITCHING)],
    ['a reset', CLOSED, (response) => response.socket?.resetAndDestroy()],
  ])('that sends %s leaves nothing behind', async (_, reason, answer, timeout = 60_000) => {
    const { entry, mediaDir, originals } = await fetchOne(answer, { timeout });
    expect(entry).toMatchObject({ file: null, bytes: 0 });
    expect(entry.reason).toMatch(reason);
    expect([copiesIn(mediaDir), unfinishedIn(mediaDir), originals.fetched]).toEqual([[], [], 0]);
  });

  test('that is an SVG with a script is stored as it is, without gzip', async () => {
    const body = svg('<script>alert(1)</script>');
    for (const answer of [body, header(200, { 'content-encoding': 'gzip' }, gzipSync(body))]) {
      const { entry, mediaDir } = await fetchOne(answer);
      expect([entry.file, copyOf(mediaDir, entry)]).toEqual([`${sha256(body)}.svg`, body]);
    }
  });

  test('that breaks off is asked again, and what came before does not count', async () => {
    let times = 0;
    // Longer than what tells the type.
    const body = png('x'.repeat(40_000));
    const answer = (response: ServerResponse) => {
      response.writeHead(200, { 'content-length': String(body.length) });
      if (times++ > 0) response.end(body);
      else response.write(body.subarray(0, 36_000), () => response.destroy());
    };
    const { entry, mediaDir } = await fetchOne(answer, { retries: 1, mediaQuota: 50_000 });
    expect([times, entry.bytes, copiesIn(mediaDir).length]).toEqual([2, body.length, 1]);
    expect(unfinishedIn(mediaDir)).toEqual([]);
  });

  test('that is silent does not keep the others from being asked', async () => {
    const dead = await startSite(() => {});
    const quick = await startFiles({ '/1': png('1'), '/2': png('2'), '/3': png('3') });
    const silent = Array.from({ length: 100 }, (_, n) => `${dead.url}/${n}`);
    const store = await withAvatars(...silent, ...[1, 2, 3].map((n) => `${quick.url}/${n}`));
    const stop = new AbortController();
    const hosts = [dead.url, quick.url].map((url) => new URL(url).host);
    const running = fetchInto(store, hosts, { signal: stop.signal });
    await expect.poll(() => [quick.asked.length, dead.asked.length]).toEqual([3, 4]);
    stop.abort();
    const { failure, originals } = await running;
    expect(failure).toBe('stopped; the same command continues where this run ended');
    expect((await entriesOf(store)).length).toBe(originals.fetched);
    expect(await urlOf(store)).toBe(MEDIA_URL);
  });
});
