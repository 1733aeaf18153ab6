// Replacing the database file of a running server: sound files go live, damaged ones are refused, no response mixes two.

import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { beforeAll, describe, expect, test } from 'vitest';
import { openForChange } from '../../src/stores/open.ts';
import {
  ask,
  databaseOf,
  done,
  ndjson,
  type Reply,
  run,
  type Server,
  startServer,
  tempFile,
  tempFolder,
} from '../rig.ts';
import {
  adminOf,
  bodiesOf,
  generation,
  generationOf,
  linesOf,
  logged,
  metricsOf,
  startLoad,
  until,
} from '../stress.ts';

/** As root, a server runs as this account, whose files are not root's. */
const SERVANT = process.getuid?.() === 0 ? 65_534 : undefined;
const GENERATIONS = 6;
const SWAPS = 66;
const IMPORTS = 40;
const ALL = Array.from({ length: GENERATIONS }, (_, number) => number);
const EXPECTED = ALL.map((number) => bodiesOf(generation(number)));
const ADDRESSES = [...(EXPECTED[0] as Map<string, string>).keys()];
const PROFILE = '/b/api/username/user3';

/** Each generation as a freshly imported file and as a snapshot. */
const sources: { fresh: string; snapshot: string }[] = [];
beforeAll(async () => {
  const made = ALL.map(async (number) => {
    const fresh = await databaseOf(tempFile(`${number}.ndjson`, ndjson(...generation(number))));
    const snapshot = `${fresh}.snapshot`;
    await done(['snapshot', '--database-url', fresh, snapshot]);
    return { fresh, snapshot };
  });
  sources.push(...(await Promise.all(made)));
});

/** The page size in the header of a SQLite file. */
const pageSize = (bytes: Buffer) => bytes.readUInt16BE(16);

/** Copies a file into a new folder. */
function served(source: string): string {
  const path = join(tempFolder(), 'site.db');
  fs.copyFileSync(source, path);
  return path;
}

function putInPlace(source: string, path: string): void {
  fs.copyFileSync(source, `${path}.incoming`);
  fs.renameSync(`${path}.incoming`, path);
}

/** Each body is complete, belongs to one generation, and always has the same ETag. */
function createJudge(expected: (number: number) => Map<string, string>) {
  const bodies = new Map<string, string>();
  const etags = new Map<string, string>();
  return (address: string, { status, body, headers }: Reply): string | undefined => {
    if (status !== 200) return `${status} ${body}`;
    const etag = `${address} ${headers.etag}`;
    if ((bodies.get(etag) ?? body) !== body) return `two bodies for ${etag}`;
    if ((etags.get(address + body) ?? etag) !== etag) return `two ETags for one body`;
    bodies.set(etag, body);
    etags.set(address + body, etag);
    if (expected(generationOf(body) ?? 0).get(address) !== body) return `a body of no generation: ${body}`;
    return undefined;
  };
}

describe('under load', () => {
  test(`${SWAPS} swaps of freshly imported files and snapshots`, async () => {
    const path = served(sources[0]?.fresh as string);
    const server = await startServer({ DATABASE_URL: path, ADMIN_PORT: '0' });
    const load = startLoad(
      server,
      ADDRESSES,
      createJudge((number) => EXPECTED[number] as Map<string, string>),
      4,
    );
    for (let swap = 1; swap <= SWAPS; swap++) {
      const number = swap % GENERATIONS;
      const source = sources[number] as { fresh: string; snapshot: string };
      putInPlace(Math.floor(swap / 2) % 2 === 0 ? source.snapshot : source.fresh, path);
      const before = load.answered();
      // Most files arrive faster than they can be checked; every 11th is waited for.
      if (swap % 11 === 0)
        await until(
          `generation ${number}`,
          async () => generationOf((await ask(server, PROFILE)).body) === number,
        );
      else await until('some answers', () => load.answered() > before + (swap % 5));
    }
    expect(await load.stop()).toEqual([]);
    expect(load.answered()).toBeGreaterThan(SWAPS);
    const metrics = await metricsOf(server);
    expect(metrics.get('vitrine_store_swaps_total')).toBeGreaterThanOrEqual(Math.floor(SWAPS / 11) - 1);
    expect(metrics.get('vitrine_store_refusals_total')).toBe(0);
    expect(linesOf(server).filter(({ level }) => level > 40)).toEqual([]);
    // Only SQLite's own files remain beside the database, once the last check has ended.
    const ours = /^site\.db(-wal|-shm)?$/;
    await until('the end of checks', () => fs.readdirSync(dirname(path)).every((name) => ours.test(name)));
  });

  test(`${IMPORTS} imports, each visible in the next response and never undone`, async () => {
    const path = served(sources[0]?.fresh as string);
    const server = await startServer({ DATABASE_URL: path, ADMIN_PORT: '0' });
    const known = new Map<number, Map<string, string>>();
    const expected = (number: number) =>
      known.get(number) ??
      (known.set(number, bodiesOf(generation(number))).get(number) as Map<string, string>);
    const judge = createJudge(expected);
    let newest = 0;
    const load = startLoad(server, ADDRESSES, judge);
    const writer = new Worker(new URL('./swap-writer.ts', import.meta.url), { workerData: path });
    for (let number = 1; number <= IMPORTS; number++) {
      const imported = once(writer, 'message');
      writer.postMessage({ text: ndjson(...generation(number)), replace: number % 2 === 0 });
      const [tallies] = await imported;
      expect(tallies['portfolio profile']).toMatchObject({ new: 0, unchanged: 0 });
      for (const address of [PROFILE, '/a/api/?user=user9&post=true']) {
        const seen = generationOf((await ask(server, address)).body) as number;
        expect(seen).toBe(number);
        newest = Math.max(newest, seen);
      }
    }
    await writer.terminate();
    expect(newest).toBe(IMPORTS);
    expect(await load.stop()).toEqual([]);
    expect((await metricsOf(server)).get('vitrine_store_swaps_total')).toBe(0);
  });
});

describe('a replacement is refused and the old data kept when it is', () => {
  /** The file after one change by SQL. */
  function altered(sql: string): string {
    const path = served(sources[1]?.snapshot as string);
    const db = new Database(path);
    db.pragma('writable_schema = ON');
    db.exec(sql);
    db.close();
    return path;
  }
  function damaged(change: (bytes: Buffer, page: number) => Buffer | undefined): string {
    const bytes = fs.readFileSync(sources[1]?.snapshot as string);
    return tempFile('damaged.db', change(bytes, pageSize(bytes)) ?? bytes);
  }
  const otherKind = (bytes: Buffer, page: number) => void bytes.writeUInt8(0x77, 3 * page);
  const flipped = (bytes: Buffer, page: number) => void bytes.fill(0xff, 5 * page + 8, 5 * page + 40);
  const MISFITS: [what: string, make: () => string, said: RegExp][] = [
    ['empty', () => tempFile('empty', ''), /is empty/],
    ['never imported into', () => altered('UPDATE vitrine SET generation = 0'), /was never imported into/],
    ['text', () => tempFile('text', 'no database at all\n'.repeat(1000)), /not a SQLite database/],
    ['truncated to half', () => damaged((bytes) => bytes.subarray(0, bytes.length / 2)), /damaged/],
    ['truncated within a page', () => damaged((bytes) => bytes.subarray(0, bytes.length - 100)), /damaged/],
    ['truncated to its header', () => damaged((bytes) => bytes.subarray(0, 100)), /./],
    [
      'with a page of zeros',
      () => damaged((bytes, page) => void bytes.fill(0, 4 * page, 5 * page)),
      /damaged/,
    ],
    ['with a page of another kind', () => damaged(otherKind), /damaged/],
    ['with flipped bits in its cells', () => damaged(flipped), /damaged/],
    ['a database of another program', () => altered('PRAGMA application_id = 7'), /another program/],
    ['of a newer schema', () => altered('PRAGMA user_version = 99'), /newer version/],
    ['of an older schema', () => altered('PRAGMA user_version = 0'), /older schema/],
    ['without a table', () => altered('DROP TABLE lists'), /./],
    ['without a column', () => altered('ALTER TABLE profiles RENAME COLUMN user_key TO other_key'), /./],
  ];

  let path: string;
  let server: Server;
  let shown = 0;
  beforeAll(async () => {
    path = served(sources[0]?.fresh as string);
    server = await startServer({ DATABASE_URL: path, ADMIN_PORT: '0' });
  });
  const refusals = async () => (await metricsOf(server)).get('vitrine_store_refusals_total') as number;

  test.each(MISFITS)('%s', async (_, make, said) => {
    const before = await refusals();
    const from = server.log.length;
    putInPlace(make(), path);
    const line = await logged(server, /The data before stays/, from);
    expect([line.level, line.msg]).toEqual([50, expect.stringMatching(said)]);
    expect(line.msg.startsWith(path)).toBe(true);
    for (const address of ADDRESSES)
      expect((await ask(server, address)).body).toBe(EXPECTED[shown]?.get(address));
    expect((await ask(server, '/readyz')).status).toBe(200);
    // A good file after a bad one goes live. The bad one was polled many times, but refused once.
    shown = (shown + 1) % GENERATIONS;
    putInPlace(sources[shown]?.[shown % 2 === 0 ? 'fresh' : 'snapshot'] as string, path);
    await until('the good one', async () => generationOf((await ask(server, PROFILE)).body) === shown);
    expect(await refusals()).toBe(before + 1);
  });

  test('the checks leave no files behind', async () => {
    await until(
      'the end of checks',
      () => !fs.readdirSync(dirname(path)).some((name) => name.includes('check')),
    );
  });
});

describe('other changes to the file', () => {
  test.runIf(SERVANT !== undefined || process.getuid?.() !== 0)(
    'a replacement that the server may read but does not own goes live',
    async () => {
      const path = served(sources[0]?.fresh as string);
      const incoming = `${path}.incoming`;
      const folder = dirname(path);
      if (SERVANT !== undefined) {
        fs.chmodSync(dirname(folder), 0o755);
        for (const file of [folder, path]) fs.chownSync(file, SERVANT, SERVANT);
      }
      const server = await startServer({ DATABASE_URL: path }, [], SERVANT);
      expect(generationOf((await ask(server, PROFILE)).body)).toBe(0);
      fs.copyFileSync(sources[2]?.snapshot as string, incoming);
      // Root puts in a file of its own; without that right, one that nobody may write has to do.
      fs.chmodSync(incoming, 0o444);
      fs.renameSync(incoming, path);
      await until('the new file', async () => generationOf((await ask(server, PROFILE)).body) === 2);
      expect(linesOf(server).filter(({ level }) => level > 30)).toEqual([]);
      if (SERVANT !== undefined) expect(fs.statSync(path).uid).toBe(0);
      expect(await server.stop()).toBe(0);
    },
  );

  test('a deleted file: its data stays online until a new file takes its place', async () => {
    const path = served(sources[0]?.fresh as string);
    const server = await startServer({ DATABASE_URL: path, ADMIN_PORT: '0' });
    expect(generationOf((await ask(server, PROFILE)).body)).toBe(0);
    for (const name of fs.readdirSync(dirname(path))) fs.rmSync(join(dirname(path), name));
    expect((await logged(server, /site\.db is missing/)).level).toBe(40);
    expect((await metricsOf(server)).get('vitrine_store_waiting')).toBe(1);
    expect(JSON.parse((await ask(adminOf(server), '/readyz')).body).warning).toMatch(/is missing/);
    for (let turn = 0; turn < 50; turn++)
      for (const address of ADDRESSES)
        expect([address, (await ask(server, address)).body]).toEqual([address, EXPECTED[0]?.get(address)]);
    expect((await ask(server, '/readyz')).status).toBe(200);
    putInPlace(sources[4]?.fresh as string, path);
    await until('the new file', async () => generationOf((await ask(server, PROFILE)).body) === 4);
    expect((await metricsOf(server)).get('vitrine_store_waiting')).toBe(0);
  });

  test('an import that opened the new file before the server noticed it is served', async () => {
    const path = served(sources[0]?.fresh as string);
    const server = await startServer({ DATABASE_URL: path });
    putInPlace(sources[1]?.snapshot as string, path);
    // It adopts the log of the old file, which the server then removes.
    const writer = await openForChange(path);
    await logged(server, /another file took the place/);
    expect(await writer.remove('portfolio', 'user3')).toBeDefined();
    await writer.close();
    await until('the removal', async () => (await ask(server, PROFILE)).status === 404, 5);
  });

  // Root may limit the processes of another account, and this one needs its own.
  const asRoot = SERVANT === undefined ? () => {} : test;
  asRoot('a server that can start no thread serves on', async () => {
    const path = served(sources[0]?.fresh as string);
    const folder = dirname(path);
    fs.chmodSync(dirname(folder), 0o755);
    for (const file of [folder, path]) fs.chownSync(file, SERVANT as number, SERVANT as number);
    const server = await startServer({ DATABASE_URL: path }, [], SERVANT);
    const self = [`--reuid=${SERVANT}`, `--regid=${SERVANT}`, '--clear-groups'];
    const { status } = spawnSync('setpriv', [
      ...self,
      'prlimit',
      '--pid',
      `${server.child.pid}`,
      '--nproc=1:1',
    ]);
    expect(status).toBe(0);
    putInPlace(sources[1]?.snapshot as string, path);
    await logged(server, /could not be checked.* The data before stays/);
    expect(generationOf((await ask(server, PROFILE)).body)).toBe(0);
    expect(await server.stop()).toBe(0);
  });

  test('a WAL of the old file is not applied to the new one', async () => {
    const path = served(sources[0]?.fresh as string);
    const server = await startServer({ DATABASE_URL: path, ADMIN_PORT: '0' });
    // A killed writer leaves its WAL behind.
    const writing = new Database(path);
    writing.pragma('wal_autocheckpoint = 0');
    writing.exec("UPDATE profiles SET record = replace(record, 'generation 0', 'generation 5')");
    fs.cpSync(`${path}-wal`, `${path}-kept`);
    expect(generationOf((await ask(server, PROFILE)).body)).toBe(5);
    putInPlace(sources[3]?.fresh as string, path);
    expect((await logged(server, /The data before stays/)).msg).toMatch(/site\.db-wal.*remove/);
    expect(generationOf((await ask(server, PROFILE)).body)).toBe(5);
    await until('the metric', async () => (await metricsOf(server)).get('vitrine_store_waiting') === 1);
    const ready = await ask(adminOf(server), '/readyz');
    expect([ready.status, JSON.parse(ready.body)]).toEqual([
      200,
      { status: 'ready', warning: expect.stringMatching(/site\.db-wal.*remove/) },
    ]);
    // The log message advised this; the refused file then goes live without further action.
    writing.close();
    for (const suffix of ['-wal', '-shm']) fs.rmSync(`${path}${suffix}`, { force: true });
    await until('the new file', async () => generationOf((await ask(server, PROFILE)).body) === 3);
    for (const address of ADDRESSES)
      expect([address, (await ask(server, address)).body]).toEqual([address, EXPECTED[3]?.get(address)]);
  });

  test('a WAL moved together with the new file is kept, with its commits', async () => {
    const path = served(sources[0]?.fresh as string);
    const server = await startServer({ DATABASE_URL: path });
    expect(generationOf((await ask(server, PROFILE)).body)).toBe(0);
    const staging = served(sources[3]?.fresh as string);
    const writing = new Database(staging);
    writing.pragma('wal_autocheckpoint = 0');
    writing.exec("UPDATE profiles SET record = replace(record, 'generation 3', 'generation 5')");
    const moved = join(tempFolder(), 'moved.db');
    for (const suffix of ['', '-wal']) fs.cpSync(`${staging}${suffix}`, `${moved}${suffix}`);
    writing.close();
    fs.renameSync(`${moved}-wal`, `${path}-wal`);
    fs.renameSync(moved, path);
    await until('the new file', async () => generationOf((await ask(server, PROFILE)).body) === 5);
    const kept = new Database(path, { readonly: true });
    expect(
      kept.prepare("SELECT count(*) FROM profiles WHERE record LIKE '%generation 5%'").pluck().get(),
    ).toBeGreaterThan(0);
    kept.close();
  });

  test('a named pipe is ignored, and the next file is served', async () => {
    const path = served(sources[0]?.snapshot as string);
    const server = await startServer({ DATABASE_URL: path });
    const pipe = join(tempFolder(), 'pipe');
    expect(spawnSync('mkfifo', [pipe]).status).toBe(0);
    fs.renameSync(pipe, path);
    for (let turn = 0; turn < 20; turn++) expect((await ask(server, PROFILE)).status).toBe(200);
    putInPlace(sources[1]?.snapshot as string, path);
    await until('the new file', async () => generationOf((await ask(server, PROFILE)).body) === 1);
    expect(await server.stop()).toBe(0);
  });

  test('a check creates no other files in the folder', async () => {
    const path = served(sources[0]?.snapshot as string);
    const server = await startServer({ DATABASE_URL: path });
    const seen = new Set<string>();
    const watcher = fs.watch(dirname(path), (_event, name) => void seen.add(String(name)));
    putInPlace(sources[1]?.snapshot as string, path);
    await until('the new file', async () => generationOf((await ask(server, PROFILE)).body) === 1);
    watcher.close();
    expect([...seen].filter((name) => !/^site\.db(-wal|-shm|-journal|\.incoming)?$/.test(name))).toEqual([]);
  });

  test('a snapshot is served from a read-only folder', async () => {
    const path = served(sources[2]?.snapshot as string);
    const folder = dirname(path);
    const isRoot = process.getuid?.() === 0;
    const mounted = isRoot && spawnSync('mount', ['--bind', folder, folder]).status === 0;
    if (mounted) expect(spawnSync('mount', ['-o', 'remount,bind,ro', folder]).status).toBe(0);
    else
      for (const [name, mode] of [
        [path, 0o444],
        [folder, 0o555],
      ] as const)
        fs.chmodSync(name, mode);
    try {
      if (mounted || !isRoot) expect(() => fs.writeFileSync(join(folder, 'x'), '')).toThrow(/EROFS|EACCES/);
      const server = await startServer({ DATABASE_URL: path });
      for (const address of ADDRESSES)
        expect([address, (await ask(server, address)).body]).toEqual([address, EXPECTED[2]?.get(address)]);
      expect((await ask(server, '/readyz')).status).toBe(200);
      expect(await server.stop()).toBe(0);
      expect(fs.readdirSync(folder)).toEqual(['site.db']);
      const { code, stderr } = await run(['import', '--database-url', path, '-'], {
        input: '{"totalPost":"0","id":"5","username":"x"}',
      });
      expect([code, stderr]).toEqual([1, expect.stringMatching(/^vitrine: [^\n]*site\.db[^\n]*\n$/)]);
    } finally {
      if (mounted) spawnSync('umount', [folder]);
      else fs.chmodSync(folder, 0o755);
    }
  });

  test('a file damaged in place: unreadable data is 503, and the server keeps running', async () => {
    const path = served(sources[0]?.snapshot as string);
    const server = await startServer({ DATABASE_URL: path });
    const bytes = fs.readFileSync(path);
    const [size, page] = [bytes.length, pageSize(bytes)];
    for (const length of [size - page, Math.floor(size / page / 2) * page, page, 100, 0]) {
      fs.truncateSync(path, length);
      for (const address of ADDRESSES) {
        const reply = await ask(server, address);
        if (reply.status === 200) expect(reply.body).toBe(EXPECTED[0]?.get(address));
        else expect([reply.status, JSON.parse(reply.body).code]).toEqual([503, 'NOT_READY']);
      }
      expect((await ask(server, '/healthz')).status).toBe(200);
    }
    const readiness = (status: number) =>
      until(`readiness ${status}`, async () => (await ask(server, '/readyz')).status === status);
    await readiness(503);
    putInPlace(sources[1]?.snapshot as string, path);
    await until('the good one', async () => generationOf((await ask(server, PROFILE)).body) === 1);
    await readiness(200);
  });
});
