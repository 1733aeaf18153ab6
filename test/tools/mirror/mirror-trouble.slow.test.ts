// A mirrored site that is slow, overloaded or down, and runs that are stopped or killed and resumed.
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { tempFile, tempFolder } from '../../support/files.ts';
import { newPath } from '../../support/importing.ts';
import { crowd, mirror, mirrorArgs, namesIn, portfolio, startSite } from '../../support/mirror-site.ts';
import { folio, shot } from '../../support/records.ts';
import { done, run, spawned, vitrine } from '../../support/run.ts';
import { until } from '../../support/stress.ts';

const namesFile = (names: readonly string[]) => tempFile('users.txt', names.join('\n'));

test('a request is repeated after a web page, and after Retry-After', async () => {
  const times: number[] = [];
  const table = portfolio({ ada: { profile: folio(1, 'ada') } });
  const site = await startSite((request, response) => {
    times.push(performance.now());
    if (times.length === 1) response.end('\ufeff\n<html>');
    else if (times.length === 2) response.writeHead(503).end();
    else if (times.length === 3) response.writeHead(429, { 'retry-after': '1' }).end();
    else table(request, response);
  });
  const { code, stdout } = await mirror(newPath(), 'b', site.url, '--user', 'ada');
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('1 found') });
  expect((times[3] as number) - (times[2] as number)).toBeGreaterThan(990);
});

test('a long Retry-After ends the run, and the next run resumes it', async () => {
  const { names, answer: table } = crowd(70);
  let closed = true;
  const site = await startSite((request, response) => {
    if (closed && request.url?.includes('user50')) response.writeHead(503, { 'retry-after': '86400' }).end();
    else table(request, response);
  });
  const database = newPath();
  const state = join(tempFolder(), 'state');
  const more = ['--users', namesFile(names), '--state', state];
  const first = await mirror(database, 'b', site.url, ...more);
  expect(first).toMatchObject({ code: 1, stdout: expect.stringMatching(/^users: \d+ found/) });
  expect(first.stderr).toContain('given up: the site asks for a pause of 86400 s');
  expect([existsSync(state), existsSync(`${database}.mirror`)]).toEqual([true, false]);
  closed = false;
  const before = site.asked.length;
  const second = await mirror(database, 'b', site.url, ...more);
  expect(second).toMatchObject({ code: 0, stderr: '' });
  const skipped = Number(/failed, (\d+) already done by the unfinished run/.exec(second.stdout)?.[1]);
  expect(skipped).toBeGreaterThanOrEqual(32);
  expect(site.asked.length - before).toBe(2 * (70 - skipped));
  expect(await namesIn(database)).toHaveLength(70);
});

test.each([
  { answers: 'errors', status: 500, body: '', retries: '0', fault: 'status 500', requests: 20 },
  {
    answers: 'web pages, which are asked for again,',
    status: 200,
    body: '<!doctype html>',
    retries: '1',
    fault: 'a web page instead of JSON (attempt 2 of 2)',
    requests: 40,
  },
])('a site that answers with $answers is given up', async ({ status, body, retries, fault, requests }) => {
  const site = await startSite((_, response) => response.writeHead(status).end(body));
  const { names } = crowd(100);
  const more = ['--retries', retries, '--concurrency', '1', '--user', ...names];
  const { code, stdout, stderr } = await mirror(newPath(), 'b', site.url, ...more);
  expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringContaining('0 unknown, 20 failed') });
  expect(stderr).toContain(`/user0: ${fault}`);
  expect(stderr).toMatch(/given up: 20 requests to \S+ failed in a row/);
  expect(site.asked).toHaveLength(requests);
});

test('a 404 that is a web page prunes no user', async () => {
  let parked = false;
  const people = portfolio({ ada: { profile: folio(1, 'ada') }, bob: { profile: folio(2, 'bob') } });
  const site = await startSite((request, response) => {
    if (parked && request.url?.includes('bob')) response.writeHead(404).end('<html>This domain is for sale');
    else people(request, response);
  });
  const database = newPath();
  await mirror(database, 'b', site.url, '--user', 'ada', 'bob');
  parked = true;
  const { code, stdout, stderr } = await mirror(database, 'b', site.url, '--user', 'ada', 'bob', '--prune');
  expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringContaining('0 unknown, 1 failed') });
  expect(stderr).toContain('/bob: status 404 with a web page instead of JSON\n');
  expect(await namesIn(database)).toEqual(['ada', 'bob']);
});

test.each(['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
  'a run that %s ended is resumed by the next',
  async (signal) => {
    const { names, answer: table } = crowd(40);
    let stuck = true;
    // Never answered: that is where it is ended.
    const site = await startSite((request, response) => {
      if (!(stuck && request.url?.includes('user35'))) table(request, response);
    });
    const database = newPath();
    const args = mirrorArgs(database, 'b', site.url, '--concurrency', '2', '--users', namesFile(names));
    const child = vitrine(args);
    let said = '';
    child.stdout?.on('data', (chunk) => (said += chunk));
    child.stderr?.on('data', (chunk) => (said += chunk));
    await until('it to be stuck', () => site.asked.some((path) => path.includes('user35')));
    child.kill(signal);
    // As a shell, and systemd, expect it of a program that a signal has ended.
    expect(await once(child, 'close')).toEqual([null, signal]);
    const isKilled = signal === 'SIGKILL';
    expect(said).toMatch(
      isKilled
        ? /^$/
        : /^users: 3\d found, 0 unchanged, 0 unknown, 0 failed\n[\s\S]*vitrine: stopped; the same command continues where this run ended\n$/,
    );
    expect(await done(['check', '--database-url', database])).toContain(
      `portfolio profiles: ${isKilled ? 32 : 3}`,
    );
    stuck = false;
    const { code, stdout } = await run(args);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/failed, 3\d already done by the unfinished run/),
    });
    expect(await namesIn(database)).toHaveLength(40);
  },
);

test('a list of 400,000 names fits into a heap of 48 MB', async () => {
  const site = await startSite((_, response) => response.writeHead(503, { 'retry-after': '86400' }).end());
  const names = Array.from({ length: 400_000 }, (_, i) => `some-user-name-${i}\nSOME-user-name-${i}`);
  const database = newPath();
  const { code, stderr } = await spawned(mirrorArgs(database, 'b', site.url, '--users', namesFile(names)), {
    env: { NODE_OPTIONS: '--max-old-space-size=48' },
  });
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('given up') });
  // No temporary file is left.
  expect(readdirSync(join(database, '..'))).toEqual(['site.db.mirror']);
});

test('40 compressed users of 3 MB each fit into a heap of 96 MB', async () => {
  const items = (id: number) =>
    Array.from({ length: 980 }, (_, n) => shot(id * 1000 + n, id, { description: 'x'.repeat(2800) }));
  const site = await startSite((request, response) => {
    const [, id = '0', list] = /user(\d+)(\/shots)?$/.exec(request.url ?? '') ?? [];
    const body = list === undefined ? folio(Number(id), `user${id}`) : { Shots: items(Number(id)) };
    response.setHeader('content-encoding', 'gzip').end(gzipSync(JSON.stringify(body), { level: 1 }));
  });
  const names = Array.from({ length: 40 }, (_, index) => `user${index + 1}`);
  const { code, stdout } = await spawned(mirrorArgs(newPath(), 'b', site.url, '--user', ...names), {
    env: { NODE_OPTIONS: '--max-old-space-size=96' },
  });
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^users: 40 found/) });
});

test('a site never gets more requests at a time than --concurrency', async () => {
  let open = 0;
  let most = 0;
  const { names, answer: table } = crowd(30);
  const site = await startSite((request, response) => {
    most = Math.max(most, ++open);
    response.on('close', () => open--);
    setImmediate(() => table(request, response));
  });
  expect((await mirror(newPath(), 'b', site.url, '--concurrency', '3', '--user', ...names)).code).toBe(0);
  expect(most).toBeLessThanOrEqual(3);
});
