// Takedowns hold: through imports, mirrors and swaps under load, against files that lack them, and beside long readers.
import { readdirSync, readFileSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { openArchive } from '../../src/stores/open.ts';
import { importInto } from '../support/database.ts';
import { ndjson, tempFile, tempFolder } from '../support/files.ts';
import { newPath } from '../support/importing.ts';
import { mirrorArgs, portfolio, startSite } from '../support/mirror-site.ts';
import { folio, shot } from '../support/records.ts';
import { done, run } from '../support/run.ts';
import { type Server, startServer } from '../support/server.ts';
import { logged, startLoad } from '../support/stress.ts';

const USERS = 300;
const TAKEN_DOWN = 250;
const ROUNDS = 3;
const GONE = /whowasthis/;
const numbers = Array.from({ length: USERS }, (_, index) => index + 1);
const isGone = (number: number) => number % 6 !== 0;
const nameOf = (number: number) => (isGone(number) ? `WhoWasThis${number}` : `user${number}`);
const gone = numbers.filter(isGone).map(nameOf);

/** All users with a shot each; in odd rounds those who were taken down come under other names, with the same ids. */
const world = (round: number) =>
  numbers.flatMap((number) => [
    folio(number, isGone(number) && round % 2 === 1 ? `whowasthisagain${number}` : nameOf(number), {
      bio: `round ${round} of ${nameOf(number)}`,
    }),
    shot(number * 10, number, { title: `${round} ${nameOf(number)}` }),
  ]);

/** Which of the files hold a name that was taken down. */
const filesWithNames = (folder: string) =>
  readdirSync(folder).filter((name) => GONE.test(contentOf(join(folder, name)).toLowerCase()));

/** The server may remove a file of its own at any time. */
function contentOf(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

const remaining = async (url: string) => {
  const reader = await openArchive(url);
  let found = 0;
  for await (const record of reader.records()) if (GONE.test(record.toLowerCase())) found++;
  await reader.close();
  return found;
};

const takedown = (url: string, ...args: string[]) => done(['takedown', '--database-url', url, ...args]);

function loadOn(server: Server) {
  const addresses = numbers.slice(0, 200).map((number) => `/b/api/username/${nameOf(number)}`);
  return startLoad(
    server,
    addresses,
    (address, { status, body }) => {
      const expected = GONE.test(address.toLowerCase()) ? 410 : 200;
      return status === expected ? undefined : `${status} ${body}`;
    },
    2,
  );
}

test(`${TAKEN_DOWN} takedowns, then ${ROUNDS} imports, mirrors and swaps under load: nobody comes back`, async () => {
  const folder = tempFolder();
  const live = join(folder, 'site.db');
  await importInto(live, ['-'], ndjson(...world(0)));
  expect([gone.length, filesWithNames(folder)]).toEqual([TAKEN_DOWN, ['site.db']]);
  await takedown(live, '--family', 'portfolio', ...gone);
  expect(filesWithNames(folder)).toEqual([]);
  const server = await startServer({ DATABASE_URL: live, TAKEDOWN_STATUS: '410' });
  const load = loadOn(server);
  const mirrored = numbers.slice(0, 30).map(nameOf);
  const people = Object.fromEntries(
    numbers.slice(0, 30).map((number) => [nameOf(number), { profile: folio(number, nameOf(number)) }]),
  );
  const site = await startSite(portfolio(people));
  const state = join(folder, 'mirror');
  for (let round = 1; round <= ROUNDS; round++) {
    const input = tempFile('world.ndjson', ndjson(...world(round)));
    await importInto(live, [input], '', { replace: round % 3 === 0 });
    const flags = ['--adopt', '--state', state, '--user', ...mirrored];
    expect(await done(mirrorArgs(live, 'b', site.url, ...flags))).toMatch(/25 taken down here/);
    const staging = newPath();
    await importInto(staging, [input]);
    await takedown(staging, '--from', live);
    if (round % 2 === 1) await importInto(staging, [input]);
    await done(['snapshot', '--database-url', staging, join(folder, 'new.db')]);
    expect(filesWithNames(dirname(staging))).toEqual([]);
    const from = server.log.length;
    renameSync(join(folder, 'new.db'), live);
    await logged(server, /another file took the place/, from);
    expect([round, await remaining(live), filesWithNames(folder)]).toEqual([round, 0, []]);
  }
  expect(await load.stop()).toEqual([]);
  expect(load.answered()).toBeGreaterThan(100);
  await takedown(live, '--undo', '--family', 'portfolio', nameOf(2));
  await importInto(live, ['-'], ndjson(...world(2)));
  expect(await remaining(live)).toBe(2);
  expect(await server.stop()).toBe(0);
}, 400_000);

test('a takedown says that a reader keeps deleted data, and the next one erases it', async () => {
  const path = newPath();
  await importInto(path, ['-'], ndjson(...world(0).slice(0, 24)));
  const reading = new Database(path, { readonly: true });
  reading.exec('BEGIN');
  reading.prepare('SELECT count(*) FROM items').get();
  const args = ['takedown', '--database-url', path, '--family', 'portfolio', ...gone.slice(0, 10)];
  const { code, stdout, stderr } = await run(args);
  expect({ code, stdout, stderr }).toEqual({
    code: 1,
    stdout: expect.stringMatching(/^took down .*\nremoved \d+ users/s),
    stderr: expect.stringContaining(
      `vitrine: the takedown is done, but ${path} still holds deleted data in unused space: another process, such as an export, is reading it, or the disk is full. Run the command again when that has changed.\n`,
    ),
  });
  expect(await remaining(path)).toBe(0);
  reading.exec('COMMIT');
  reading.close();
  await done(args);
  expect(filesWithNames(dirname(path))).toEqual([]);
});
