// The commands that are tortured: what is there before, the command, and what shows whether it was done.
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';
import { userTag } from '../../src/records/user-name.ts';
import { fixture, ndjson } from '../files.ts';
import { executeSql } from '../importing.ts';
import { startSite } from '../mirror-site.ts';
import { png } from '../pictures.ts';
import { blog, folio, post, shot } from '../records.ts';
import { done, type Environment } from '../rig.ts';

export interface Scenario {
  /** What is there before, in the folder of the scenario. */
  readonly before: (folder: string, site: string) => Promise<unknown> | unknown;
  readonly args: (folder: string, site: string) => readonly string[];
  readonly env?: (folder: string, site: string) => Environment;
  /** What it makes besides the database, as a text: old or new by content. */
  readonly output?: (folder: string) => string;
  /** What one run may do in parts; the next one goes on. */
  readonly isResumed?: boolean;
  /** What a repetition says when it refuses, since there is nothing left to change. */
  readonly again?: RegExp;
  /** Whether connections fail as well. */
  readonly sockets?: boolean;
  /** A server reads the same database. */
  readonly isServed?: boolean;
}

const USERS = 12;
/** Users that are mirrored and have pictures: the pace of requests starts low. */
const MIRRORED = 3;

/** Users of both families; the second version changes, removes and adds some. */
export function people(version: 1 | 2, site = 'http://127.0.0.1:9'): string {
  const ids = Array.from({ length: USERS + 2 }, (_, index) => index + 1).filter((id) =>
    version === 1 ? id <= USERS : id % 7 > 0,
  );
  const records = ids.flatMap((id) => {
    const bio = `${id % 3 === 0 ? version : 'same'} ${'ü'.repeat(300)}`;
    return [
      blog(id, `user${id}`, { bio }),
      folio(id, `user${id}`, { bio, ...(id <= MIRRORED && { avatar: `${site}/pictures/${id}.png` }) }),
      ...[1, 2, 3].flatMap((n) => [
        post(id * 10 + n, id, { date: `2026-01-0${n} 10:00:00`, post_details: bio }),
        shot(id * 10 + n, id, { date: `2026-01-0${n} 10:00:00`, title: `shot ${n} ${bio.slice(0, 4)}` }),
      ]),
    ];
  });
  return ndjson(...records);
}

/** What mirror and media fetch read: users of variant B, and pictures. */
export const startPeople = () =>
  startSite(({ url = '' }, response) => {
    const [, id = '', items] = /^\/api\/username\/user(\d+)(\/shots)?$/.exec(url) ?? [];
    const [, picture] = /^\/pictures\/(\d+)\.png$/.exec(url) ?? [];
    if (picture !== undefined) response.end(png(picture));
    else if (Number(id) < 1 || Number(id) > USERS) response.writeHead(404).end('no');
    else if (items === undefined) response.end(JSON.stringify(folio(id, `user${id}`, { totalShots: '1' })));
    else response.end(JSON.stringify({ Shots: [shot(`${id}0`, id)] }));
  });

const at = (folder: string) => join(folder, 'site.db');
const database = (folder: string) => ['--database-url', at(folder)];

/** Writes both versions, and imports the first. */
async function withData(folder: string, site?: string): Promise<void> {
  writeFileSync(join(folder, '1.ndjson'), people(1, site));
  writeFileSync(join(folder, '2.ndjson'), people(2, site));
  await done(['import', ...database(folder), join(folder, '1.ndjson')]);
}

async function withSnapshot(folder: string): Promise<void> {
  await withData(folder);
  const other = ['--database-url', join(folder, 'other.db')];
  await done(['import', ...other, join(folder, '2.ndjson')]);
  await done(['snapshot', ...other, join(folder, '2.db')]);
}

async function withTakedowns(folder: string): Promise<void> {
  await withSnapshot(folder);
  await done(['takedown', ...database(folder), '--family', 'portfolio', 'user3', 'user5']);
}

const mediaArgs = (folder: string) => [...database(folder), '--media-dir', join(folder, 'media')];
const fetchArgs = (folder: string, site: string) =>
  ['media', 'fetch', ...mediaArgs(folder), '--media-url', 'https://pictures.example'].concat([
    '--media-hosts',
    new URL(site).host,
    '--rate',
    '5000',
  ]);

async function withMedia(folder: string, site: string): Promise<void> {
  await withData(folder, site);
  await done(fetchArgs(folder, site));
}

const publishArgs = (folder: string, platform: string) =>
  [
    'publish',
    join(folder, 'out'),
    '--for',
    platform,
    '--without',
    'pages,cards,feeds',
    ...database(folder),
  ].concat(
    ['a', 'b', 'c'].flatMap((variant) => [`--base-url-${variant}`, `https://${variant}.example/${variant}`]),
  );

const mirrorArgs = (folder: string, site: string) =>
  [
    'mirror',
    ...mediaArgs(folder),
    '--variant',
    'b',
    '--from',
    site,
    '--users',
    join(folder, 'names'),
    '--rate',
  ].concat(['5000', '--retries', '0', '--state', join(folder, 'state'), '--lenient']);

function withNames(folder: string, count = MIRRORED): void {
  writeFileSync(join(folder, 'names'), Array.from({ length: count }, (_, id) => `user${id + 1}\n`).join(''));
}

/** A cache of nginx that holds an answer for each user. */
async function withCache(folder: string): Promise<void> {
  mkdirSync(join(folder, 'cache'));
  for (let id = 1; id <= USERS; id++)
    writeFileSync(
      join(folder, 'cache', createHash('md5').update(String(id)).digest('hex')),
      `KEY: a.example/user${id}\nCache-Tag: ${userTag('portfolio', `user${id}`)}\r\n\r\n{}`,
    );
  await withData(folder);
  await done(['import', ...database(folder), '--replace', join(folder, '2.ndjson')], {
    env: purgeEnv('/none'),
  });
}
const purgeEnv = (folder: string): Environment => ({ PURGE: `nginx:${folder}` });

export const filesIn = (folder: string): string[] =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => !entry.isDirectory())
        .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
        .sort()
    : [];

const hashOf = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex').slice(0, 8);

/** A file by its content. */
const file = (name: string) => (folder: string) =>
  existsSync(join(folder, name)) ? hashOf(join(folder, name)) : 'none';

/** The published files that are served: those of the current tree. */
function served(folder: string): string {
  const current = join(folder, 'out/current');
  if (!existsSync(current)) return 'none';
  const tree = realpathSync(current);
  return hashOfAll(filesIn(tree).map((name) => `${name} ${hashOf(join(tree, name))}`));
}
const hashOfAll = (texts: readonly string[]) =>
  `${texts.length}:${createHash('sha256').update(texts.join('\n')).digest('hex').slice(0, 8)}`;

const copies = (folder: string) =>
  hashOfAll(filesIn(join(folder, 'media')).filter((name) => /\w{64}\.\w+$/.test(name)));

/** A first publish into a folder, or another one after an import. */
const publishing = (platform: string, isAgain: boolean): Scenario => ({
  async before(folder) {
    await withData(folder);
    if (!isAgain) return;
    await done(publishArgs(folder, platform));
    await done(['import', ...database(folder), '--replace', join(folder, '2.ndjson')]);
  },
  args: (folder) => publishArgs(folder, platform),
  output: served,
});

const importing = (input: string, ...flags: string[]): Scenario => ({
  async before(folder) {
    await withData(folder);
    writeFileSync(join(folder, '2.ndjson.gz'), gzipSync(people(2)));
    const shots = people(1)
      .split('\n')
      .filter((line) => line.includes('user_id'));
    writeFileSync(join(folder, 'shots.json'), `[${shots.join(',').replaceAll('"id"', '"number"')}]`);
    const map =
      "export default (s) => ({ id: s.number, user_id: s.user_id, date: s.date, title: 'mapped' });\n";
    writeFileSync(join(folder, 'map.mjs'), map);
    const bad = [shot(9001, 1, { date: '2026-02-30 10:00:00' }), shot(9002, 999), folio(9003, 'user1')];
    writeFileSync(join(folder, 'bad.ndjson'), people(2) + ndjson(...bad));
  },
  args: (folder) => [
    'import',
    ...database(folder),
    ...flags.map((flag) => flag.replace(/^@/, `${folder}/`)),
    join(folder, input),
  ],
});

const removing = (args: readonly string[], again?: RegExp): Scenario => ({
  before: withTakedowns,
  args: (folder) => [...args, ...database(folder), '--family', 'portfolio'],
  ...(again && { again }),
});

export const SCENARIOS: Record<string, Scenario> = {
  'import-new': {
    before: (folder) => writeFileSync(join(folder, '1.ndjson'), people(1)),
    args: (folder) => ['import', ...database(folder), join(folder, '1.ndjson')],
  },
  import: importing('2.ndjson.gz'),
  'import-replace': importing('2.ndjson', '--replace', '--max-removed', '50%'),
  'import-skip-invalid': {
    ...importing('bad.ndjson', '--skip-invalid', '--rejects', '@rejects'),
    output: file('rejects'),
  },
  'import-map': importing('shots.json', '--map', '@map.mjs'),
  'import-dry-run': importing('2.ndjson', '--replace', '--max-removed', '50%', '--dry-run'),
  export: {
    before: withData,
    args: (folder) => ['export', ...database(folder), join(folder, 'export.ndjson.gz')],
    output: file('export.ndjson.gz'),
  },
  snapshot: {
    before: withData,
    args: (folder) => ['snapshot', ...database(folder), join(folder, 'copy.db')],
    output: (folder) => String(existsSync(join(folder, 'copy.db'))),
  },
  restore: {
    before: withTakedowns,
    args: (folder) => ['restore', ...database(folder), join(folder, '2.db')],
  },
  migrate: {
    before: (folder) => cpSync(fixture('older/schema-9.db'), at(folder)),
    args: (folder) => ['migrate', ...database(folder)],
  },
  remove: removing(['remove', 'user2'], /the portfolio family has no user "?user2/),
  takedown: removing(['takedown', 'user2', 'user4']),
  'takedown-undo': removing(['takedown', '--undo', 'user3'], /not taken down: "?user3/),
  mirror: {
    before: (folder) => withNames(folder),
    args: mirrorArgs,
    isResumed: true,
    sockets: true,
  },
  'mirror-media': {
    before: (folder) => withNames(folder),
    args: (folder, site) =>
      [...mirrorArgs(folder, site), '--media', '--media-hosts', new URL(site).host].concat([
        '--media-url',
        'https://pictures.example',
      ]),
    output: copies,
    isResumed: true,
    sockets: true,
  },
  'mirror-resumed': {
    async before(folder, site) {
      withNames(folder, 2);
      await done(mirrorArgs(folder, site));
      withNames(folder);
    },
    args: mirrorArgs,
    isResumed: true,
    sockets: true,
  },
  'media-fetch': { before: withData, args: fetchArgs, output: copies, isResumed: true, sockets: true },
  'media-relink': {
    before: withMedia,
    args: (folder) => ['media', 'relink', ...mediaArgs(folder), '--media-url', 'https://other.example'],
  },
  'media-prune': {
    async before(folder, site) {
      await withMedia(folder, site);
      await done([
        'import',
        ...database(folder),
        '--replace',
        '--max-removed',
        '50%',
        join(folder, '2.ndjson'),
      ]);
      await done(['media', 'prune', ...mediaArgs(folder), '--grace', '0']);
    },
    args: (folder) => ['media', 'prune', ...mediaArgs(folder), '--grace', '0'],
    output: copies,
    isResumed: true,
  },
  'check-repair': {
    async before(folder) {
      await withData(folder);
      executeSql(
        at(folder),
        "DELETE FROM lists WHERE owner = 2; UPDATE profiles SET etag = 'no' WHERE id = 3",
      );
    },
    args: (folder) => ['check', '--repair', ...database(folder)],
  },
  'publish-nginx': publishing('nginx', false),
  'publish-nginx-again': publishing('nginx', true),
  'publish-caddy': publishing('caddy', false),
  'publish-caddy-again': publishing('caddy', true),
  'publish-cloudflare': publishing('cloudflare', false),
  'publish-cloudflare-again': publishing('cloudflare', true),
  'publish-netlify': publishing('netlify', false),
  'publish-netlify-again': publishing('netlify', true),
  purge: {
    before: withCache,
    args: (folder) => ['purge', ...database(folder)],
    env: (folder) => purgeEnv(join(folder, 'cache')),
    output: (folder) => hashOfAll(filesIn(join(folder, 'cache'))),
    isResumed: true,
  },
  'import-served': { ...importing('2.ndjson', '--replace', '--max-removed', '50%'), isServed: true },
  'restore-served': {
    before: withSnapshot,
    args: (folder) => ['restore', ...database(folder), join(folder, '2.db')],
    isServed: true,
  },
  'takedown-served': { ...removing(['takedown', 'user3']), before: withSnapshot, isServed: true },
  notify: {
    ...importing('2.ndjson'),
    env: (_, site) => ({ NOTIFY: `${site}/pictures/1.png` }),
    sockets: true,
  },
};
