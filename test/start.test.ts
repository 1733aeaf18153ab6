// Server start: the time does not depend on the size of the data, and truncated files are refused.
import { readFileSync, statSync, truncateSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { people } from './bench/data.ts';
import { copyOf } from './files.ts';
import { ask, databaseOf, run, startServer } from './rig.ts';

const MEGABYTE = 2 ** 20;

let small: string;
let large: string;
beforeAll(async () => {
  small = await databaseOf(...people(2, 2));
  large = await databaseOf(...people(700, 15));
});

test.runIf(process.platform === 'linux')(
  'reads no more of a large database than of a small one',
  async () => {
    const [little, much] = [await bytesReadBy(small), await bytesReadBy(large)];
    expect(statSync(large).size).toBeGreaterThan(4 * MEGABYTE);
    expect(much - little).toBeLessThan(MEGABYTE);

    /** Bytes read by the whole process, including its code, until its first response. */
    async function bytesReadBy(path: string): Promise<number> {
      const server = await startServer({ DATABASE_URL: path });
      expect((await ask(server, '/a/api/?user=user1')).status).toBe(200);
      const figures = readFileSync(`/proc/${server.child.pid}/io`, 'utf8');
      await server.stop();
      return Number(/^rchar: (\d+)/m.exec(figures)?.[1]);
    }
  },
);

describe('a large database', () => {
  test.each([
    ['cut to half', (size: number) => Math.floor(size / 2 / 8192) * 8192],
    ['cut within a page', (size: number) => size - 100],
  ])('%s is refused with one message', async (_, left) => {
    const path = copyOf(large);
    truncateSync(path, left(statSync(path).size));
    const { code, stderr } = await run(['serve'], { env: { DATABASE_URL: path, PORT: '0' } });
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^vitrine: [^\n]*site\.db is damaged[^\n]+\n$/),
    ]);
  });
});
