// Costs that must not grow with the data: memory of an import, writes of a small import, reads of a lookup.
import { readFileSync, statSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import { nameOf, people } from './bench/data.ts';
import { newPath } from './importing.ts';
import { blog, post } from './records.ts';
import { ask, databaseOf, importInto, ndjson, spawned, startServer, tempFile } from './rig.ts';

const MEGABYTE = 2 ** 20;
const USERS = 3000;
const onLinux = test.runIf(process.platform === 'linux');

let source: string;
let database: string;
beforeAll(async () => {
  source = tempFile('people.ndjson', ndjson(...people(USERS, 15)));
  database = await databaseOf(source);
}, 60_000);

/** Makes a process print at exit what it wrote and the most memory it had. */
const TELL = tempFile(
  'tell.mjs',
  `import { readFileSync } from 'node:fs';
process.on('exit', () => {
  const read = (file, pattern) => Number(pattern.exec(readFileSync('/proc/self/' + file, 'utf8'))[1]);
  const written = read('io', /^wchar: (\\d+)/m);
  // Not resourceUsage().maxRSS: it starts at the peak of the process that spawned this one.
  const peak = read('status', /^VmHWM:\\s+(\\d+)/m) * 1024;
  process.stderr.write(JSON.stringify({ written, peak }));
});`,
);

async function importing(path: string, input: string): Promise<{ written: number; peak: number }> {
  const { code, stderr } = await spawned(['import', '--quiet', '--database-url', path, '-'], {
    env: { NODE_OPTIONS: `--import=${TELL}` },
    input,
  });
  expect([code, stderr]).toEqual([0, expect.stringMatching(/^\{[^\n]+\}$/)]);
  return JSON.parse(stderr);
}

test('a database is at most 2.8 times the size of its records: lists, packed lists and items', () => {
  expect(statSync(database).size).toBeLessThan(2.8 * statSync(source).size);
});

onLinux('importing a few records does not rewrite the database', async () => {
  const { written } = await importing(database, ndjson(...people(3, 1)));
  expect(statSync(database).size).toBeGreaterThan(16 * MEGABYTE);
  expect(written).toBeLessThan(MEGABYTE);
});

onLinux('importing large items into a list keeps few of them in memory', async () => {
  const path = newPath();
  await importInto(path, ['-'], ndjson(blog(1, 'one'), post(1, 1)));
  const large = { date: '2024-02-01 00:00:00', post_details: 'x'.repeat(60_000) };
  const { peak } = await importing(
    path,
    ndjson(...Array.from({ length: 2500 }, (_, nth) => post(nth + 2, 1, large))),
  );
  expect(peak).toBeLessThan(200 * MEGABYTE);
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
  await server.stop();
});
