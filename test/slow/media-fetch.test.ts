// A fetch of pictures that is killed at any moment is resumed.
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mediaPath } from '../../src/records/media-types.ts';
import { copyOf } from '../files.ts';
import { readMedia } from '../importing.ts';
import { copiesIn } from '../media-folder.ts';
import { startSite } from '../mirror-site.ts';
import { png, sha256 } from '../pictures.ts';
import { folio, shot } from '../records.ts';
import { databaseOf, done, vitrine } from '../rig.ts';
import { until } from '../stress.ts';

/** Their moments are spread over a fetch. */
const KILLS = 5;
const HOSTS = 4;
const USERS = 50;
const SHOTS = 7;
const PICTURE_BYTES = 30_000;

/** Hosts with a picture at every address; every tenth address leads to the same one. */
async function startHosts() {
  const times: number[] = [];
  const sites = await Promise.all(
    Array.from({ length: HOSTS }, () =>
      startSite(({ url = '' }, response) => {
        times.push(performance.now());
        const number = Number(url.slice(1));
        response.end(png((number % 10 === 0 ? 'shared' : url).padEnd(PICTURE_BYTES, '.')));
      }),
    ),
  );
  const urlOf = (number: number) => `${sites[number % HOSTS]?.url}/${number}`;
  const records = Array.from({ length: USERS }, (_, user) => [
    folio(user + 1, `user${user + 1}`, { avatar: urlOf(user) }),
    ...Array.from({ length: SHOTS }, (_, nth) => {
      const number = USERS + user * SHOTS + nth;
      return shot(number, user + 1, { image: urlOf(number) });
    }),
  ]).flat();
  const hosts = sites.map(({ url }) => new URL(url).host);
  return { times, hosts, database: await databaseOf(...records) };
}

const fetchArgs = (database: string, hosts: readonly string[]) =>
  ['media', 'fetch', '--database-url', database, '--rate', '10000', '--media-hosts'].concat(hosts);

/** Every row with a copy has a whole file. */
async function expectSound(database: string): Promise<number> {
  const copies = (await readMedia(database)).entries.filter(({ file }) => file !== null);
  for (const { file, bytes } of copies) {
    const path = join(`${database}.media`, mediaPath(file as string));
    expect(statSync(path).size).toBe(bytes);
    expect(file).toBe(`${sha256(readFileSync(path))}.png`);
  }
  return copies.length;
}

/** What a fetch leaves. */
const readState = async (database: string) => ({
  entries: (await readMedia(database)).entries,
  files: copiesIn(`${database}.media`),
  served: await done(['export', '--media-urls', '--database-url', database]),
});

test(`kill -9 at ${KILLS} moments of a fetch: it is resumed, and ends as if undisturbed`, async () => {
  const { times, hosts, database: source } = await startHosts();
  const undisturbed = copyOf(source);
  await done(fetchArgs(undisturbed, hosts));
  const requests = times.length;
  const expected = await readState(undisturbed);
  expect(await expectSound(undisturbed)).toBe(USERS * (1 + SHOTS));

  let database = copyOf(source);
  let partlySaved = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    const before = times.length;
    const child = vitrine(fetchArgs(database, hosts));
    const ended = once(child, 'close');
    // By how far it has come, not by the clock.
    const part = (requests * (kill + 1)) / (KILLS + 1);
    await until('a part of it', () => child.exitCode !== null || times.length - before > part, 60);
    child.kill('SIGKILL');
    await ended;
    const saved = await expectSound(database);
    if (child.signalCode !== null && saved > 0) partlySaved++;
    if (child.signalCode !== null && kill < KILLS - 1) continue;
    await done(fetchArgs(database, hosts));
    expect(await readState(database)).toEqual(expected);
    database = copyOf(source);
  }
  expect(partlySaved).toBeGreaterThan(KILLS / 5);
}, 600_000);
