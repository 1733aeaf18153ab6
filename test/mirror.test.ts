// The mirror: an exact copy of another Vitrine; broken or hostile sites do no harm. What it prints is in
// fixtures/cases/mirror.txt.
import { once } from 'node:events';
import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import { createRun } from '../src/runs/each.ts';
import { openReader } from '../src/stores/open.ts';
import { VARIANTS } from './expected.ts';
import { fixture, readRecords, tempFile, tempFolder, ugly } from './files.ts';
import { newPath } from './importing.ts';
import { type Answer, exported, mirror, namesIn, portfolio, startSite } from './mirror-site.ts';
import { folio, shot } from './records.ts';
import { ask, databaseOf, done, type LocalServer } from './rig.ts';
import { serveHere } from './serve-here.ts';

const FILES = [
  fixture('microblog.ndjson'),
  fixture('portfolio.ndjson'),
  ugly('hostile-names.ndjson'),
  ugly('hostile-texts.ndjson'),
];
describe.concurrent('from another Vitrine', () => {
  let there: string;
  let server: LocalServer;
  beforeAll(async () => {
    there = await databaseOf(...FILES);
    server = await serveHere({ DATABASE_URL: there });
  });

  test.each(VARIANTS)(
    'variant $variant: every response byte for byte, and only 304 the second time',
    async ({ variant, family, profile, profileOf, itemsOf }) => {
      const mark = family === 'microblog' ? 'totalPost' : 'totalShots';
      const people = FILES.flatMap(readRecords).filter(
        (record) =>
          'username' in record && (mark in record || !('totalPost' in record || 'totalShots' in record)),
      );
      const names = [...new Set(people.map(({ username }) => username as string))];
      expect(names.length).toBeGreaterThan(40);
      const database = newPath();
      const users = tempFile('users.txt', `${names.join('\r\n')}\n\n`);
      const first = await mirror(database, variant, `${server.url}/${variant}/`, '--users', users);
      expect(first.stderr.split('\n').filter((line) => !/: unknown user|^visiting|^$/.test(line))).toEqual(
        [],
      );
      const here = await serveHere({ DATABASE_URL: database });
      let alike = 0;
      for (const name of names)
        for (const url of [profileOf(name), itemsOf(name)]) {
          const [ours, theirs] = [await ask(here, url), await ask(server, url)];
          const { status, body, headers } = theirs;
          expect([url, ours.status, ours.body, ours.headers.etag]).toEqual([url, status, body, headers.etag]);
          if (ours.status === 200) alike++;
        }
      await here.stop();
      expect(alike).toBeGreaterThan(80);
      expect(first.stdout).toMatch(
        new RegExp(`^users: ${alike / 2} found, 0 unchanged, \\d+ unknown, 0 failed\n`),
      );
      expect(first.stdout).toMatch(new RegExp(`^${profile}s +${alike / 2} +0 +0 +0$`, 'm'));
      const again = await mirror(database, variant, `${server.url}/${variant}`, '--users', users);
      expect([again.code, again.stdout]).toEqual([
        0,
        expect.stringMatching(new RegExp(`^users: 0 found, ${alike / 2} unchanged, `)),
      ]);
    },
  );

  test('a user whose local copy has changed is fetched again', async () => {
    const database = newPath();
    await mirror(database, 'b', `${server.url}/b`, '--user', 'ada', 'nikos');
    const before = await exported(database);
    await done(['remove', '--database-url', database, '--family', 'portfolio', 'ada']);
    const { stdout } = await mirror(database, 'b', `${server.url}/b`, '--user', 'ada', 'NIKOS');
    expect(stdout).toMatch(/^users: 1 found, 1 unchanged, 0 unknown, 0 failed\n/);
    expect(await exported(database)).toBe(before);
  });
});

describe.concurrent('lenient reading', () => {
  test('accepts trailing commas, a byte order mark, numbers, gzip, any content type and redirects within the site', async () => {
    const profile = `\ufeff{"Likes": 1, "id": 9007199254740993, "username": "Ada",}`;
    const table = portfolio({
      ada: {
        profile,
        shots: gzipSync(
          '{"Posts":[{"id":1,"user_id":"9007199254740993","date":"2024-01-01 00:00:00",},],"page":1}',
        ),
      },
    });
    const site = await startSite((request, response) => {
      response.setHeader('content-type', 'text/html');
      if (request.url?.endsWith('/shots')) response.setHeader('content-encoding', 'gzip');
      if (request.url === '/old/api/username/ada')
        response.writeHead(301, { location: '../../../api/username/ada' }).end();
      else {
        request.url = request.url?.replace('/old', '');
        table(request, response);
      }
    });
    const database = newPath();
    const { code, stdout, stderr } = await mirror(database, 'b', `${site.url}/old`, '--user', 'ada');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^users: 1 found/);
    expect(stdout).toContain(`: vitrine compare ${site.url}/old NEW --variant b --user ada\n`);
    expect(await exported(database)).toContain('"id":"9007199254740993","username":"Ada"');
    expect(await exported(database)).toContain('"user_id":"9007199254740993"');
  });

  test('another reading fetches again what has not changed', async () => {
    const people = { ada: { profile: folio(1, 'ada', { bio: 'a &amp; b' }) } };
    const site = await startSite((request, response) => {
      if (request.headers['if-none-match'] === '"1"') return void response.writeHead(304).end();
      portfolio(people)(request, response.setHeader('etag', '"1"'));
    });
    const database = newPath();
    const run = (...more: string[]) => mirror(database, 'b', site.url, '--user', 'ada', ...more);
    expect((await run()).stdout).toMatch(
      /^users: 1 found.*\n1 text with HTML entities kept as they are: --unescape/,
    );
    expect(await exported(database)).toContain('"bio":"a &amp; b"');
    expect((await run()).stdout).toMatch(/^users: 0 found, 1 unchanged/);
    expect((await run('--unescape')).stdout).toMatch(/^users: 1 found.*\n1 text read as HTML\n/);
    expect(await exported(database)).toContain('"bio":"a & b"');
  });

  test('asks for changes by Last-Modified when there is no ETag', async () => {
    const date = 'Mon, 01 Jan 2024 00:00:00 GMT';
    const table = portfolio({ ada: { profile: folio(1, 'ada') } });
    const site = await startSite((request, response) => {
      if (request.headers['if-modified-since'] === date) response.writeHead(304).end();
      else table(request, response.setHeader('last-modified', date));
    });
    const database = newPath();
    const times: unknown[] = [];
    for (const words of ['1 found, 0 unchanged', '0 found, 1 unchanged']) {
      expect((await mirror(database, 'b', site.url, '--user', 'ada')).stdout).toContain(words);
      const reader = await openReader(database);
      times.push([reader.lastImport(), await reader.lastImportRun()]);
      await reader.close();
    }
    // The second run changed nothing, and yet the store knows that it came to its end.
    const [[changed, ran], [changedLast, ranLast]] = times as [[number, number], [number, number]];
    expect([changedLast, ranLast > ran]).toEqual([changed, true]);
  });
});

describe.concurrent('bad responses are reported and affect no other user', () => {
  const deep = (length: number) => '['.repeat(length);
  const NOT_ASKED = 'username: is not the user that was asked for, got';
  type Bodies = Record<string, [words: string, profile: unknown, shots?: unknown[] | object]>;
  const BODIES: Bodies = {
    html: ['a web page instead of JSON (attempt 2 of 2)', '<html>'],
    latin: ['record: not valid UTF-8', Buffer.from('{"name":"Jos\xe9"}', 'latin1')],
    empty: ['not valid JSON: Unexpected end of JSON input (attempt 2 of 2)', ''],
    cut: ['not valid JSON: ', '{"id":"70","username":"cut"'],
    list: ['record: an array instead of an object', []],
    error: ['id: is missing; username: is missing', { error: 'no' }],
    other: [`${NOT_ASKED} "somebody"`, folio(60, 'somebody')],
    number: [`${NOT_ASKED} "1.50"`, '{"Likes":"1","id":"59","username":1.50}'],
    deep: ['not valid JSON: ', `{"id":${deep(500_000)}`],
    flat: [
      'id: must be text, a number or a boolean',
      `{"Likes":"1","username":"flat","id":${deep(500_000)}${']'.repeat(500_000)}}`,
    ],
    long: ['the body is longer than', ' '.repeat(5 << 20)],
    bomb: ['the body is longer than', gzipSync(Buffer.alloc(64 << 20, ' '))],
    namesake: ['id: is the id of "ada" already, got "1"', folio(1, 'namesake')],
    thief: [
      'item 2: user_id: must be the id of the profile, 61, got "1"',
      folio(61, 'thief'),
      [shot(610, 61), shot(10, 1)],
    ],
    undated: [
      'item 1: date: must be a real date',
      folio(62, 'undated'),
      [shot(11, 62, { date: '2024-02-30 00:00:00' })],
    ],
    unlisted: ['record: must be an object with a list', folio(63, 'unlisted'), folio(63, 'unlisted')],
    many: [
      'record: must not list more than',
      folio(64, 'many'),
      Array.from({ length: 2000 }, (_, i) => shot(1000 + i, 64)),
    ],
  };
  const entries = Object.entries(BODIES).map(([name, [, profile, shots]]) => [
    name,
    { profile, shots: Array.isArray(shots) ? { Shots: shots } : shots },
  ]);
  const table = portfolio({
    ada: { profile: folio(1, 'ada'), shots: { Shots: [shot(10, 1, { title: 'mine' })] } },
    zoe: { profile: folio(99, 'zoe') },
    ...Object.fromEntries(entries),
  });
  const redirect =
    (location?: string): Answer =>
    ({ url }, response) =>
      response.writeHead(302, { location: location ?? url }).end();
  const ELSEWHERE = 'redirects to another site, which is not followed';
  const PROTOCOL: Record<string, [words: string, answer: Answer]> = {
    away: [`${ELSEWHERE}: http://169.254.169.254`, redirect('http://169.254.169.254/latest')],
    relative: [`${ELSEWHERE}: http://localhost:1`, redirect('//localhost:1/x')],
    around: ['more than 5 redirects', redirect()],
    file: [ELSEWHERE, redirect('file:///etc/passwd')],
    brotli: [
      'content encoding br was not asked for',
      (_, response) => response.writeHead(200, { 'content-encoding': 'br' }).end('x'),
    ],
    forbidden: ['status 403', (_, response) => response.writeHead(403).end()],
    unasked: ['status 304', (_, response) => response.writeHead(304).end()],
    broken: [
      'the gzip data of the body is corrupt',
      (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('no gzip'),
    ],
    slow: ['nothing came for 1 s', (_, response) => void response.writeHead(200).write('{')],
    hangup: [
      'the connection was closed before the response was complete',
      (request) => request.socket.destroy(),
    ],
  };

  test.each([
    ['bodies', '1', Object.entries(BODIES)],
    ['protocol', '4', Object.entries(PROTOCOL)],
  ] as const)('in %s', async (_, concurrency, cases) => {
    const site = await startSite((request, response) => {
      const [name = ''] = cases.find(([name]) => request.url?.includes(`/${name}`)) ?? [];
      if (name === 'bomb') response.setHeader('content-encoding', 'gzip');
      (PROTOCOL[name]?.[1] ?? table)(request, response);
    });
    const database = newPath();
    const names = ['ada', ...cases.map(([name]) => name), 'zoe'];
    const limits = ['--timeout', '1', '--retries', '1', '--concurrency', concurrency];
    const { code, stdout, stderr } = await mirror(database, 'b', site.url, '--user', ...names, ...limits);
    for (const [name, [words]] of cases) {
      const start = `${site.url}/api/username/${name}`;
      const lines = stderr.split('\n').filter((line) => line.startsWith(start));
      expect(lines.join('\n')).toContain(words);
    }
    expect(stderr).toContain(`vitrine: ${cases.length} of ${names.length} users failed\n`);
    expect([code, stdout]).toEqual([
      1,
      expect.stringMatching(`^users: 2 found, 0 unchanged, 0 unknown, ${cases.length} failed\n`),
    ]);
    expect(await namesIn(database)).toEqual(['ada', 'zoe']);
    expect(await exported(database)).toContain('"title":"mine"');
  });

  test('with --media, also when the pictures cannot be copied for a reason of their own', async () => {
    const site = await startSite(
      portfolio({
        ada: { profile: folio(1, 'ada', { avatar: '/a.png' }) },
        bob: { profile: '{' },
      }),
    );
    const folder = join(tempFile('a-file', ''), 'media');
    const media = ['--media', '--media-dir', folder, '--retries', '0'];
    const { code, stderr } = await mirror(newPath(), 'b', site.url, '--user', 'ada', 'bob', ...media);
    expect([code, stderr.split('\n').at(-2)]).toEqual([
      1,
      expect.stringMatching(/^vitrine: 1 of 2 users failed.*; .*a-file/),
    ]);
  });

  test('impossible names are reported, and no name reaches a header or another path', async () => {
    const site = await startSite(table);
    const users = tempFile(
      'users.txt',
      `ada\nx\u0001y\n../../admin\nX HTTP/1.1\n${'n'.repeat(300)}\n?a#b\nADA\n`,
    );
    const { code, stderr } = await mirror(newPath(), 'b', site.url, '--users', users);
    expect(code).toBe(1);
    expect(stderr).toContain(`${users}:2: must not contain control characters, got "x\ufffdy"`);
    expect(stderr).toContain(`${users}:5: must have at most 255 characters`);
    expect(site.asked.sort()).toEqual(
      ['..%2F..%2Fadmin', '%3Fa%23b', 'X%20HTTP%2F1.1', 'ada', 'ada/shots']
        .map((path) => `/api/username/${path}`)
        .sort(),
    );
  });
});

test('a list of users is not written over through a link', async () => {
  const list = tempFile('users.txt', 'ada\n');
  const link = join(tempFolder(), 'link');
  symlinkSync(list, link);
  const { code, stderr } = await mirror(newPath(), 'b', 'http://x/', '--users', list, '--failed', link);
  expect([code, stderr]).toEqual([
    1,
    `vitrine: ${list} is one of the files to read: write to another file\n`,
  ]);
  expect(readFileSync(list, 'utf8')).toBe('ada\n');
});

test('an error in the queue of a run ends it, after the tasks under way have ended', async () => {
  const { signal } = new AbortController();
  const run = createRun({ report: { fault() {}, progress() {} }, signal, total: 2 });
  let isUnderWay = false;
  async function* queue() {
    yield 'ada';
    throw new Error('the store is gone');
  }
  const visit = async () => {
    isUnderWay = true;
    await once(run.signal, 'abort');
    isUnderWay = false;
  };
  await expect(run.each([queue()], 2, visit)).rejects.toThrow('the store is gone');
  expect([isUnderWay, run.stopped()]).toEqual([false, 'stopped']);
});
