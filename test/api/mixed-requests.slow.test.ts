// Mixed reading, also of the largest users there may be: the memory of a server does not depend on how much it has answered.
// `npm run torture -- --long mixed` makes 220,000 requests in 128 MB.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { databaseOf } from '../support/database.ts';
import { mixedAddresses, mixedUsers } from '../support/mixed-requests.ts';
import { startServer } from '../support/server.ts';
import { startLoad, until } from '../support/stress.ts';

/** The most memory, in MB, during 1,000 requests and during 4,000 that follow later. */
async function measurePeaks() {
  const env = { DIRECTORY: 'on', MAX_LOOP_DELAY: '0', NODE_OPTIONS: '--max-old-space-size=64' };
  const server = await startServer({ ...env, DATABASE_URL: await databaseOf(...mixedUsers) });
  const memory = () =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.child.pid}/status`, 'utf8'))?.[1]) / 1024;
  const load = startLoad(server, mixedAddresses, (_, { status }) =>
    status >= 500 ? `was answered with ${status}` : undefined,
  );
  const peaks: number[] = [];
  // The first ones fill the heap and compile.
  for (const requests of [1500, 1000, 2000, 4000]) {
    const end = load.answered() + requests;
    let most = 0;
    const isOver = () => {
      most = Math.max(most, memory());
      return load.answered() >= end;
    };
    await until(`${requests} answers`, isOver, 200);
    peaks.push(most);
  }
  expect(await load.stop()).toEqual([]);
  expect(await server.stop()).toBe(0);
  const [, one = 0, , four = 0] = peaks;
  return { one, four };
}

test.runIf(process.platform === 'linux')(
  'memory is flat over mixed requests',
  { timeout: 1_800_000 },
  async () => {
    const isFlat = ({ one, four }: { one: number; four: number }) => four < 1.25 * one;
    let peaks = await measurePeaks();
    // Once more if it looks bad: when garbage is collected depends on the machine.
    if (!isFlat(peaks)) peaks = await measurePeaks();
    expect(peaks).toSatisfy(isFlat);
  },
);
