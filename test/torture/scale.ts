// Commands that change a little, over 1, 10 and 100 times the data: what they cost follows the change. CPU differs from run to run,
// so bytes that are read tell whether something reads everything.
import { once } from 'node:events';
import { cpSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { nameOf, people, type Raw, writeRecords } from '../bench/data.ts';
import { cleanUp } from '../support/at-end.ts';
import { ndjson, tempFile, tempFolder } from '../support/files.ts';
import { executeSql } from '../support/importing.ts';
import { startFiles } from '../support/mirror-site.ts';
import { gif } from '../support/pictures.ts';
import { done, vitrine } from '../support/run.ts';

interface ScaleCost {
  /** Seconds. */
  readonly cpu: number;
  /** Megabytes, from files and from the system's cache of them. */
  readonly read: number;
  /** Megabytes at most. */
  readonly memory: number;
}

/** What a command costs, and the megabytes of the database that it leaves. */
interface SizedCost extends ScaleCost {
  readonly size: number;
}

interface ScaleCase {
  readonly title: string;
  /** The least number of users. */
  readonly unit: number;
  /** What is measured: a command, over a folder with `site.db`. */
  readonly args: (folder: string, users: number) => Promise<readonly string[]> | readonly string[];
  readonly env?: (folder: string) => Record<string, string>;
  /** It sweeps deleted bytes out of the whole file, which it reads once. */
  readonly sweeps?: true;
}

/** Makes a process say at its end what it has used. */
const TELL = tempFile(
  'tell-cost.mjs',
  `import { readFileSync } from 'node:fs';
process.on('exit', () => {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  const read = /^rchar: (\\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))[1];
  process.stderr.write(' COST ' + (userCPUTime + systemCPUTime) / 1e6 + ' ' + read / 1e6 + ' ' + maxRSS / 1024);
});`,
);

async function costOf(args: readonly string[], env: Record<string, string> = {}): Promise<ScaleCost> {
  const child = vitrine(args, { ...env, NODE_OPTIONS: `--import=${TELL}` });
  let said = '';
  child.stdout?.resume();
  child.stderr?.on('data', (chunk) => (said = (said + chunk).slice(-2000)));
  child.stdin?.end();
  const [code] = await once(child, 'close');
  const [, ...figures] = / COST ([\d.]+) ([\d.]+) ([\d.]+)$/.exec(said) ?? [];
  const [cpu, read, memory] = figures.map(Number);
  if (code !== 0 || cpu === undefined || read === undefined || memory === undefined)
    throw new Error(`${args.join(' ')} ended with ${code}: ${said}`);
  return { cpu, read, memory };
}

const FACTORS = [1, 10, 100];
const ITEMS = 1;

/** With few addresses of pictures: a first fetch notes each of them, which takes longer than their import. */
function* records(users: number, items = ITEMS): Generator<Raw> {
  for (const record of people(users, items))
    yield 'avatar' in record ? { ...record, avatar_large: '', cover_image: '', cover_large: '' } : record;
}

const made = new Map<number, Promise<string>>();

async function makePeople(users: number): Promise<string> {
  const folder = tempFolder();
  const source = join(folder, 'people.ndjson');
  await writeRecords(source, records(users));
  const database = ['--database-url', join(folder, 'site.db')];
  await done(['import', ...database, source]);
  // Some change, so that a generation is known.
  await done(['import', ...database, '-'], { input: ndjson(...changedPeople(1)) });
  return folder;
}

async function copyPeople(users: number): Promise<string> {
  const people = made.get(users) ?? makePeople(users);
  made.set(users, people);
  const folder = tempFolder();
  cpSync(join(await people, 'site.db'), join(folder, 'site.db'));
  return folder;
}

const database = (folder: string) => ['--database-url', join(folder, 'site.db')];

/** Ten users with all their items, changed. */
const changedPeople = (most = 10 * (ITEMS + 1)) =>
  [...records(10)].slice(0, most).map((record) => ({ ...record, bio: `changed ${record.bio ?? ''}` }));

function importTen(folder: string): string[] {
  const source = join(folder, 'ten.ndjson');
  writeFileSync(source, ndjson(...changedPeople()));
  return ['import', ...database(folder), source];
}

let pictures: ReturnType<typeof startFiles> | undefined;

/** Copies that no record names, measured and linked. */
const OLDER_COPIES = `
  INSERT INTO media (url, file, linked_file)
  SELECT 'https://older.example.org/' || id || '.jpg', printf('%064x.jpg', id), printf('%064x.jpg', id) FROM profiles;
  INSERT INTO copies (file, bytes, width, height, small) SELECT file, 9, 1, 1, '' FROM media
  WHERE file IS NOT NULL ON CONFLICT DO NOTHING`;

/**
 * A host with ten pictures, beside as many older copies as there are users. The pictures of the others are on a host that is not
 * named: `media fetch` notes that once, for all users.
 */
async function fetchArgs(folder: string): Promise<string[]> {
  pictures ??= startFiles(Object.fromEntries(records(10, 0).map(({ id }) => [`/${id}`, gif(id)])));
  const { url, host } = await pictures;
  const fetch = ['media', 'fetch', ...database(folder), '--rate', '1000', '--media-hosts', host];
  await done(fetch);
  executeSql(join(folder, 'site.db'), OLDER_COPIES);
  const changed = records(10, 0).map((profile) => ({ ...profile, avatar: `${url}/${profile.id}` }));
  await done(['import', ...database(folder), '-'], { input: ndjson(...changed) });
  return fetch;
}

const PICTURES = ['avatar', 'avatar_large', 'cover_image', 'cover_large', 'photo', 'video_thumbnail'];
/** A copy of each picture. Only the database knows of them. */
const COPY_ALL = `
  INSERT INTO media (url, file) SELECT url, printf('%064x.gif', row_number() OVER ()) FROM (
    SELECT value AS url FROM (SELECT record FROM profiles UNION ALL SELECT record FROM items) AS records, json_each(record)
    WHERE key IN ('${PICTURES.join("', '")}') AND value <> '');
  UPDATE media SET linked_file = file`;

/** The takedown before it finds out who names which picture. So does a fetch. */
async function takedownWithPictures(folder: string): Promise<string[]> {
  executeSql(join(folder, 'site.db'), COPY_ALL);
  mkdirSync(join(folder, 'site.db.media'));
  const takedown = (user: number) => ['takedown', ...database(folder), '--family', 'microblog', nameOf(user)];
  await done(takedown(8));
  return takedown(7);
}

export const SCALES: readonly ScaleCase[] = [
  { title: 'import of ten users', unit: 200, args: importTen },
  {
    title: 'remove',
    unit: 200,
    args: (folder) => ['remove', ...database(folder), '--family', 'microblog', nameOf(7)],
  },
  {
    title: 'takedown of one user',
    unit: 200,
    args: (folder) => ['takedown', ...database(folder), '--family', 'microblog', nameOf(7)],
    sweeps: true,
  },
  { title: 'takedown of one user with copied pictures', unit: 200, args: takedownWithPictures, sweeps: true },
  {
    title: 'changes',
    unit: 200,
    async args(folder) {
      const lines = await done(['changes', ...database(folder)]);
      const { generation } = JSON.parse(lines.trimEnd().split('\n').at(-1) as string);
      await done(importTen(folder));
      return ['changes', ...database(folder), '--since', String(generation)];
    },
  },
  {
    title: 'purge',
    unit: 200,
    async args(folder) {
      await done(importTen(folder));
      return ['purge', ...database(folder)];
    },
    env: (folder) => ({ PURGE: `nginx:${folder}` }),
  },
  { title: 'media fetch of ten pictures', unit: 200, args: fetchArgs },
];

/** What the case costs over 1, 10 and 100 times its least number of users. */
export async function scaleCosts({ unit, args, env }: ScaleCase, scale = 1): Promise<readonly SizedCost[]> {
  const costs: SizedCost[] = [];
  for (const factor of FACTORS) {
    const users = unit * factor * scale;
    const folder = await copyPeople(users);
    const cost = await costOf(await args(folder, users), env?.(folder));
    costs.push({ ...cost, size: statSync(join(folder, 'site.db')).size / 1e6 });
    // A million users take gigabytes.
    rmSync(folder, { recursive: true });
  }
  return costs;
}

/** The lower of each figure: what else a machine does only adds to them. */
export const leastOf = (some: readonly SizedCost[], others: readonly SizedCost[]): readonly SizedCost[] =>
  some.map(({ cpu, read, memory, size }, index) => {
    const other = others[index] as SizedCost;
    return {
      size,
      cpu: Math.min(cpu, other.cpu),
      read: Math.min(read, other.read),
      memory: Math.min(memory, other.memory),
    };
  });

/** More levels of indexes, and pages of them. */
const SLACK_MB = 4;

/** What is wrong with the costs. */
export function scaleFaults({ sweeps }: ScaleCase, costs: readonly SizedCost[]): string[] {
  const [one, , hundred] = costs as [SizedCost, SizedCost, SizedCost];
  const faults: string[] = [];
  if (hundred.read > one.read + SLACK_MB + (sweeps ? hundred.size : 0))
    faults.push('it reads more where there is more');
  if (hundred.cpu > 2 * one.cpu) faults.push('it takes more than twice the CPU');
  return faults;
}

/** Prints what each case costs over 10,000, 100,000 and 1,000,000 users; whether all are as they must be. */
export async function reportScales(words: readonly string[], scale: number): Promise<boolean> {
  let isSound = true;
  for (const one of SCALES) {
    if (words.length > 0 && !words.some((word) => one.title.includes(word))) continue;
    const costs = await scaleCosts(one, scale);
    const faults = scaleFaults(one, costs);
    isSound &&= faults.length === 0;
    const figures = costs.map(
      ({ cpu, read, memory }) => `${cpu.toFixed(2)} s, ${memory.toFixed(0)} MB, ${read.toFixed(1)} MB read`,
    );
    console.log([one.title, ...figures, ...faults].join('; '));
  }
  // The host of pictures would keep the process alive.
  await cleanUp();
  return isSound;
}
