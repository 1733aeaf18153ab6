// A server without data says so, creates nothing, and goes live with the first import. Sample users are asked for.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { databaseOf } from '../support/database.ts';
import { fixture, ROOT, tempFile } from '../support/files.ts';
import { ask, json } from '../support/http.ts';
import { executeSql, newPath } from '../support/importing.ts';
import { blog } from '../support/records.ts';
import { done } from '../support/run.ts';
import { serveHere } from '../support/serve-here.ts';
import { type LocalServer, startServer } from '../support/server.ts';
import { adminOf, linesOf, logged, until } from '../support/stress.ts';

const ADA = '/a/api/?user=ada';

async function expectNotReady(server: LocalServer, reason: RegExp): Promise<void> {
  for (const address of [ADA, '/b/api/username/ada/shots']) {
    const reply = await ask(server, address);
    expect({ status: reply.status, code: json(reply).code }).toEqual({ status: 503, code: 'NOT_READY' });
    expect(reply.headers['retry-after']).toMatch(/^\d+$/);
  }
  expect((await ask(server, '/healthz')).status).toBe(200);
  expect((await ask(server, '/readyz')).status).toBe(503);
  const admin = await ask(adminOf(server), '/readyz');
  expect([admin.status, json(admin)]).toEqual([
    503,
    { status: 'not ready', reason: expect.stringMatching(reason) },
  ]);
  expect((await logged(server, /Until then, every lookup is answered with 503/)).msg).toMatch(reason);
}

const STATES: [what: string, make: () => Promise<string>, reason: RegExp][] = [
  ['that does not exist', async () => newPath(), /does not exist: `vitrine import`/],
  ['that is empty', async () => tempFile('site.db', ''), /is empty: run `vitrine import`/],
  [
    'that was never imported into',
    async () => {
      const path = await databaseOf(fixture('microblog.ndjson'));
      executeSql(path, 'UPDATE vitrine SET generation = 0');
      return path;
    },
    /was never imported into: run `vitrine import`/,
  ],
];

describe.each(STATES)('a database %s', (_, make, reason) => {
  test('is 503, is not touched, and goes live with the first import', async () => {
    const path = await make();
    const before = existsSync(path) ? readFileSync(path) : undefined;
    const server = await serveHere({ DATABASE_URL: path, ADMIN_PORT: '0' });
    await expectNotReady(server, reason);
    expect(existsSync(path) ? readFileSync(path) : undefined).toEqual(before);
    await done(['import', '--database-url', path, fixture('microblog.ndjson')]);
    const reply = await ask(server, ADA);
    expect({ status: reply.status, username: json(reply).username }).toEqual({
      status: 200,
      username: 'ada',
    });
    expect((await ask(server, '/readyz')).status).toBe(200);
    expect((await logged(server, /there is data now/)).level).toBe(30);
    // Each reason is logged once, however often the file was looked at.
    const waits = linesOf(server).flatMap(({ msg }) => (msg.includes('Until then') ? msg : []));
    expect(waits).toEqual([...new Set(waits)]);
    await done(['remove', '--database-url', path, '--family', 'microblog', 'ada']);
    expect((await ask(server, ADA)).status).toBe(404);
    expect(await server.stop()).toBe(0);
  });
});

test('a file of an older schema is left alone, and goes live after migrate', async () => {
  const path = tempFile('site.db', readFileSync(fixture('older/schema-4.db')));
  const before = readFileSync(path);
  const server = await serveHere({ DATABASE_URL: path, ADMIN_PORT: '0' });
  await expectNotReady(server, /older schema \(4, wanted \d+\): run `vitrine migrate`/);
  expect(readFileSync(path)).toEqual(before);
  await done(['migrate', '--database-url', path]);
  await until('200', async () => (await ask(server, ADA)).status === 200);
});

test('a new file goes live, a damaged one is refused and logged once', async () => {
  const path = newPath();
  const server = await serveHere({ DATABASE_URL: path });
  writeFileSync(path, 'no database at all\n'.repeat(100));
  expect((await logged(server, /is not a SQLite database/)).level).toBe(40);
  expect((await ask(server, ADA)).status).toBe(503);
  writeFileSync(path, readFileSync(await databaseOf(fixture('microblog.ndjson'))));
  await until('200', async () => (await ask(server, ADA)).status === 200);
});

describe('without DATABASE_URL', () => {
  test('npm start says in its first line that it serves sample users', async () => {
    const server = await npmStart({ DATABASE_URl: '/data/site.db' });
    expect(server.messages[0]).toBe('DATABASE_URL is not set: serving sample users');
    expect(server.messages[1]).toBe('DATABASE_URl is not a setting: did you mean DATABASE_URL?');
    expect((await ask(server, ADA)).status).toBe(200);
  });

  test('npm start with DATABASE_URL serves that data', async () => {
    const path = await databaseOf(blog(1, 'mira'));
    const server = await npmStart({ DATABASE_URL: path });
    expect((await ask(server, '/a/api/?user=mira')).status).toBe(200);
    expect((await ask(server, ADA)).status).toBe(404);
    expect(server.messages.join()).not.toContain('sample');
  });
});

/** What package.json runs, without npm. */
async function npmStart(env: Record<string, string>) {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  expect(scripts.start).toBe('exec test/node/node --disable-sigusr1 src/vitrine.js serve --samples');
  const server = await startServer(env);
  return { ...server, messages: linesOf(server).map(({ msg }) => msg) };
}
