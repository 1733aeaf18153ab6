import * as fs from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, test } from 'vitest';
import { copyOf } from '../files.ts';
import { ADDRESSES, EXPECTED, GENERATIONS, PROFILE, putInPlace, sources } from '../generation-files.ts';
import { ask, type Reply, startServer } from '../rig.ts';
import { generationOf, linesOf, startLoad, until } from '../stress.ts';

const SWAPS = 66;

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
});
