// Imports that are killed: whatever was committed, subscribers are told of it in the end.
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { setTimeout as delay, setImmediate as immediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ndjson, tempFile } from '../files.ts';
import { startSite } from '../mirror-site.ts';
import { blog, post } from '../records.ts';
import { databaseOf, done, vitrine } from '../rig.ts';

/** What an import does when it is killed, or a moment later. */
const MOMENTS = ['writes', 'calls', 'is answered'] as const;
const KILLS = 9;
const USERS = 500;

const fileOf = (round: number) =>
  tempFile(
    'users.ndjson',
    ndjson(
      ...Array.from({ length: USERS }, (_, index) => blog(index + 1, `user${index + 1}`)),
      post(round, round, { post_details: `round ${round}` }),
    ),
  );

test(`kill -9 at ${KILLS} moments of an import loses no change`, async () => {
  const told = new Set<string>();
  let seen: string | undefined;
  const hook = await startSite(async (request, response) => {
    const { changes } = JSON.parse((await Array.fromAsync(request)).join(''));
    for (const { user } of Array.isArray(changes) ? changes : []) told.add(user);
    seen = 'calls';
    await immediate();
    response.end(() => {
      seen = 'is answered';
    });
  });
  const url = await databaseOf(fileOf(KILLS + 1));
  const env = { DATABASE_URL: url, NOTIFY: hook.url };
  await done(['import', fileOf(KILLS + 1)], { env });
  let killed = 0;
  for (let round = 1; round <= KILLS; round++) {
    const file = fileOf(round);
    const moment = MOMENTS[round % MOMENTS.length];
    seen = undefined;
    const child = vitrine(['import', file], env);
    const closed = once(child, 'close');
    while (child.exitCode === null && seen !== moment) {
      if ((statSync(`${url}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0) seen ??= 'writes';
      await delay(1);
    }
    await delay(round % 4);
    child.kill('SIGKILL');
    if ((await closed)[1] === 'SIGKILL') killed++;
    await done(['import', file], { env });
    expect([round, [...told]]).toEqual([round, expect.arrayContaining([`user${round}`])]);
  }
  expect(killed).toBeGreaterThan(KILLS / 3);
  told.clear();
  await done(['import', fileOf(1)], { env });
  expect([...told]).toEqual([]);
}, 180_000);
