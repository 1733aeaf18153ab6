// `vitrine restore` and `vitrine snapshot --keep` under load, killed, and on a full disk: the old data or the new, never a mixture.
import { once } from 'node:events';
import { copyFileSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate as immediate } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { checkDatabase, snapshotDatabase } from '../../src/stores/open.ts';
import { people } from '../bench/data.ts';
import { copyOf } from '../files.ts';
import { ADDRESSES, EXPECTED, GENERATIONS, sources } from '../generation-files.ts';
import { exported } from '../importing.ts';
import { ask, databaseOf, spawned, startServer, vitrine } from '../rig.ts';
import { canMount, onDisk } from '../small-disk.ts';
import { generationOf, startLoad } from '../stress.ts';

const RESTORES = 12;
const KILLS = 12;

const snapshotOf = (number: number) => sources[number % GENERATIONS]?.snapshot as string;

test(`${RESTORES} restores under load: no failed or mixed answer, and the next one is of the new data`, async () => {
  const path = copyOf(snapshotOf(0));
  const server = await startServer({ DATABASE_URL: path, WORKERS: '2' });
  const load = startLoad(server, ADDRESSES, (address, { status, body }) => {
    const expected = EXPECTED[generationOf(body) ?? 0]?.get(address);
    return status === 200 && body === expected ? undefined : `${status} ${body}`;
  });
  for (let number = 1; number <= RESTORES; number++) {
    const { code, stderr } = await spawned(['restore', '--database-url', path, snapshotOf(number)]);
    expect([code, stderr]).toEqual([0, '']);
    const { body } = await ask(server, '/b/api/username/user3');
    expect(generationOf(body)).toBe(number % GENERATIONS);
  }
  expect(await load.stop()).toEqual([]);
});

describe('large data', () => {
  let [small, large, largeSnapshot] = ['', '', ''];
  beforeAll(async () => {
    small = await databaseOf(...people(20, 15));
    large = await databaseOf(...people(1000, 15));
    largeSnapshot = `${large}.snapshot`;
    await snapshotDatabase(large, largeSnapshot);
  });

  test(`kill -9 at ${KILLS} moments of a restore: all of the old or all of the new data`, async () => {
    const [before, after] = [await exported(small), await exported(large)];
    const path = copyOf(small);
    const server = await startServer({ DATABASE_URL: path });
    const args = ['restore', '--database-url', path, largeSnapshot];
    const whole = statSync(largeSnapshot).size;
    // The copy grows beside the database, then the database's log does.
    const sizeOf = (ending: RegExp) =>
      readdirSync(dirname(path))
        .filter((name) => ending.test(name))
        .reduce(
          (sum, name) => sum + (statSync(join(dirname(path), name), { throwIfNoEntry: false })?.size ?? 0),
          0,
        );
    const outcomes = { old: 0, new: 0 };
    for (let kill = 0; kill < KILLS; kill++) {
      expect((await spawned(['restore', '--database-url', path, small])).code).toBe(0);
      const left = sizeOf(/\.unfinished$/);
      const child = vitrine(args);
      const ended = once(child, 'close');
      const grown = () => (kill % 2 === 0 ? sizeOf(/\.unfinished$/) - left : sizeOf(/^site\.db-wal$/));
      while (child.exitCode === null && grown() < whole * (kill / KILLS)) await immediate();
      child.kill('SIGKILL');
      await ended;
      const found = await exported(path);
      const outcome = found.length === before.length ? 'old' : 'new';
      outcomes[outcome]++;
      expect(found).toEqual(outcome === 'old' ? before : after);
      expect((await ask(server, '/a/api/?user=user900')).status).toBe(outcome === 'old' ? 404 : 200);
    }
    expect((await checkDatabase(path)).faults).toEqual([]);
    expect(outcomes.old).toBeGreaterThan(KILLS / 5);
  });

  test.skipIf(!canMount).each([0.1, 0.7, 1.2, 1.8, 2.5, 4])(
    'on a disk with room for %d of it',
    async (share) => {
      const kib = Math.ceil((statSync(small).size + 65_536 + share * statSync(largeSnapshot).size) / 1024);
      await onDisk(kib, async (folder) => {
        const path = join(folder, 'site.db');
        copyFileSync(small, path);
        const before = await exported(path);
        const server = await startServer({ DATABASE_URL: path });
        const { code, stderr } = await spawned(['restore', '--database-url', path, largeSnapshot]);
        const user = await ask(server, '/a/api/?user=user900');
        if (share >= 4) expect(code).toBe(0);
        if (code === 0) expect([user.status, await exported(path)]).toEqual([200, await exported(large)]);
        else {
          expect([code, stderr]).toEqual([
            1,
            `vitrine: The disk is full: nothing of this was written to ${path}.\n`,
          ]);
          expect([user.status, await exported(path)]).toEqual([404, before]);
          // What it has written is gone again.
          expect(readdirSync(folder).filter((name) => !/^site\.db(-wal|-shm)?$/.test(name))).toEqual([]);
        }
        const keeping = ['snapshot', '--database-url', largeSnapshot, '--keep', '1', folder];
        const kept = await spawned(keeping);
        if (kept.code !== 0) expect(kept.stderr).toMatch(/^vitrine: The disk is full[^\n]*\n$/);
        expect(await server.stop()).toBe(0);
      });
    },
  );
});
