// Costs that must not grow with the data: writes of a small import, reads of a lookup.
import { readFileSync, statSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import { nameOf, people } from './bench/data.ts';
import { loadedFirst, ndjson, tempFile } from './files.ts';
import { ask, databaseOf, spawned, startServer } from './rig.ts';

const MEGABYTE = 2 ** 20;
const USERS = 3000;
const onLinux = test.runIf(process.platform === 'linux');

let source: string;
let database: string;
beforeAll(async () => {
  source = tempFile('people.ndjson', ndjson(...people(USERS, 15)));
  database = await databaseOf(source);
}, 60_000);

/** Makes a process print at exit how much it wrote. */
const TELL = loadedFirst(`import { readFileSync } from 'node:fs';
process.on('exit', () => {
  process.stderr.write(/^wchar: (\\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))[1]);
});`);

test('a database is at most 1.7 times the size of its records: items and compressed lists', () => {
  expect(statSync(database).size).toBeLessThan(1.7 * statSync(source).size);
});

onLinux('importing a few records does not rewrite the database', async () => {
  const { code, stderr } = await spawned(['import', '--quiet', '--database-url', database, '-'], {
    env: { NODE_OPTIONS: TELL },
    input: ndjson(...people(3, 1)),
  });
  expect([code, stderr]).toEqual([0, expect.stringMatching(/^\d+$/)]);
  expect(statSync(database).size).toBeGreaterThan(16 * MEGABYTE);
  expect(Number(stderr)).toBeLessThan(MEGABYTE);
});

onLinux('a lookup reads a few small pages', async () => {
  const server = await startServer({ DATABASE_URL: database });
  const read = () => Number(/^rchar: (\d+)/m.exec(readFileSync(`/proc/${server.child.pid}/io`, 'utf8'))?.[1]);
  const look = async (from: number, count: number) => {
    for (let nth = 0; nth < count; nth++) {
      const user = nameOf(1 + (((from + nth) * 7919) % USERS));
      expect((await ask(server, `/a/api/?user=${user}&post=true`)).status).toBe(200);
    }
  };
  const LOOKUPS = 300;
  await look(0, LOOKUPS);
  const before = read();
  await look(LOOKUPS, LOOKUPS);
  expect((read() - before) / LOOKUPS).toBeLessThan(32 * 1024);
});
