// Replacing the database file of a running server: sound files go live, damaged ones are refused, no response mixes two.
import { once } from 'node:events';
import * as fs from 'node:fs';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { beforeAll, describe, expect, test } from 'vitest';
import { copyOf, ndjson, tempFile } from '../files.ts';
import {
  ADDRESSES,
  EXPECTED,
  GENERATIONS,
  PROFILE,
  pageSize,
  putInPlace,
  sources,
} from '../generation-files.ts';
import { ask, type Reply, type Server, startServer } from '../rig.ts';
import { bodiesOf, generation, generationOf, linesOf, logged, startLoad, until } from '../stress.ts';

const SWAPS = 66;
const IMPORTS = 40;

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
    const path = copyOf(sources[0]?.fresh as string);
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
    const swaps = linesOf(server).filter(({ msg }) => /took the place/.test(msg));
    expect(swaps.length).toBeGreaterThanOrEqual(Math.floor(SWAPS / 11) - 1);
    expect(linesOf(server).filter(({ level }) => level > 40)).toEqual([]);
    // Only SQLite's own files remain beside the database, once the last check has ended.
    const ours = /^site\.db(-wal|-shm)?$/;
    await until('the end of checks', () => fs.readdirSync(dirname(path)).every((name) => ours.test(name)));
  });

  test(`${IMPORTS} imports, each visible in the next response and never undone`, async () => {
    const path = copyOf(sources[0]?.fresh as string);
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
    expect(linesOf(server).filter(({ msg }) => /took the place/.test(msg))).toEqual([]);
  });
});

describe('a replacement is refused and the old data kept when it is', () => {
  /** The file after one change by SQL. */
  function altered(sql: string): string {
    const path = copyOf(sources[1]?.snapshot as string);
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
  const MISFITS: [what: string, make: () => string, said: RegExp][] = [
    ['empty', () => tempFile('empty', ''), /is empty/],
    ['never imported into', () => altered('UPDATE vitrine SET generation = 0'), /was never imported into/],
    ['text', () => tempFile('text', 'no database at all\n'.repeat(1000)), /not a SQLite database/],
    ['truncated within a page', () => damaged((bytes) => bytes.subarray(0, bytes.length - 100)), /damaged/],
    ['with a page of another kind', () => damaged(otherKind), /damaged/],
    ['a database of another program', () => altered('PRAGMA application_id = 7'), /another program/],
    ['of a newer schema', () => altered('PRAGMA user_version = 99'), /newer version/],
    ['of an older schema', () => altered('PRAGMA user_version = 0'), /older schema/],
    ['without a table', () => altered('DROP TABLE lists'), /./],
  ];

  let path: string;
  let server: Server;
  let shown = 0;
  beforeAll(async () => {
    path = copyOf(sources[0]?.fresh as string);
    server = await startServer({ DATABASE_URL: path, ADMIN_PORT: '0' });
  });
  const refusals = () => linesOf(server).filter(({ msg }) => /The data before stays/.test(msg)).length;

  test.each(MISFITS)('%s', async (_, make, said) => {
    const before = refusals();
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
    expect(refusals()).toBe(before + 1);
  });
});
