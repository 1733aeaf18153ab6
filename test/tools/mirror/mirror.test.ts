// The mirror: an exact copy of another Vitrine; broken or hostile sites do no harm. What it prints is in
// fixtures/cases/mirror.txt.
import { once } from 'node:events';
import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import { openReader } from '../../../src/stores/open.ts';
import { createRun } from '../../../src/tools/remote/each.ts';
import { databaseOf } from '../../support/database.ts';
import { VARIANTS } from '../../support/expected.ts';
import { fixture, readRecords, tempFile, tempFolder, ugly } from '../../support/files.ts';
import { ask } from '../../support/http.ts';
import { newPath } from '../../support/importing.ts';
import { type Answer, mirror, namesIn, portfolio, startSite } from '../../support/mirror-site.ts';
import { folio } from '../../support/records.ts';
import { serveHere } from '../../support/serve-here.ts';
import type { LocalServer } from '../../support/server.ts';

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
          expect({ url, status: ours.status, body: ours.body, etag: ours.headers.etag }).toEqual({
            url,
            status,
            body,
            etag: headers.etag,
          });
          if (ours.status === 200) alike++;
        }
      await here.stop();
      expect(alike).toBeGreaterThan(80);
      expect(first.stdout).toMatch(
        new RegExp(`^users: ${alike / 2} found, 0 unchanged, \\d+ unknown, 0 failed\n`),
      );
      expect(first.stdout).toMatch(new RegExp(`^${profile}s +${alike / 2} +0 +0 +0$`, 'm'));
      const again = await mirror(database, variant, `${server.url}/${variant}`, '--users', users);
      expect(again).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(new RegExp(`^users: 0 found, ${alike / 2} unchanged, `)),
      });
    },
  );
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

test('a body that grows, silence and a hang-up are reported, and affect no other user', async () => {
  const table = portfolio({ ada: { profile: folio(1, 'ada') }, zoe: { profile: folio(99, 'zoe') } });
  const grown = gzipSync(Buffer.alloc(64 << 20, ' '));
  const answers: Record<string, [words: string, answer: Answer]> = {
    bomb: [
      'the body is longer than',
      (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(grown),
    ],
    slow: [
      'nothing came for 1 s',
      (_, response) => void response.writeHead(200).write(`{${' '.repeat(40_000)}`),
    ],
    hangup: [
      'the connection was closed before the response was complete',
      (request) => request.socket.destroy(),
    ],
  };
  const site = await startSite((request, response) => {
    const [, answer] = answers[request.url?.split('/').at(-1) ?? ''] ?? [];
    (answer ?? table)(request, response);
  });
  const database = newPath();
  const args = ['--timeout', '1', '--retries', '1', '--user', 'ada', ...Object.keys(answers), 'zoe'];
  const { stderr } = await mirror(database, 'b', site.url, ...args);
  for (const [name, [words]] of Object.entries(answers))
    expect(stderr.split('\n').find((line) => line.startsWith(`${site.url}/api/username/${name}`))).toContain(
      words,
    );
  expect(await namesIn(database)).toEqual(['ada', 'zoe']);
});

test('a list of users is not written over through a link', async () => {
  const list = tempFile('users.txt', 'ada\n');
  const link = join(tempFolder(), 'link');
  symlinkSync(list, link);
  const { code, stderr } = await mirror(newPath(), 'b', 'http://x/', '--users', list, '--failed', link);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: `vitrine: ${list} is one of the files to read: write to another file\n`,
  });
  expect(readFileSync(list, 'utf8')).toBe('ada\n');
});

test('an error ends a run once the tasks under way have ended', async () => {
  const { signal } = new AbortController();
  const run = createRun({
    report: { fault() {}, step() {} },
    doing: 'visiting',
    noun: 'users',
    signal,
    total: 2,
  });
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
