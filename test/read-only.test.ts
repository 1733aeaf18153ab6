// The server opens its database read-only: no request can change a byte of the file.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { METHODS } from 'node:http';
import { dirname } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openForReading } from '../src/stores/sqlite/connect.ts';
import {
  ask,
  databaseOf,
  dial,
  done,
  fixture,
  hearOut,
  type LocalServer,
  parseReplies,
  startServer,
} from './rig.ts';
import { serveHere } from './serve-here.ts';
import { metricsOf } from './stress.ts';

const SEED = Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31);
const ROUNDS = 40;

/** The state of a file: its bytes, modification time and inode. */
function stateOf(path: string) {
  const { ino, size, mtimeNs } = statSync(path, { bigint: true });
  return { ino, size, mtimeNs, digest: createHash('sha256').update(readFileSync(path)).digest('hex') };
}

/** The open flags of each file of a process whose name starts like this. */
function flagsOf(pid: number, start: string): Map<string, number> {
  const flags = new Map<string, number>();
  for (const fd of readdirSync(`/proc/${pid}/fd`)) {
    const name = readlinkSync(`/proc/${pid}/fd/${fd}`);
    const said = /^flags:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'utf8'))?.[1] ?? '';
    if (name.startsWith(start)) flags.set(name, Number.parseInt(said, 8));
  }
  return flags;
}

const ACCESS = 0o3;

const EVIL = [
  "ada'; DROP TABLE items; --",
  '"; DELETE FROM profiles',
  '%00',
  '../site.db',
  'ada%27%3BPRAGMA%20user_version%3D9',
  '{"$gt":""}',
];
const name = fc.oneof(
  fc.constantFrom('ada', 'pekka', 'nobody', ...EVIL.map(encodeURIComponent)),
  fc.string({ maxLength: 10 }).map((text) => encodeURIComponent(text)),
);
const url = fc.oneof(
  name.map((user) => `/a/api/?user=${user}`),
  name.map((user) => `/a/api/?user=${user}&post=true`),
  name.map((user) => `/b/api/username/${user}`),
  name.map((user) => `/c/api/username/${user}/shots`),
  fc.constantFrom(
    '/',
    '/site.db',
    '/import',
    '/a/api/import',
    '/metrics',
    '/healthz',
    '/readyz',
    '/b/api/username',
  ),
);
const BODY = '{"totalPost":"9","id":"12","username":"ada","bio":"written by a request"}\n';
const request = fc.record({
  method: fc.constantFrom(...METHODS.filter((each) => each !== 'CONNECT')),
  url,
  type: fc.constantFrom('application/json', 'application/x-ndjson', 'text/csv'),
});

async function sendAll(
  server: LocalServer,
  requests: { method: string; url: string; type: string }[],
): Promise<void> {
  const socket = await dial(server);
  const heard = hearOut(socket);
  for (const [index, { method, url, type }] of requests.entries()) {
    const length = method === 'GET' || method === 'HEAD' ? 0 : BODY.length;
    const last = index === requests.length - 1 ? 'Connection: close\r\n' : '';
    socket.write(
      `${method} ${url} HTTP/1.1\r\nHost: x\r\n${last}Content-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n${BODY.slice(0, length)}`,
    );
  }
  expect((await heard).length).toBeGreaterThan(0);
}

describe.each(['as an import leaves it', 'a snapshot'])('a database %s', (kind) => {
  test('is unchanged by any sequence of requests', async () => {
    const imported = await databaseOf(fixture('microblog.ndjson'), fixture('portfolio.ndjson'));
    const path = kind === 'a snapshot' ? `${imported}.snapshot` : imported;
    if (path !== imported) await done(['snapshot', '--database-url', imported, path]);
    const server = await serveHere({ DATABASE_URL: path, ADMIN_PORT: '0' });
    const [before, ada] = [stateOf(path), (await ask(server, '/a/api/?user=ada')).body];
    console.log(`read-only: FUZZ_SEED=${SEED}`);
    const property = fc.asyncProperty(fc.array(request, { minLength: 30, maxLength: 30 }), (requests) =>
      sendAll(server, requests),
    );
    await fc.assert(property, { seed: SEED, numRuns: ROUNDS, endOnFailure: true });
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      expect((await ask(server, '/a/api/?user=ada', { method })).status).toBe(405);
    await metricsOf(server);
    expect(stateOf(path)).toEqual(before);
    expect((await ask(server, '/a/api/?user=ada')).body).toBe(ada);
    // The WAL that SQLite keeps while the file is open is empty.
    for (const entry of readdirSync(dirname(path)).filter((file) => file.endsWith('-wal')))
      expect([entry, statSync(`${dirname(path)}/${entry}`).size]).toEqual([entry, 0]);
    expect(await server.stop()).toBe(0);
    expect(stateOf(path)).toEqual(before);
  }, 60_000);

  test.runIf(process.platform === 'linux')('is opened with O_RDONLY', async () => {
    const path = await databaseOf(fixture('microblog.ndjson'));
    const served = kind === 'a snapshot' ? `${path}.snapshot` : path;
    if (served !== path) await done(['snapshot', '--database-url', path, served]);
    const server = await startServer({ DATABASE_URL: served });
    await ask(server, '/a/api/?user=ada');
    // SQLite opens the WAL and its index read-write even for readers, which record their read marks there.
    const flags = flagsOf(server.child.pid as number, served);
    expect([
      (flags.get(served) ?? ACCESS) & ACCESS,
      [...flags.keys()].filter((file) => !/-(wal|shm)$/.test(file)),
    ]).toEqual([0, [served]]);
  });
});

test('the database handle refuses every write and cannot be made writable', async () => {
  const path = await databaseOf(fixture('microblog.ndjson'));
  const before = stateOf(path);
  const db = openForReading(path, path);
  expect([db.readonly, db.pragma('query_only', { simple: true })]).toEqual([true, 1]);
  const STATEMENTS = [
    'DELETE FROM items',
    "UPDATE profiles SET record = ''",
    'CREATE TABLE t (x)',
    'DROP VIEW posts',
    'PRAGMA user_version = 9',
    'VACUUM',
  ];
  const tryAll = () => {
    for (const sql of STATEMENTS) expect(() => db.exec(sql), sql).toThrow(/readonly|query_only|read-only/);
  };
  tryAll();
  db.pragma('query_only = OFF');
  tryAll();
  db.close();
  expect(stateOf(path)).toEqual(before);
});

test('responses to write attempts are complete', async () => {
  const server = await serveHere();
  const socket = await dial(server);
  const heard = hearOut(socket);
  socket.write(
    `PUT /a/api/?user=ada HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`,
  );
  expect(parseReplies(await heard).map(({ status }) => status)).toEqual([405]);
});
