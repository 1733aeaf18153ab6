// A comparison of 4,000 users finds every difference and no other one, in a small heap; one that is killed is resumed.
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { UserComparison } from '../../src/compare/verdicts.ts';
import { type Answer, startSite } from '../mirror-site.ts';
import { folio, shot } from '../records.ts';
import { readLines, run, spawned, tempFile, tempFolder, vitrine } from '../rig.ts';
import { until } from '../stress.ts';

const USERS = 4000;
/** Every 200th user differs: 20 of them. */
const EVERY = 200;
const LIMIT = 400_000;

type Body = Record<string, unknown>;
interface Person {
  profile: Body | undefined;
  shots: Body[];
  collection: string;
}

/** The user of a number; `site` is where the picture is. */
function person(number: number, site: string): Person {
  const id = String(number);
  const profile = folio(id, `user${number}`, { bio: `About ${number}`, avatar: `${site}/shared.png` });
  const shots = [3, 2, 1].map((day) =>
    shot(number * 10 + day, id, { title: `Shot ${day}`, date: `2024-01-0${day} 00:00:00` }),
  );
  return { profile, shots, collection: 'Shots' };
}

/** Ways to differ, of the old or the new site. */
const PLANTS: { at: 'old' | 'new'; plant: (person: Person) => void }[] = [
  { at: 'new', plant: ({ profile }) => Object.assign(profile as Body, { bio: 'Something else' }) },
  { at: 'new', plant: ({ profile }) => Object.assign(profile as Body, { avatar: '' }) },
  { at: 'new', plant: ({ profile }) => Object.assign(profile as Body, { Likes: '1' }) },
  { at: 'old', plant: (person) => Object.assign(person, { profile: undefined }) },
  { at: 'new', plant: (person) => Object.assign(person, { profile: undefined }) },
  { at: 'new', plant: ({ shots }) => Object.assign(shots[1] as Body, { title: 'shot 2' }) },
  { at: 'new', plant: ({ shots }) => shots.splice(1, 1) },
  { at: 'old', plant: ({ shots }) => shots.splice(2, 1) },
  { at: 'new', plant: (person) => Object.assign(person, { shots: [] }) },
  { at: 'new', plant: (person) => Object.assign(person, { collection: 'Posts' }) },
];

/** Other spellings of the same, by turns. */
const SPELLINGS: ((body: Body) => string)[] = [
  (body) => JSON.stringify(body),
  (body) => JSON.stringify(body, null, 2),
  (body) => JSON.stringify(Object.fromEntries(Object.entries(body).reverse())),
  (body) =>
    `\ufeff${JSON.stringify(body)
      .replace(/"(id|user_id|totalShots)":"(\d+)"/g, '"$1":$2')
      .slice(0, -1)},}`,
];

function siteOf(at: 'old' | 'new'): Answer {
  return ({ url = '', headers }, response) => {
    const site = `http://${headers.host}`;
    const [, digits, items] = /^\/api\/username\/user(\d+)(\/shots)?$/.exec(url) ?? [];
    if (url === '/shared.png') return void response.end('a picture');
    const number = Number(digits);
    const user = person(number, site);
    const planted = PLANTS[(number / EVERY) % PLANTS.length];
    if (planted?.at === at) planted.plant(user);
    const { profile, shots, collection } = user;
    if (profile === undefined) return void response.writeHead(404).end('{}');
    const spell = SPELLINGS[at === 'old' ? 0 : number % SPELLINGS.length] as (body: Body) => string;
    response.end(spell(items === undefined ? profile : { [collection]: shots }));
  };
}

async function twoSites() {
  const sites = { old: await startSite(siteOf('old')), new: await startSite(siteOf('new')) };
  const report = join(tempFolder(), 'report.ndjson');
  const command = (users: number) => {
    const file = tempFile('users.txt', Array.from({ length: users }, (_, i) => `user${i + 1}\n`).join(''));
    const flags = ['--variant', 'b', '--users', file, '--report', report, '--rate', '10000', '--json'];
    return ['compare', sites.old.url, sites.new.url, ...flags];
  };
  const users = () =>
    readLines(report)
      .slice(1)
      .map((line) => JSON.parse(line) as UserComparison);
  return { sites, command, users };
}

const isFound = ({ profile, items }: UserComparison) =>
  [profile.class, items?.class].some((found) => found === 'different' || found === 'missing');
const numberOf = ({ user }: UserComparison) => Number(user.slice('user'.length));
const foundAmong = (users: readonly UserComparison[]) =>
  users
    .filter(isFound)
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
    expect([code, errors]).toEqual([
      1,
      [`16 of ${USERS} users are different; 4 of ${USERS} users are missing on one site`],
    ]);
    expect(result).toMatchObject({ failed: 0, skipped: 0 });
    expect(users()).toHaveLength(USERS);
    expect(foundAmong(users())).toEqual(plantedAmong(USERS));
  },
  LIMIT,
);

test(
  'a run that is killed again and again asks for every user once, but for those under way',
  async () => {
    const total = 1000;
    const { sites, command, users } = await twoSites();
    const args = command(total);
    const moments = [3, 400, 401, 1300];
    for (const moment of moments) {
      const child = vitrine(args);
      await until(`${moment} requests`, () => sites.old.asked.length >= moment);
      child.kill('SIGKILL');
      await once(child, 'close');
    }
    const { stdout } = await run(args);
    expect(JSON.parse(stdout).result).toMatchObject({ failed: 0, users: { different: 3, missing: 2 } });
    expect(new Set(users().map(numberOf)).size).toBe(total);
    expect(users()).toHaveLength(total);
    expect(foundAmong(users())).toEqual(plantedAmong(total));
    // 8 users under way, each with two requests, and the shared picture once a run.
    expect(sites.old.asked.length).toBeLessThanOrEqual(2 * total + moments.length * 17 + 1);
  },
  LIMIT,
);
