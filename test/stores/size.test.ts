// Costs that must not grow with the data: writes of a small import, reads of a start and of a lookup. A server opens its data
// read-only: that no request changes a byte of it is shown in fuzz.test.ts.
import { constants, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import { nameOf, people } from '../bench/data.ts';
import { databaseOf } from '../support/database.ts';
import { loadedFirst, ndjson, tempFile } from '../support/files.ts';
import { ask } from '../support/http.ts';
import { spawned } from '../support/run.ts';
import { type Server, startServer } from '../support/server.ts';

const MEGABYTE = 2 ** 20;
const USERS = 3000;
const onLinux = test.runIf(process.platform === 'linux');

let source: string;
let database: string;
beforeAll(async () => {
  source = tempFile('people.ndjson', ndjson(...people(USERS, 15)));
  database = await databaseOf(source);
});

/** Makes a process print at exit how much it wrote. */
const TELL = loadedFirst(`import { readFileSync } from 'node:fs';
process.on('exit', () => {
  process.stderr.write(/^wchar: (\\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))[1]);
});`);

test('a database is at most 1.7 times the size of its records', () => {
  expect(statSync(database).size).toBeLessThan(1.7 * statSync(source).size);
});

onLinux('importing a few records does not rewrite the database', async () => {
  const { code, stderr } = await spawned(['import', '--quiet', '--database-url', database, '-'], {
    env: { NODE_OPTIONS: TELL },
    input: ndjson(...people(3, 1)),
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/^\d+$/) });
  expect(statSync(database).size).toBeGreaterThan(16 * MEGABYTE);
  expect(Number(stderr)).toBeLessThan(MEGABYTE);
});

/** Bytes that a process has read so far, its code included. */
const readBy = ({ child: { pid } }: Server) =>
  Number(/^rchar: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);

/** A descriptor may be closed meanwhile. */
function linkTarget(link: string): string | undefined {
  try {
    return readlinkSync(link);
  } catch {
    return undefined;
  }
}

/** The flags with which a process has opened a file, if it has. */
function flagsOf({ child: { pid } }: Server, path: string): number | undefined {
  const fd = readdirSync(`/proc/${pid}/fd`).find((each) => linkTarget(`/proc/${pid}/fd/${each}`) === path);
  const [, flags] = /^flags:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'utf8')) ?? [];
  return flags === undefined ? undefined : Number.parseInt(flags, 8);
}

onLinux(
  'a start reads no more of a large database than of a small one, and a lookup a few small pages',
  async () => {
    const small = await startServer({ DATABASE_URL: await databaseOf(...people(2, 2)) });
    const server = await startServer({ DATABASE_URL: database });
    const look = async (from: number, count: number) => {
      for (let nth = 0; nth < count; nth++) {
        const user = nameOf(1 + (((from + nth) * 7919) % USERS));
        expect((await ask(server, `/a/api/?user=${user}&post=true`)).status).toBe(200);
      }
    };
    expect((await ask(small, '/a/api/?user=user1')).status).toBe(200);
    await look(0, 1);
    expect(readBy(server) - readBy(small)).toBeLessThan(MEGABYTE);
    // SQLite opens the WAL and its index read-write even for readers, which record their read marks there.
    expect((flagsOf(server, database) ?? 0o3) & 0o3).toBe(constants.O_RDONLY);
    const LOOKUPS = 300;
    await look(0, LOOKUPS);
    const before = readBy(server);
    await look(LOOKUPS, LOOKUPS);
    expect((readBy(server) - before) / LOOKUPS).toBeLessThan(32 * 1024);
  },
);
