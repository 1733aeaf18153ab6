// Fetching copies of pictures from hosts of every kind, into a folder and a store.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test, vi } from 'vitest';
import { type FetchOptions, runFetch } from '../src/media/fetch.ts';
import { createSaver, TakedownMade } from '../src/media/originals.ts';
import { mediaPath } from '../src/records/media-types.ts';
import type { MediaEntry } from '../src/stores/media.ts';
import { openForChange, openForExport } from '../src/stores/open.ts';
import { readMedia } from './importing.ts';
import { copiesIn, putCopy } from './media-folder.ts';
import { startSite } from './mirror-site.ts';
import { gif, jpeg, mp3, pdf, png, sha256, svg } from './pictures.ts';
import { blog, folio, post, shot } from './records.ts';
import { importInto, ndjson, newDatabase, tempFolder } from './rig.ts';

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

const MEDIA_URL = 'https://new.example/media';

type Answers = Record<string, Buffer | ((response: ServerResponse, request: IncomingMessage) => unknown)>;

/** A host with these files; all others are unknown. */
async function startHost(answers: Answers) {
  const site = await startSite((request, response) => {
    const answer = answers[request.url as string];
    if (answer === undefined) response.writeHead(404).end('no');
    else if (Buffer.isBuffer(answer)) response.end(answer);
    else answer(response, request);
  });
  return { ...site, host: new URL(site.url).host };
}

/** A database with these records. */
async function newStore(records: readonly object[]) {
  const url = await newDatabase();
  await importInto(url, ['-'], ndjson(...records));

  return {
    url,
    entries: async () => (await readMedia(url)).entries,
    mediaUrl: async () => (await readMedia(url)).mediaUrl,
  };
}

type Store = Awaited<ReturnType<typeof newStore>>;

const withAvatars = (...urls: string[]) =>
  newStore(urls.map((avatar, index) => folio(index + 1, `user${index}`, { avatar })));

async function fetchInto(store: Store, hosts: readonly string[], run: Partial<FetchOptions> = {}) {
  let told = '';
  const { mediaDir = join(tempFolder(), 'media') } = run;
  const writer = await openForChange(store.url);
  try {
    const outcome = await runFetch({
      ...{ mediaDir, mediaUrl: MEDIA_URL, mediaHosts: hosts, sites: [], writer },
      ...{ openArchive: () => openForExport(store.url), signal: new AbortController().signal },
      ...{ files: false, placeholder: [] },
      ...{ maxFile: 1 << 20, mediaQuota: 1 << 30 },
      ...{ concurrency: 4, rate: 5000, startRate: 5000, timeout: 10_000, retries: 0 },
      out: { write: (text: string) => (told += text) },
      ...run,
    });
    return { ...outcome, mediaDir, told };
  } finally {
    await writer.close();
  }
}

/** The content of a copy. */
const copyOf = (mediaDir: string, { file }: Pick<MediaEntry, 'file'>) =>
  readFileSync(join(mediaDir, mediaPath(file as string)));

const unfinishedIn = (mediaDir: string) => readdirSync(join(mediaDir, 'incoming'));

/** Fetches one avatar of a host; what became of it. */
async function fetchOne(answer: Answers[string], run: Partial<FetchOptions> = {}) {
  const host = await startHost({ '/a': answer });
  const url = `${host.url}/a`;
  const store = await withAvatars(url);
  const fetched = await fetchInto(store, [host.host], run);
  return { ...fetched, host, store, entry: (await store.entries())[0] as MediaEntry };
}

describe('a fetch', () => {
  test('does not bring back pictures of a user who is taken down meanwhile', async () => {
    const answers: Answers = Object.fromEntries(
      Array.from({ length: 300 }, (_, n) => [`/user${n}`, png(`user${n}`)]),
    );
    answers['/user5'] = (response) => void takeDown().then(() => response.end(png('user5')));
    const host = await startHost(answers);
    const store = await withAvatars(...Array.from({ length: 300 }, (_, n) => `${host.url}/user${n}`));
    const mediaDir = join(tempFolder(), 'media');
    const file = `${sha256(png('user5'))}.png`;
    async function takeDown() {
      const writer = await openForChange(store.url);
      await writer.takeDown([{ family: 'portfolio', kind: 'user', value: 'user5' }], (names) => {
        for (const name of names) rmSync(join(mediaDir, mediaPath(name)), { force: true });
      });
      await writer.close();
    }
    const { failure } = await fetchInto(store, [host.host], { mediaDir });
    expect(failure).toBeUndefined();
    const entries = await store.entries();
    expect(entries).toHaveLength(299);
    expect(entries.filter((entry) => entry.file === null)).toEqual([]);
    expect(entries.map(({ url }) => url)).not.toContain(`${host.url}/user5`);
    expect(existsSync(join(mediaDir, mediaPath(file)))).toBe(false);
    expect(copiesIn(mediaDir)).toHaveLength(299);
  });

  test('brings each picture of each kind of record once, and relinks at its end', async () => {
    const host = await startHost({ '/a.png': png('a'), '/b': jpeg('b'), '/c.jpg': gif('c'), '/d': png('a') });
    const store = await newStore([
      folio(1, 'ada', {
        avatar: `${host.url}/a.png`,
        cover_image: `${host.url}/b`,
        website: `${host.url}/site`,
      }),
      folio(2, 'bob', { avatar: `${host.url}/a.png` }),
      shot(1, 1, { image: `${host.url}/c.jpg`, attachment: `${host.url}/zip` }),
      blog(1, 'ada'),
      post(1, 1, { photo: `${host.url}/d`, url_audio: `${host.url}/mp3` }),
    ]);
    const { mediaDir, result, failure, summary } = await fetchInto(store, [host.host]);
    expect([...host.asked].sort()).toEqual(['/a.png', '/b', '/c.jpg', '/d']);
    const entry = (path: string, file: string, body: Buffer) => ({
      url: host.url + path,
      file,
      bytes: body.length,
      reason: null,
    });
    expect(await store.entries()).toEqual([
      entry('/a.png', `${sha256(png('a'))}.png`, png('a')),
      entry('/b', `${sha256(jpeg('b'))}.jpg`, jpeg('b')),
      entry('/c.jpg', `${sha256(gif('c'))}.gif`, gif('c')),
      entry('/d', `${sha256(png('a'))}.png`, png('a')),
    ]);
    for (const found of await store.entries())
      expect(sha256(copyOf(mediaDir, found))).toBe(found.file?.slice(0, 64));
    expect([copiesIn(mediaDir).length, unfinishedIn(mediaDir)]).toEqual([3, []]);
    expect([await store.mediaUrl(), failure]).toEqual([MEDIA_URL, undefined]);
    expect(result.originals).toMatchObject({ fetched: 4, present: 0, failed: 0 });
    expect(summary).toContain('pictures: 4 fetched, 0 already here, 0 gone, 0 failed');
  });

  test('asks only for what is not here yet, and again for what failed', async () => {
    const answers: Answers = { '/a': png('a'), '/b': (response) => response.writeHead(500).end() };
    const host = await startHost(answers);
    const store = await withAvatars(`${host.url}/a`, `${host.url}/b`, `${host.url}/c`);
    const first = await fetchInto(store, [host.host]);
    expect([first.failure, first.result.originals]).toMatchObject([
      '1 of 3 pictures failed',
      { fetched: 1, gone: 1, failed: 1 },
    ]);
    expect((await store.entries()).map(({ file, reason }) => [file === null, reason])).toEqual([
      [false, null],
      [true, 'status 500 (attempt 1 of 1)'],
      [true, 'status 404'],
    ]);
    host.asked.length = 0;
    Object.assign(answers, { '/b': png('b') });
    const { mediaDir } = first;
    const second = await fetchInto(store, [host.host], { mediaDir });
    expect([host.asked.sort(), second.failure]).toEqual([['/b', '/c'], undefined]);
    expect(second.result.originals).toMatchObject({ fetched: 1, present: 1, gone: 1 });
  });

  test.each([
    ['is missing', undefined],
    ['has another size', 'x'],
  ])('asks again for what is not here any more: a copy that %s', async (_, content) => {
    const { mediaDir, entry, host, store } = await fetchOne(png('a'));
    const file = join(mediaDir, mediaPath(entry.file as string));
    if (content === undefined) rmSync(file);
    else writeFileSync(file, content);
    await fetchInto(store, [host.host], { mediaDir });
    expect([host.asked.length, copyOf(mediaDir, entry)]).toEqual([2, png('a')]);
  });

  test('takes other files on demand, and leaves copies out', async () => {
    const host = await startHost({ '/p': pdf(), '/m': mp3() });
    const store = await newStore([
      folio(1, 'ada', { avatar: `https://new.example/media/${'0'.repeat(64)}.png` }),
      shot(1, 1, { attachment: `${host.url}/p`, image: `${host.url}/m` }),
    ]);
    await fetchInto(store, [host.host]);
    expect(await store.entries()).toEqual([
      expect.objectContaining({ url: `${host.url}/m`, reason: expect.stringContaining('audio/mpeg') }),
    ]);
    await fetchInto(store, [host.host], { files: true });
    expect((await store.entries()).map(({ file }) => file?.slice(64)).sort()).toEqual(['.mp3', '.pdf']);
  });
});

test('all that a takedown keeps from being saved is known, so that its files can be removed', async () => {
  const saver = createSaver({ saveMedia: async () => false }, 'an earlier mark');
  const entry = (url: string) => ({ url, file: `${url}.png`, bytes: 1, reason: null });
  await saver.add(entry('a'));
  const failing = saver.flush();
  await saver.add(entry('b'));
  await expect(failing).rejects.toThrow(TakedownMade);
  await saver.add(entry('c'));
  await expect(saver.flush()).rejects.toThrow(TakedownMade);
  expect(saver.unsaved().map(({ url }) => url)).toEqual(['a', 'b', 'c']);
});

test('records that name copies in the folder get them without a request, as after an import of their export', async () => {
  const mediaDir = join(tempFolder(), 'media');
  const name = putCopy(mediaDir, png('a'), 'png');
  const store = await withAvatars(`${MEDIA_URL}/${name}`, `${MEDIA_URL}/${'0'.repeat(64)}.png`);
  const { result, failure } = await fetchInto(store, ['elsewhere.example'], { mediaDir });
  expect([failure, result.originals]).toMatchObject([undefined, { fetched: 0, present: 1, failed: 0 }]);
  expect(await store.entries()).toEqual([
    { url: `${MEDIA_URL}/${name}`, file: name, bytes: png('a').length, reason: null },
  ]);
});

describe('only named hosts are asked', () => {
  test('each other one is told once', async () => {
    const host = await startHost({ '/a': png() });
    const urls = ['a', 'b'].map((name) => `https://elsewhere.example/${name}`);
    const store = await withAvatars(...urls, `${host.url}/a`);
    const { told, failure, result } = await fetchInto(store, [host.host]);
    expect(told).toBe('elsewhere.example is not named by --media-hosts\n');
    expect([failure, result.originals]).toMatchObject([undefined, { notNamed: 2, fetched: 1 }]);
    expect((await store.entries()).find(({ url }) => url === urls[0])?.reason).toBe(
      'elsewhere.example is not named by --media-hosts',
    );
  });

  test('without any a run fails, and links nothing', async () => {
    const store = await withAvatars('https://elsewhere.example/a');
    const { failure } = await fetchInto(store, []);
    expect([failure, await store.mediaUrl()]).toEqual([
      'no host may be asked: name hosts with --media-hosts',
      undefined,
    ]);
  });

  test('the site of a mirror counts as named', async () => {
    const host = await startHost({ '/a': png() });
    const { failure } = await fetchInto(await withAvatars(`${host.url}/a`), [], {
      sites: [new URL(host.url)],
    });
    expect(failure).toBeUndefined();
  });

  test.each([
    ['of one that was not named', (url: string) => url, 'is not named by --media-hosts'],
    ['of metadata services', () => 'http://169.254.169.254/latest', '169.254.169.254 is not named'],
    ['in another spelling', (url: string) => url.replace('127.0.0.1', '0x7f.1'), 'is not named'],
    ['of files', () => 'file:///etc/passwd', 'not an http or https address'],
  ])('a redirect to an address %s is not followed', async (_, target, reason) => {
    const third = await startHost({ '/a': png() });
    const { entry } = await fetchOne((response) =>
      response.writeHead(302, { location: target(`${third.url}/a`) }).end(),
    );
    expect([entry.file, entry.reason, third.asked]).toEqual([null, expect.stringContaining(reason), []]);
  });

  test.each([
    ['a private one', [['127.0.0.1']]],
    ['another one each time', [['127.0.0.1', '93.184.216.34'], ['127.0.0.1'], ['::1'], ['169.254.169.254']]],
    ['a private one written as IPv6', [['::ffff:127.0.0.1']]],
  ])('no connection is made to a name with %s', async (_, answers) => {
    dns.answers = answers;
    const target = await startHost({ '/a': png() });
    const name = `rebound.test:${new URL(target.url).port}`;
    const urls = answers.map((_, index) => `http://${name}/${index}`);
    const store = await withAvatars(...urls);
    const redirecting = await startHost({
      '/r': (response) => response.writeHead(302, { location: `http://${name}/r` }).end(),
    });
    const { failure } = await fetchInto(store, [name], { concurrency: 1 });
    expect([target.asked, failure]).toEqual([[], expect.stringMatching(/^(\d) of \1 pictures? failed$/)]);
    for (const { reason } of await store.entries()) expect(reason).toBe('the host has a private address');
    const redirected = await withAvatars(`${redirecting.url}/r`);
    await fetchInto(redirected, [redirecting.host, name]);
    expect([target.asked, (await redirected.entries())[0]?.reason]).toEqual([
      [],
      'the host has a private address',
    ]);
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

  test.each<[what: string, answer: Answers[string], reason: string | RegExp]>([
    ['an endless picture', endless(png()), 'the body is longer than 1048576 bytes'],
    ['an endless text', endless(Buffer.from('hello')), 'not a picture of a known type'],
    [
      'ten gigabytes, promised',
      (response) => response.writeHead(200, { 'content-length': String(10 * 2 ** 30) }).write(png()),
      'the body is longer than 1048576 bytes',
    ],
    [
      'gzip that grows',
      (response) =>
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(png('x'.repeat(2 << 20)))),
      'the body is longer than 1048576 bytes',
    ],
    ['a picture without an end', (response) => void response.write(png()), 'nothing came for 0.3 s'],
    [
      'a truncated picture',
      (response) => {
        response.writeHead(200, { 'content-length': '1000' }).write(png());
        response.destroy();
      },
      'the connection was closed before the response was complete',
    ],
    [
      'a page that is called a picture',
      (response) => response.writeHead(200, { 'content-type': 'image/png' }).end('<!DOCTYPE html><p>Gone'),
      'not a picture, but a web page',
    ],
    ['JSON', Buffer.from('{"error":"gone"}'), 'not a picture, but JSON'],
    ['nothing', Buffer.alloc(0), 'empty'],
    ['204', (response) => response.writeHead(204).end(), 'status 204'],
    [
      'a redirect to itself',
      (response) => response.writeHead(301, { location: '/a' }).end(),
      /^more than 5 redirects/,
    ],
    [
      'a redirect with an endless body',
      (response) => endless(Buffer.from('x'))(response.writeHead(302, { location: '/b' })),
      'status 404',
    ],
    ['an answer that is not HTTP', (response) => response.socket?.end('hello\r\n\r\n'), /not valid HTTP/],
    [
      'another protocol',
      ({ socket }) =>
        socket?.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
      'the server switches to another protocol (status 101)',
    ],
    ['a reset', (response) => response.socket?.resetAndDestroy(), 'the connection was closed before'],
  ])('that sends %s leaves nothing behind', async (_, answer, reason) => {
    const { entry, mediaDir, result } = await fetchOne(answer, { timeout: 300 });
    expect(entry).toMatchObject({ file: null, bytes: 0 });
    expect(entry.reason).toMatch(reason);
    expect([copiesIn(mediaDir), unfinishedIn(mediaDir), result.originals.fetched]).toEqual([[], [], 0]);
  });

  test('whose SVG has a script, or comes as gzip: it is kept as it is without', async () => {
    const body = svg('<script>alert(1)</script>');
    const packed = (response: ServerResponse) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(body));
    for (const answer of [body, packed]) {
      const { entry, mediaDir } = await fetchOne(answer);
      expect([entry.file, copyOf(mediaDir, entry)]).toEqual([`${sha256(body)}.svg`, body]);
    }
  });

  test('that breaks off is asked again, and what came before does not count', async () => {
    let times = 0;
    const body = png('x'.repeat(1000));
    const { entry, mediaDir } = await fetchOne(
      (response) => {
        response.writeHead(200, { 'content-length': String(body.length) });
        if (times++ > 0) response.end(body);
        else response.write(body.subarray(0, 900), () => response.destroy());
      },
      { retries: 1, mediaQuota: 1200 },
    );
    expect([times, entry.bytes, copiesIn(mediaDir).length, unfinishedIn(mediaDir)]).toEqual([
      2,
      body.length,
      1,
      [],
    ]);
  });

  test('does not keep the others from being asked', async () => {
    const dead = await startSite(() => {});
    const quick = await startHost(Object.fromEntries([1, 2, 3].map((n) => [`/${n}`, png(String(n))])));
    const store = await withAvatars(
      ...Array.from({ length: 100 }, (_, n) => `${dead.url}/${n}`),
      ...[1, 2, 3].map((n) => `${quick.url}/${n}`),
    );
    const stop = new AbortController();
    const hosts = [dead.url, quick.url].map((url) => new URL(url).host);
    const running = fetchInto(store, hosts, { signal: stop.signal });
    await vi.waitFor(() => expect([quick.asked.length, dead.asked.length]).toEqual([3, 4]));
    stop.abort();
    const { failure, result } = await running;
    expect(failure).toBe('stopped; the same command continues where this run ended');
    expect((await store.entries()).length).toBe(result.originals.fetched);
    expect(await store.mediaUrl()).toBe(MEDIA_URL);
  });

  test('that is down is given up after 20 failures', async () => {
    const host = await startSite((_, response) => response.writeHead(500).end());
    const store = await withAvatars(...Array.from({ length: 50 }, (_, n) => `${host.url}/${n}`));
    const { failure } = await fetchInto(store, [new URL(host.url).host], { concurrency: 1 });
    expect([host.asked.length, failure]).toEqual([20, '50 of 50 pictures failed']);
    expect((await store.entries()).find(({ url }) => url.endsWith('/49'))?.reason).toMatch(/ was given up$/);
  });
});

describe('addresses', () => {
  test('longer than 2048 bytes are refused: an index of PostgreSQL takes none', async () => {
    const host = await startHost({});
    const store = await withAvatars(`${host.url}/${'x'.repeat(2048)}`);
    const { told, failure } = await fetchInto(store, [host.host]);
    expect([host.asked, failure, await store.entries()]).toEqual([[], '1 of 1 picture failed', []]);
    expect(told).toContain('longer than 2048 bytes');
  });

  test('are asked for as they are written, or as browsers read them', async () => {
    const host = await startHost({
      '/%22quoted%22': png('a'),
      '/back/slash': png('b'),
      '/%7Eada/a%20b.png?x=1&y=%2F': png(),
    });
    const paths = ['/"quoted"', '/back\\slash', '/%7Eada/a%20b.png?x=1&y=%2F#there'];
    const store = await withAvatars(...paths.map((path) => host.url + path));
    expect((await fetchInto(store, [host.host])).failure).toBeUndefined();
    expect((await store.entries()).map(({ file }) => file !== null)).toEqual([true, true, true]);
  });
});

describe('limits', () => {
  const five = (text = '') =>
    startHost(Object.fromEntries([1, 2, 3, 4, 5].map((n) => [`/${n}`, png(`${n}`.repeat(1000) + text)])));
  const urls = ({ url }: { url: string }) => [1, 2, 3, 4, 5].map((n) => `${url}/${n}`);

  test('the folder holds no more than --media-quota, and a later run goes on with more', async () => {
    const host = await five();
    const store = await withAvatars(...urls(host));
    const { mediaDir, failure } = await fetchInto(store, [host.host], { mediaQuota: 2500, concurrency: 2 });
    expect(failure).toBe(
      'given up: the copies take all of --media-quota; the same command continues where this run ended',
    );
    expect([
      copiesIn(mediaDir).length,
      (await store.entries()).length,
      await store.mediaUrl(),
      unfinishedIn(mediaDir),
    ]).toEqual([2, 2, MEDIA_URL, []]);
    const more = await fetchInto(store, [host.host], { mediaDir });
    expect([more.failure, more.result.originals]).toMatchObject([undefined, { fetched: 3, present: 2 }]);
  });

  test('a copy that is there already takes no room', async () => {
    const host = await startHost({ '/1': png('x'.repeat(1000)), '/2': png('x'.repeat(1000)) });
    const store = await withAvatars(`${host.url}/1`, `${host.url}/2`);
    await fetchInto(store, [host.host], { mediaQuota: 2100, concurrency: 1 });
    expect((await store.entries()).map(({ file }) => file !== null)).toEqual([true, true]);
  });
});

test('pictures that are named as placeholders are refused, also those of earlier runs, until they are not named', async () => {
  const nobody = png('nobody');
  const paths = ['/1', '/2', '/3'];
  const answers = Object.fromEntries(paths.map((path) => [path, nobody]));
  const host = await startHost({ ...answers, '/own': png('own') });
  const store = await withAvatars(...paths.map((path) => host.url + path), `${host.url}/own`);
  const reasons = async () =>
    (await store.entries()).filter(({ file }) => file === null).map(({ reason }) => reason);
  const { mediaDir } = await fetchInto(store, [host.host]);
  const deny = { mediaDir, placeholder: [sha256(nobody)] };
  const { failure, result } = await fetchInto(store, [host.host], deny);
  expect([failure, result.originals]).toMatchObject([undefined, { placeholder: 3, present: 1 }]);
  expect(await reasons()).toEqual(Array(3).fill(`placeholder ${sha256(nobody)}`));
  // They are not even asked for.
  const again = await fetchInto(store, [host.host], deny);
  expect([again.result.originals.placeholder, host.asked.length]).toEqual([3, 4]);
  await fetchInto(store, [host.host], { mediaDir });
  expect([await reasons(), host.asked.length]).toEqual([[], 7]);
});

test('a folder that cannot be written ends the run with a sentence, after what was fetched is saved', async () => {
  const host = await startHost({ '/a': png('a'), '/b': png('b') });
  const mediaDir = join(tempFolder(), 'media');
  const store = await withAvatars(`${host.url}/a`);
  await fetchInto(store, [host.host], { mediaDir });
  const blocked = await withAvatars(`${host.url}/a`, `${host.url}/b`);
  // A folder where the second copy must be.
  mkdirSync(join(mediaDir, mediaPath(`${sha256(png('b'))}.png`)), { recursive: true });
  await expect(fetchInto(blocked, [host.host], { mediaDir, concurrency: 1 })).rejects.toThrow(
    `cannot write ${mediaDir}: `,
  );
  expect([(await blocked.entries()).map(({ url }) => url), await blocked.mediaUrl()]).toEqual([
    [`${host.url}/a`],
    MEDIA_URL,
  ]);
  expect(existsSync(join(mediaDir, 'incoming'))).toBe(true);
});
