// The commands that are tortured, a row each: what is there before, the command, and what must hold besides its database.

import { createHash } from 'node:crypto';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';
import { userTag } from '../../src/records/user-name.ts';
import { VARIANT_NAMES } from '../../src/variants.ts';
import { fixture, ndjson } from '../support/files.ts';
import { executeSql } from '../support/importing.ts';
import { startSite } from '../support/mirror-site.ts';
import { png } from '../support/pictures.ts';
import { blog, folio, post, shot } from '../support/records.ts';
import { done, type Environment } from '../support/run.ts';
import { contentOf } from './content.ts';

export interface Scenario {
  readonly name: string;
  /** What makes the data that is there before: commands, and changes to the folder. */
  readonly data: readonly (string | ((folder: string) => void))[];
  /** In these, `@` is the folder, SITE the site of startPeople, and HOST its host. */
  readonly command: string;
  /** What it makes besides the database, as a text: old or new by content. */
  readonly output?: (folder: string) => string;
  /** What one run may do in parts; the next one goes on. */
  readonly isResumed?: boolean;
  /** What a repetition says when it refuses, since there is nothing left to change. */
  readonly again?: RegExp;
  /** Why no server can be beside it. */
  readonly unserved?: string;
  /** Whether connections fail as well. */
  readonly sockets?: boolean;
  /** Then calls fail in a server beside the command instead, which has these arguments. */
  readonly server?: readonly string[];
  /** What happens to the folder just before the command. */
  readonly change?: (folder: string) => void;
}

const USERS = 7;
/** Users that are mirrored and have pictures. */
const MIRRORED = 3;

/** Users of both families; the second version changes, removes and adds some. */
export function people(version: 1 | 2, site = 'http://127.0.0.1:9'): string {
  const ids = Array.from({ length: USERS + 2 }, (_, index) => index + 1).filter((id) =>
    version === 1 ? id <= USERS : id % 5 !== 4,
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

/** Fills in the places that a text names. */
const fill = (text: string, folder: string, site: string) =>
  text.replaceAll('@', `${folder}/`).replaceAll('SITE', site).replaceAll('HOST', new URL(site).host);

/** Settings come first, as in a shell; unless the command names another database, it gets that of the folder. */
export function parseCommand(command: string, folder: string, site: string) {
  const words = fill(command, folder, site).split(' ');
  const settings = words.filter((word) => /^[A-Z_]+=/.test(word)).map((word) => word.split('='));
  const args = words.slice(settings.length);
  if (!args.includes('--database-url')) args.push('--database-url', join(folder, 'site.db'));
  return { args, env: Object.fromEntries(settings) as Environment };
}

/** Makes all that is there before the command. */
export async function prepareData({ data }: Scenario, folder: string, site: string): Promise<void> {
  const write = (name: string, content: string | Buffer) => writeFileSync(join(folder, name), content);
  write('1.ndjson', people(1, site));
  write('2.ndjson', people(2, site));
  write('2.ndjson.gz', gzipSync(people(2, site)));
  const shots = people(1, site)
    .match(/.*"user_id".*/g)
    ?.join();
  write('shots.json', `[${shots?.replaceAll('"id"', '"number"')}]`);
  write('map.mjs', "export default ({ number: id, ...rest }) => ({ ...rest, id, title: 'mapped' });\n");
  const bad = [shot(9001, 1, { date: '2026-02-30 10:00:00' }), shot(9002, 999), folio(9003, 'user1')];
  write('bad.ndjson', people(2, site) + ndjson(...bad));
  write('saved.ndjson', people(1, site));
  write('names-2', 'user1\nuser2\n');
  write('names-3', 'user1\nuser2\nuser3\n');
  for (const step of data) {
    if (typeof step !== 'string') step(folder);
    else {
      const { args, env } = parseCommand(step, folder, site);
      await done(args, { env });
    }
  }
}

/** What `check --repair` makes anew. */
const damage = (folder: string) =>
  executeSql(
    join(folder, 'site.db'),
    "DELETE FROM lists WHERE owner = 2; UPDATE profiles SET etag = 'no' WHERE id = 3",
  );

/** Renames a snapshot over the database. */
function putSnapshot(folder: string): void {
  copyFileSync(join(folder, '2.db'), join(folder, 'next.db'));
  renameSync(join(folder, 'next.db'), join(folder, 'site.db'));
}

/** A cache of nginx that holds an answer for each user. */
function fillCache(folder: string): void {
  mkdirSync(join(folder, 'cache'));
  for (let id = 1; id <= USERS; id++)
    writeFileSync(
      join(folder, 'cache', createHash('md5').update(String(id)).digest('hex')),
      `KEY: a.example/user${id}\nCache-Tag: ${userTag('portfolio', `user${id}`)}\r\n\r\n{}`,
    );
}

export const filesIn = (folder: string): string[] =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => !entry.isDirectory())
        .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
        .sort()
    : [];

const hashOf = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex').slice(0, 8);
const hashOfAll = (texts: readonly string[]) =>
  `${texts.length}:${createHash('sha256').update(texts.join('\n')).digest('hex').slice(0, 8)}`;

/** A file by its content. */
const file = (name: string) => (folder: string) =>
  existsSync(join(folder, name)) ? hashOf(join(folder, name)) : 'none';

/** The files of a folder by their names. */
const names = (name: string, pattern: RegExp) => (folder: string) =>
  hashOfAll(filesIn(join(folder, name)).filter((path) => pattern.test(path)));

/** Copies that `snapshot --keep` names for the time: their number, and the content of the newest. */
function copies(folder: string): string {
  const all = filesIn(join(folder, 'copies')).filter((name) => name.endsWith('.db'));
  return `${all.length}: ${contentOf(join(folder, 'copies', all.at(-1) ?? ''))}`;
}

/** The published files that are served: those of the current tree. */
function served(folder: string): string {
  const current = join(folder, 'out/current');
  if (!existsSync(current)) return 'none';
  const tree = realpathSync(current);
  return hashOfAll(filesIn(tree).map((name) => `${name} ${hashOf(join(tree, name))}`));
}

const FIRST = 'import @1.ndjson';
const REPLACE = 'import --replace --max-removed 50% @2.ndjson';
const OTHER = ['import --database-url @other.db @2.ndjson', 'snapshot --database-url @other.db @2.db'];
const TAKEN = 'takedown --family portfolio user3 user5';
const MEDIA = '--media-dir @media';
const FETCH = `media fetch ${MEDIA} --media-url https://pictures.example --media-hosts HOST --rate 5000`;
const PRUNE = `media prune ${MEDIA} --grace 0`;
const COPIES = { output: names('media', /\w{64}\.\w+$/), isResumed: true };
const MIRROR = `mirror ${MEDIA} --variant b --from SITE --rate 5000 --retries 0 --state @state --lenient`;
const REMOTE = { isResumed: true, sockets: true };

const publish = (platform: string) =>
  [
    `publish @out --for ${platform} --without pages,cards,feeds`,
    ...VARIANT_NAMES.map((variant) => `--base-url-${variant} https://${variant}.example/${variant}`),
  ].join(' ');

const PUBLISHING = ['nginx', 'cloudflare', 'netlify'].flatMap((platform): Scenario[] => {
  const [name, command] = [`publish-${platform}`, publish(platform)];
  return [
    { name, data: [FIRST], command, output: served },
    { name: `${name}-again`, data: [FIRST, command, REPLACE], command, output: served },
  ];
});

const ROWS: readonly Scenario[] = [
  { name: 'import-new', data: [], command: FIRST },
  { name: 'import', data: [FIRST], command: 'import @2.ndjson.gz' },
  { name: 'import-replace', data: [FIRST], command: REPLACE },
  { name: 'import-into-snapshot', data: [...OTHER, putSnapshot], command: 'import @1.ndjson' },
  {
    name: 'import-skip-invalid',
    data: [FIRST],
    command: 'import --skip-invalid --rejects @rejects @bad.ndjson',
    output: file('rejects'),
  },
  { name: 'import-map', data: [FIRST], command: 'import --map @map.mjs @shots.json' },
  { name: 'import-dry-run', data: [FIRST], command: `${REPLACE} --dry-run` },
  { name: 'export', data: [FIRST], command: 'export @out.gz', output: file('out.gz') },
  {
    name: 'snapshot',
    data: [FIRST],
    command: 'snapshot @copy.db',
    output: (folder) => contentOf(join(folder, 'copy.db')),
  },
  {
    name: 'snapshot-keep',
    data: [FIRST, (folder) => mkdirSync(join(folder, 'copies')), 'snapshot --keep 1 @copies', REPLACE],
    command: 'snapshot --keep 1 @copies',
    output: copies,
    isResumed: true,
  },
  { name: 'restore', data: [FIRST, ...OTHER, TAKEN], command: 'restore @2.db' },
  { name: 'restore-new', data: OTHER, command: 'restore @2.db' },
  {
    name: 'migrate',
    data: [(folder) => cpSync(fixture('older/schema-9.db'), join(folder, 'site.db'))],
    command: 'migrate',
    unserved: 'a server of this version does not start before it',
  },
  {
    name: 'remove',
    data: [FIRST],
    command: 'remove --family portfolio user2',
    again: /the portfolio family has no user "?user2/,
  },
  { name: 'takedown', data: [FIRST, TAKEN], command: 'takedown --family portfolio user2 user4' },
  {
    name: 'takedown-undo',
    data: [FIRST, TAKEN],
    command: 'takedown --family portfolio --undo user3',
    again: /not taken down: "?user3/,
  },
  { name: 'mirror', data: [], command: `${MIRROR} --users @names-3`, ...REMOTE },
  {
    name: 'mirror-media',
    data: [],
    command: `${MIRROR} --users @names-3 --media --media-hosts HOST --media-url https://pictures.example`,
    ...COPIES,
    ...REMOTE,
  },
  {
    name: 'mirror-resumed',
    data: [`${MIRROR} --users @names-2`],
    command: `${MIRROR} --users @names-3`,
    ...REMOTE,
  },
  {
    name: 'mirror-prune',
    data: [FIRST, `${MIRROR} --users @names-3 --adopt`],
    command: `${MIRROR} --users @names-2 --prune --max-removed 50%`,
    ...REMOTE,
  },
  { name: 'media-fetch', data: [FIRST], command: FETCH, ...COPIES, ...REMOTE },
  {
    name: 'media-relink',
    data: [FIRST, FETCH],
    command: `media relink ${MEDIA} --media-url https://other.example`,
  },
  { name: 'media-prune', data: [FIRST, FETCH, REPLACE, PRUNE], command: PRUNE, ...COPIES },
  { name: 'check-repair', data: [FIRST, damage], command: 'check --repair' },
  ...PUBLISHING,
  {
    name: 'publish-whole',
    data: [FIRST, FETCH],
    command: `${publish('nginx').replace(/ --without \S+/, '')} ${MEDIA} --media-url https://pictures.example`,
    output: served,
  },
  {
    name: 'purge',
    data: [FIRST, fillCache, `PURGE=nginx:@none ${REPLACE}`],
    command: 'PURGE=nginx:@cache purge',
    output: names('cache', /./),
    isResumed: true,
  },
  {
    name: 'notify',
    data: [FIRST],
    command: 'NOTIFY=SITE/pictures/1.png import @2.ndjson.gz',
    sockets: true,
  },
];

/** A server beside each command, but one that makes a database fit for this version; and beside changes of files. */
const SERVERS: readonly Scenario[] = [
  ...ROWS.filter(({ unserved }) => unserved === undefined).map((row) => ({
    ...row,
    name: `serve-${row.name}`,
    server: [],
  })),
  {
    name: 'serve-swap',
    data: [FIRST, ...OTHER],
    change: putSnapshot,
    command: 'check',
    server: [],
  },
  {
    name: 'serve-files',
    data: [FIRST],
    change: (folder) => copyFileSync(join(folder, '2.ndjson'), join(folder, 'saved.ndjson')),
    // The database that tells what the server must answer.
    command: REPLACE,
    server: ['@saved.ndjson'],
  },
];

export const COMMANDS = ROWS.map(({ name }) => name);
export const BESIDE_SERVERS = SERVERS.map(({ name }) => name);
export const SCENARIOS: ReadonlyMap<string, Scenario> = new Map(
  [...ROWS, ...SERVERS].map((row) => [row.name, row]),
);
