// Commands over one, two and four times the data: memory must stay flat, and CPU must grow as the data does.
import { once } from 'node:events';
import { cpSync, createWriteStream, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { writePeople } from '../bench/data.ts';
import { cleanUp } from '../support/at-end.ts';
import { tempFile, tempFolder } from '../support/files.ts';
import { mirrorArgs, startSite } from '../support/mirror-site.ts';
import { png } from '../support/pictures.ts';
import { folio, shot } from '../support/records.ts';
import { done, vitrine } from '../support/run.ts';

export interface Cost {
  /** Peak memory in MB, without the pages of files, which the system takes back when it needs them. */
  readonly memory: number;
  /** Seconds. */
  readonly cpu: number;
}

export interface SizeCase {
  readonly title: string;
  /** How many of what counts as one size. */
  readonly unit: number;
  /** Makes what the command works on, and returns the command. */
  readonly prepare: (folder: string, size: number) => Promise<readonly string[]> | readonly string[];
}

/** Makes a process say at its end how many seconds of CPU it has used. */
const TELL = tempFile(
  'tell.mjs',
  `process.on('exit', () => {
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  process.stderr.write(' CPU ' + (userCPUTime + systemCPUTime) / 1e6);
});`,
);

function anonymousMemory(pid: number | undefined): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/^RssAnon:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

/** What a command costs as a process of its own. */
export async function costOf(args: readonly string[]): Promise<Cost> {
  // In a small heap, garbage is collected at once instead of when there is much of it.
  const heap = '--max-old-space-size=48 --max-semi-space-size=1';
  const child = vitrine(args, { NODE_OPTIONS: `${heap} --import=${TELL}` });
  let memory = 0;
  const sampling = setInterval(() => {
    memory = Math.max(memory, anonymousMemory(child.pid));
  }, 10);
  let said = '';
  child.stdout?.resume();
  child.stderr?.on('data', (chunk) => (said = (said + chunk).slice(-2000)));
  child.stdin?.end();
  const [code] = await once(child, 'close');
  clearInterval(sampling);
  const cpu = / CPU ([\d.]+)$/.exec(said)?.[1];
  if (code !== 0 || cpu === undefined) throw new Error(`${args.join(' ')} ended with ${code}: ${said}`);
  return { memory, cpu: Number(cpu) };
}

/** Least and one, two, four times the unit. */
const FACTORS = [0.02, 1, 2, 4];

/** What the case costs at these sizes. */
export async function costsOf({ unit, prepare }: SizeCase, scale = 1): Promise<readonly Cost[]> {
  const costs: Cost[] = [];
  for (const factor of FACTORS)
    costs.push(await costOf(await prepare(tempFolder(), Math.ceil(unit * factor * scale))));
  return costs;
}

/** The lower of each figure: what else a machine does only adds to them. */
export const leastOf = (some: readonly Cost[], others: readonly Cost[]) =>
  some.map(({ memory, cpu }, index) => ({
    memory: Math.min(memory, (others[index] as Cost).memory),
    cpu: Math.min(cpu, (others[index] as Cost).cpu),
  }));

/** The heap of these runs and the caches of SQLite take less, in MB. Before they are full, memory grows. */
const FULL = 80;

/** What is wrong with the costs: four times the data takes four times the CPU without the start, sixteen if it is quadratic. */
export function faultsOf(costs: readonly Cost[]): string[] {
  const [start, one, two, four] = costs as [Cost, Cost, Cost, Cost];
  const faults: string[] = [];
  if (four.memory > Math.max(FULL, 1.25 * two.memory)) faults.push('memory grows with the size');
  // What is less than a tenth of a second differs too much from run to run.
  if (four.cpu - start.cpu > 7 * Math.max(one.cpu - start.cpu, 0.1))
    faults.push('CPU grows faster than the size');
  return faults;
}

/** Writes a file of many parts without holding all of them. */
async function writeParts(path: string, parts: Iterable<string>): Promise<string> {
  const text = Readable.from(parts);
  await pipeline(path.endsWith('.gz') ? text.pipe(createGzip()) : text, createWriteStream(path));
  return path;
}

function* partsOf(size: number, part: (number: number) => string, head = '', foot = ''): Generator<string> {
  yield head;
  for (let number = 1; number <= size; number++) yield part(number);
  yield foot;
}

/** A case of an import of one file. */
const importing = (
  title: string,
  unit: number,
  name: string,
  parts: (size: number) => Iterable<string>,
  ...more: string[]
): SizeCase => ({
  title: `import: ${title}`,
  unit,
  prepare: async (folder, size) => [
    'import',
    '--database-url',
    join(folder, 'site.db'),
    ...more,
    await writeParts(join(folder, name), parts(size)),
  ],
});

const line = (record: object) => `${JSON.stringify(record)}\n`;
const profile = (id: number) => ({ id, username: `user${id}`, totalPost: 0, bio: 'b'.repeat(300) });
const item = (id: number, user: number) => ({
  id,
  user,
  post_details: 'p'.repeat(300),
  date: '2026-02-28 10:00:00',
});

const MAP = tempFile(
  'map.mjs',
  `export const lists = ['item'];
export default ({ n }) => ({ id: n, username: 'user' + n, totalPost: 0 });
`,
);

const INPUTS: readonly SizeCase[] = [
  importing('users, then their items', 20_000, 'a.ndjson', (size) =>
    partsOf(size, (id) => line(id <= size / 4 ? profile(id) : item(id, 1 + (id % (size / 4))))),
  ),
  importing('items before their owners', 20_000, 'a.ndjson', (size) =>
    partsOf(size, (id) =>
      line(id <= (3 * size) / 4 ? item(id, 1 + (id % (size / 4))) : profile(id - (3 * size) / 4)),
    ),
  ),
  importing('all items of one owner', 20_000, 'a.ndjson', (size) =>
    partsOf(size, (id) => line(id === 1 ? profile(1) : item(id, 1))),
  ),
  importing(
    'one name, again and again',
    20_000,
    'a.ndjson',
    (size) => partsOf(size, (id) => line({ ...profile(id), username: 'same' })),
    '--skip-invalid',
  ),
  {
    title: 'import: names that each pass on to the next user, and the first does not let go',
    unit: 5000,
    async prepare(folder, size) {
      const file = (name: string, next: number) =>
        writeParts(
          join(folder, name),
          partsOf(size, (id) => line({ ...profile(id), id: id + next })),
        );
      const database = ['--database-url', join(folder, 'site.db')];
      await done(['import', ...database, await file('before.ndjson', 0)]);
      return ['import', ...database, '--skip-invalid', await file('a.ndjson', 1)];
    },
  },
  importing(
    'items without an owner, kept as rejects',
    20_000,
    'a.ndjson',
    (size) => partsOf(size, (id) => line(item(id, id))),
    '--skip-invalid',
    '--rejects',
    join(tempFolder(), 'rejects.ndjson'),
  ),
  importing(
    'a list in an object, by a map',
    20_000,
    'a.json',
    (size) => partsOf(size, (n) => `,{"n":${n + 1}}`, '{"item":[{"n":1}', ']}'),
    '--map',
    MAP,
  ),
  importing('names without items', 20_000, 'a.ndjson.gz', (size) => partsOf(size, (id) => line(profile(id)))),
  importing('CSV', 20_000, 'a.csv', (size) =>
    partsOf(size, (id) => `${id},user${id},0,"${'b'.repeat(300)}"\n`, 'id,username,totalPost,bio\n'),
  ),
  importing('a body on one line', 20_000, 'a.json', (size) =>
    partsOf(size, (id) => `${id > 1 ? ',' : ''}${JSON.stringify(profile(id))}`, '{"users":[', ']}'),
  ),
  importing(
    'XML',
    20_000,
    'a.xml',
    (size) => partsOf(size, (n) => `<item><n>${n}</n></item>`, '<a>', '</a>'),
    '--map',
    MAP,
  ),
  importing(
    'XML, each record 30 deep',
    10_000,
    'a.xml',
    (size) =>
      partsOf(size, (n) => `<item>${'<b>'.repeat(30)}x${'</b>'.repeat(30)}<n>${n}</n></item>`, '<a>', '</a>'),
    '--map',
    MAP,
  ),
];

/** Folders with users of 15 items each and their database, by the number of users. */
const made = new Map<number, Promise<string>>();

async function makePeople(users: number): Promise<string> {
  const folder = tempFolder();
  const source = join(folder, 'people.ndjson');
  await writePeople(source, users, 15);
  await done(['import', '--database-url', join(folder, 'site.db'), source]);
  return folder;
}

/** Copies them into the folder; the arguments that name the database. */
async function withPeople(folder: string, users: number): Promise<readonly string[]> {
  const people = made.get(users) ?? makePeople(users);
  made.set(users, people);
  cpSync(await people, folder, { recursive: true });
  return ['--database-url', join(folder, 'site.db')];
}

const namesOf = (folder: string, users: number) => {
  const path = join(folder, 'names.txt');
  writeFileSync(path, Array.from({ length: users }, (_, index) => `user${index + 1}\n`).join(''));
  return path;
};

/** A case of a command over a database of users. */
const over = (
  title: string,
  unit: number,
  argsOf: (
    folder: string,
    users: number,
    database: readonly string[],
  ) => Promise<readonly string[]> | readonly string[],
): SizeCase => ({
  title,
  unit,
  prepare: async (folder, users) => argsOf(folder, users, await withPeople(folder, users)),
});

const COMMANDS: readonly SizeCase[] = [
  over('import --replace', 1000, (folder, _, database) => [
    'import',
    '--replace',
    '--max-removed',
    '100%',
    ...database,
    join(folder, 'people.ndjson'),
  ]),
  over('import --dry-run', 1000, (folder, _, database) => [
    'import',
    '--dry-run',
    ...database,
    join(folder, 'people.ndjson'),
  ]),
  over('export', 1000, (folder, _, database) => ['export', ...database, join(folder, 'out.ndjson')]),
  over('check', 1000, (_, __, database) => ['check', ...database]),
  over('check --repair', 1000, (_, __, database) => ['check', '--repair', ...database]),
  over('changes', 1000, async (folder, _, database) => {
    const since = JSON.parse(
      (await done(['changes', ...database])).trimEnd().split('\n').at(-1) as string,
    ).generation;
    const source = join(folder, 'people.ndjson');
    const other = readFileSync(source, 'utf8').replaceAll('maps, trains', 'trains, maps');
    await done(['import', ...database, tempFile('other.ndjson', other)]);
    return ['changes', ...database, '--since', String(since)];
  }),
  over('snapshot', 1000, (folder, _, database) => ['snapshot', ...database, join(folder, 'copy.db')]),
  over('restore', 1000, async (folder, _, database) => {
    await done(['snapshot', ...database, join(folder, 'copy.db')]);
    return ['restore', '--database-url', join(folder, 'other.db'), join(folder, 'copy.db')];
  }),
  {
    title: 'remove, of one user with many items',
    unit: 20_000,
    prepare: async (folder, items) => {
      const all = partsOf(items, (id) => line(id === 1 ? profile(1) : item(id, 1)));
      const source = await writeParts(join(folder, 'one.ndjson'), all);
      const database = ['--database-url', join(folder, 'site.db')];
      await done(['import', ...database, source]);
      return ['remove', ...database, '--family', 'microblog', 'user1'];
    },
  },
  over('takedown, of many', 500, (_, users, database) => [
    'takedown',
    ...database,
    '--family',
    'microblog',
    ...Array.from({ length: users }, (_, index) => `user${index + 1}`),
  ]),
  over('takedown, of a list', 500, (folder, users, database) => [
    'takedown',
    ...database,
    '--family',
    'microblog',
    '--users',
    namesOf(folder, users),
  ]),
  over('publish', 100, (folder, _, database) => [
    'publish',
    join(folder, 'out'),
    '--for',
    'nginx',
    ...database,
  ]),
  over('publish, nothing new', 100, async (folder, _, database) => {
    const args = ['publish', join(folder, 'out'), '--for', 'nginx', ...database];
    await done(args);
    return args;
  }),
  mirroring('mirror', 400),
  {
    title: 'compare',
    unit: 300,
    prepare: async (folder, users) => {
      const [one, other] = [await startNumbers(), await startNumbers()];
      const names = ['--variant', 'b', '--users', namesOf(folder, users), '--rate', '10000'];
      return ['compare', one.url, other.url, ...names, '--report', join(folder, 'report.ndjson')];
    },
  },
  mirroring('mirror --media', 200, '--media'),
  ...['fetch', 'check', 'prune', 'relink'].map((action) => withMedia(action, 300)),
];

/** A site of variant B: any user named by a number, with one shot and a picture of their own. */
const startNumbers = () =>
  startSite(({ url = '', headers }, response) => {
    const [, id, items] = /^\/api\/username\/user(\d+)(\/shots)?$/.exec(url) ?? [];
    if (url.endsWith('.png')) response.end(png(url.padEnd(5_000, '.')));
    else if (id === undefined) response.writeHead(404).end('no');
    else {
      const image = `http://${headers.host}/${id}.png`;
      const body = items ? { Shots: [shot(id, id, { image })] } : folio(id, `user${id}`, { avatar: image });
      response.end(JSON.stringify(body));
    }
  });

function mirroring(title: string, unit: number, ...more: string[]): SizeCase {
  const prepare = async (folder: string, users: number) => {
    const { url } = await startNumbers();
    const args = mirrorArgs(join(folder, 'site.db'), 'b', url, '--users', namesOf(folder, users), ...more);
    return more.length === 0 ? args : [...args, '--media-hosts', new URL(url).host];
  };
  return { title, unit, prepare };
}

/** A case of `media` over copies that were made before; `fetch` makes them. */
function withMedia(action: string, unit: number): SizeCase {
  const prepare = async (folder: string, users: number) => {
    const { url } = await startNumbers();
    const records = partsOf(users, (id) => line(folio(id, `user${id}`, { avatar: `${url}/${id}.png` })));
    const source = await writeParts(join(folder, 'people.ndjson'), records);
    const database = ['--database-url', join(folder, 'site.db')];
    await done(['import', ...database, source]);
    const media = (name: string) => ['media', name, ...database, '--media-dir', join(folder, 'media')];
    const fetching = [...media('fetch'), '--media-hosts', new URL(url).host, '--rate', '5000'];
    if (action === 'fetch') return fetching;
    await done(fetching);
    return media(action);
  };
  return { title: `media ${action}`, unit, prepare };
}

export const SIZES = [...INPUTS, ...COMMANDS];

/** Prints what each case costs, or each whose title has one of these words; whether all are as they must be. */
export async function reportSizes(words: readonly string[], scale: number): Promise<boolean> {
  let isSound = true;
  for (const size of SIZES) {
    if (words.length > 0 && !words.some((word) => size.title.includes(word))) continue;
    const costs = await costsOf(size, scale);
    const faults = faultsOf(costs);
    isSound &&= faults.length === 0;
    const figures = costs.map(({ memory, cpu }) => `${memory.toFixed(0)} MB ${cpu.toFixed(2)} s`);
    console.log([size.title, ...figures, ...faults].join('; '));
  }
  await cleanUp();
  return isSound;
}
