// A comparison of 2,000 users finds every difference and no other one, in a small heap.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { UserComparison } from '../../src/compare/verdicts.ts';
import { readLines, tempFile, tempFolder } from '../files.ts';
import { type Answer, startSite } from '../mirror-site.ts';
import { folio, shot } from '../records.ts';
import { spawned } from '../rig.ts';

const USERS = 2000;
/** Every 100th user differs: 20 of them. */
const EVERY = 100;
const LIMIT = 400_000;

/** Users with three shots and a picture that all share; the new site spells its answers otherwise. */
function siteOf(at: 'old' | 'new'): Answer {
  return ({ url = '', headers }, response) => {
    if (url === '/shared.png') return void response.end('a picture');
    const [, id = '', items] = /^\/api\/username\/user(\d+)(\/shots)?$/.exec(url) ?? [];
    const bio = at === 'new' && Number(id) % EVERY === 0 ? 'Something else' : `About ${id}`;
    const profile = folio(id, `user${id}`, { bio, avatar: `http://${headers.host}/shared.png` });
    const Shots = [3, 2, 1].map((day) => shot(`${id}${day}`, id, { date: `2024-01-0${day} 00:00:00` }));
    response.end(JSON.stringify(items === undefined ? profile : { Shots }, null, at === 'old' ? 0 : 2));
  };
}

async function twoSites() {
  const sites = { old: await startSite(siteOf('old')), new: await startSite(siteOf('new')) };
  const report = join(tempFolder(), 'report.ndjson');
  const command = (users: number) => {
    const file = tempFile('users.txt', Array.from({ length: users }, (_, i) => `user${i + 1}\n`).join(''));
    const pace = ['--rate', '10000'];
    const flags = ['--variant', 'b', '--users', file, '--report', report, ...pace, '--json'];
    return ['compare', sites.old.url, sites.new.url, ...flags];
  };
  const users = () =>
    readLines(report)
      .slice(1)
      .map((line) => JSON.parse(line) as UserComparison);
  return { sites, command, users };
}

const numberOf = ({ user }: UserComparison) => Number(user.slice('user'.length));
const foundAmong = (users: readonly UserComparison[]) =>
  users
    .filter(({ profile }) => profile.class === 'different')
    .map(numberOf)
    .sort((a, b) => a - b);
const plantedAmong = (users: number) =>
  Array.from({ length: users / EVERY }, (_, index) => (index + 1) * EVERY);

test(
  `20 differences among ${USERS} users are found, without a false alarm, in a heap of 32 MB`,
  async () => {
    const { command, users } = await twoSites();
    const { code, stdout } = await spawned(command(USERS), {
      env: { NODE_OPTIONS: '--max-old-space-size=32' },
    });
    const { result, errors } = JSON.parse(stdout);
    expect([code, errors]).toEqual([1, [`20 of ${USERS} users are different`]]);
    expect(result).toMatchObject({ failed: 0 });
    expect(users()).toHaveLength(USERS);
    expect(foundAmong(users())).toEqual(plantedAmong(USERS));
  },
  LIMIT,
);
