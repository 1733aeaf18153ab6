// After a takedown among 6,000 users no byte of those who were taken down is in any file, whatever has written the database before.
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { beforeAll, expect, test } from 'vitest';
import { importInto } from '../../support/database.ts';
import { ndjson, tempFolder } from '../../support/files.ts';
import { mirrorHere, portfolio, startSite } from '../../support/mirror-site.ts';
import { done, vitrine } from '../../support/run.ts';
import { countTraces, createRandom, namesOf, people } from './traces.ts';

const USERS = 6000;
const GONE = Array.from({ length: USERS }, (_, n) => n + 1).filter((id) => id % 100 === 7);
const random = createRandom(1);

const records = (round: number) => ndjson(...people(USERS, round, random));

/** Has seen a first import and two nights. */
let base: string;

beforeAll(async () => {
  base = join(tempFolder(), 'base.db');
  for (const round of [0, 1, 2]) await importInto(base, ['-'], records(round));
  expect(countTraces(base, GONE)).toBeGreaterThan(0);
});

/** A database in a folder of its own. SQLite has its temporary files there, too. */
function createSite() {
  const folder = tempFolder();
  const database = join(folder, 'site.db');
  copyFileSync(base, database);
  const gone = join(folder, 'gone.txt');
  const temporary = join(folder, 'tmp');
  mkdirSync(temporary);
  const start = (...args: string[]) =>
    vitrine([...args, '--database-url', database], { SQLITE_TMPDIR: temporary, TMPDIR: temporary });
  const execute = (...args: string[]) => done([...args, '--database-url', database]);
  return {
    folder,
    database,
    execute,
    /** Runs a command in a process of its own, and kills it after so many milliseconds at most. */
    async kill(most: number, ...args: string[]): Promise<void> {
      const child = start(...args);
      const ended = once(child, 'close');
      await Promise.race([delay(300 + Math.random() * most), ended]);
      child.kill('SIGKILL');
      await ended;
    },
    takedown() {
      writeFileSync(gone, GONE.flatMap(namesOf).join('\n'));
      return ['takedown', '--quiet', '--family', 'portfolio', '--users', gone];
    },
    findTraces: () =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .map((name) => join(folder, name))
        .filter((path) => path !== gone && statSync(path).isFile())
        .filter((path) => countTraces(path, GONE) > 0),
  };
}

type Site = ReturnType<typeof createSite>;

const writers: Record<string, (site: Site) => Promise<unknown>> = {
  imports: async () => {},
  'imports that were killed': async ({ folder, kill }) => {
    const night = join(folder, '..', 'night.ndjson');
    for (let round = 3; round < 9; round++) {
      writeFileSync(night, records(round));
      await kill(2500, 'import', '--quiet', night);
    }
  },
  'a repair': async ({ database, execute }) => {
    const db = new Database(database);
    db.exec(
      "UPDATE lists SET etag = '\"none\"' WHERE owner % 3 = 0; UPDATE items SET record = record || ' ' WHERE id % 7 = 0",
    );
    db.close();
    await execute('check', '--repair');
  },
  'a restore': async ({ folder, database, execute }) => {
    const copy = join(folder, '..', 'copy.db');
    await execute('snapshot', copy);
    await importInto(database, ['-'], records(3));
    await execute('restore', copy);
  },
  'a compacted file': ({ execute }) => execute('migrate', '--compact'),
  'a snapshot in its place': async ({ folder, database, execute }) => {
    const copy = join(folder, '..', 'copy.db');
    await execute('snapshot', copy);
    copyFileSync(copy, database);
  },
  'a mirror': async ({ database }) => {
    const found = [...people(USERS, 3, random)];
    const profiles = found.filter((record) => 'username' in record);
    const shotsOf = Map.groupBy(found, (record) => ('username' in record ? '' : String(record.user_id)));
    const table = profiles.map((profile) => {
      const Shots = shotsOf.get(String(profile.id)) ?? [];
      return [String(profile.username), { profile, shots: { Shots } }];
    });
    const site = await startSite(portfolio(Object.fromEntries(table)));
    await mirrorHere(
      database,
      site.url,
      table.map(([name]) => name as string),
    );
  },
};

test.each(Object.entries(writers))('%s', async (_, write) => {
  const site = createSite();
  await write(site);
  await site.execute(...site.takedown());
  expect(site.findTraces()).toEqual([]);
  expect(await site.execute('check')).toContain('is sound');
});

test('a takedown that was killed and ran again', async () => {
  const site = createSite();
  for (let run = 0; run < 6; run++) await site.kill(1500, ...site.takedown());
  await site.execute(...site.takedown());
  expect(site.findTraces()).toEqual([]);
});

test('a restore of a snapshot from before the takedown', async () => {
  const site = createSite();
  const copy = join(tempFolder(), 'copy.db');
  await site.execute('snapshot', copy);
  await site.execute(...site.takedown());
  await site.execute('restore', copy);
  expect(site.findTraces()).toEqual([]);
});
