// What size costs: lookups among 4.5 million items against 45,000, their reads, the start, and memory under load.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Reader } from '../../src/stores/reader.ts';
import { openReader } from '../../src/stores/sqlite/read.ts';
import { nameOf } from './data.ts';
import { ITEMS_EACH, vitrineDatabase } from './dataset.ts';
import { type Bound, holdBounds, median, shown } from './figures.ts';
import { load } from './load.ts';
import { atRest, residentBytes } from './processes.ts';
import { startVitrine } from './vitrine.ts';

const HELP = `node test/bench/size.ts [flags]
  --users N       how many users the large database has (300000), each with ${ITEMS_EACH} items
  --soak SECONDS  how long random users are requested before memory is read (20)
  --cold          also measures lookups with an empty page cache: empties that of the machine, so only as root
  --data FOLDER   keeps the data there for the next run (5 GB)

It exits with 1 if a promised figure is missed, and prints a line that starts with "missed:".`;

const { values: flags } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    users: { type: 'string', default: '300000' },
    soak: { type: 'string', default: '20' },
    cold: { type: 'boolean', default: false },
    data: { type: 'string' },
  },
});

const LOOKUPS = 3000;
const ROUNDS = 9;
const WARM_UP_ROUNDS = 2;
/** Lookups in one turn of the event loop, as under load. */
const TURN = 16;
const READ_LOOKUPS = 300;
const STARTS = 7;
const PROMISED = { ratio: 1.3, reads: 5, startMs: 400, megabytes: 200 };

/** A database and how many users it has. */
interface Site {
  readonly path: string;
  readonly users: number;
}

async function bench(): Promise<void> {
  const folder = resolve(flags.data ?? mkdtempSync(join(tmpdir(), 'vitrine-size-')));
  mkdirSync(folder, { recursive: true });
  const site = async (users: number) => ({
    users,
    path: await vitrineDatabase(folder, { users, profiles: users }),
  });
  try {
    const [small, large] = [await site(3000), await site(Number(flags.users))];
    const bounds = [
      ...(await measureLookups(small, large)),
      ...(await measureStart(large)),
      ...(await measureMemory(large)),
    ];
    holdBounds(bounds.map((bound) => ({ where: 'size', ...bound })));
  } finally {
    if (flags.data === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

type Bounds = Omit<Bound, 'where'>[];

const itemsOf = ({ users }: Site) => shown(users * ITEMS_EACH);

async function measureLookups(small: Site, large: Site): Promise<Bounds> {
  const { cost, ratio } = await warmLookups(small, large);
  const reads = await readsPerLookup(large);
  console.log(
    `- A lookup among ${itemsOf(large)} items takes ${cost.toFixed(1)} µs of CPU, ${ratio.toFixed(2)} times as much as among ${itemsOf(small)} (promised: at most ${PROMISED.ratio}), and reads ${reads.toFixed(1)} times from the file (promised: at most ${PROMISED.reads}).`,
  );
  if (flags.cold) console.log(`- ${await coldLookups(large)}`);
  return [
    { what: `lookup among ${itemsOf(large)} items`, figure: ratio, promised: PROMISED.ratio },
    { what: 'reads of a lookup', figure: reads, promised: PROMISED.reads, unit: 'reads' },
  ];
}

async function warmLookups(small: Site, large: Site) {
  const sides = [small, large].map((site) => ({ ...site, reader: openReader(site.path) }));
  const [few, many] = sides as [(typeof sides)[0], (typeof sides)[0]];
  for (const { reader, users } of sides)
    await lookUp(
      reader,
      Array.from({ length: users }, (_, index) => nameOf(index + 1)),
    );
  const costs: { few: number; many: number }[] = [];
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++)
    costs.push({ few: await lookupCost(few), many: await lookupCost(many) });
  for (const { reader } of sides) await reader.close();
  const measured = costs.slice(WARM_UP_ROUNDS);
  return {
    cost: median(measured.map(({ many }) => many)),
    ratio: median(measured.map(({ few, many }) => many / few)),
  };
}

/** Microseconds of CPU for the items of one random user. */
async function lookupCost({ reader, users }: Site & { reader: Reader }): Promise<number> {
  const names = randomNames(users, LOOKUPS);
  const before = process.cpuUsage();
  await lookUp(reader, names);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / LOOKUPS;
}

async function lookUp(reader: Reader, names: readonly string[]): Promise<void> {
  for (const [index, name] of names.entries()) {
    if (reader.items('microblog', name, 'posts') === undefined) throw new Error(`${name} was not found`);
    if (index % TURN === TURN - 1) await setImmediate();
  }
  await setImmediate();
}

const randomName = (users: number) => nameOf(1 + Math.floor(Math.random() * users));
const randomNames = (users: number, length: number) => Array.from({ length }, () => randomName(users));

/** How often a lookup reads from the file, whether that is in the page cache or not. */
async function readsPerLookup({ path, users }: Site): Promise<number> {
  const reader = openReader(path);
  await lookUp(reader, [nameOf(1)]);
  const before = ioFigure('syscr');
  await lookUp(reader, randomNames(users, READ_LOOKUPS));
  const reads = ioFigure('syscr') - before;
  await reader.close();
  return reads / READ_LOOKUPS;
}

async function coldLookups({ path, users }: Site): Promise<string> {
  const reader = openReader(path);
  await lookUp(reader, [nameOf(1)]);
  writeFileSync('/proc/sys/vm/drop_caches', '3');
  const [before, started] = [ioFigure('read_bytes'), performance.now()];
  await lookUp(reader, randomNames(users, READ_LOOKUPS));
  const microseconds = ((performance.now() - started) * 1000) / READ_LOOKUPS;
  const kilobytes = (ioFigure('read_bytes') - before) / READ_LOOKUPS / 1024;
  await reader.close();
  return `With an empty page cache it takes ${shown(kilobytes)} KB from the disk and ${shown(microseconds)} µs.`;
}

/** What this process has read: `syscr` is how often it asked the system, `read_bytes` what came from the disk. */
const ioFigure = (name: 'syscr' | 'read_bytes') =>
  Number(new RegExp(`^${name}: (\\d+)`, 'm').exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);

async function measureStart({ path, users }: Site): Promise<Bounds> {
  const times: number[] = [];
  for (let round = 0; round < STARTS; round++) {
    const server = await startVitrine(path, { probe: `/a/api/?user=${randomName(users)}&post=true` });
    times.push(server.startMs);
    await server.stop();
  }
  const [ms, gigabytes] = [median(times), statSync(path).size / 1e9];
  console.log(
    `- The first response from that database (${gigabytes.toFixed(1)} GB) comes ${shown(ms)} ms after the start (promised: at most ${PROMISED.startMs}).`,
  );
  return [{ what: 'first response after the start', figure: ms, promised: PROMISED.startMs, unit: 'ms' }];
}

async function measureMemory({ path, users }: Site): Promise<Bounds> {
  const server = await startVitrine(path);
  await atRest(server);
  const seconds = Number(flags.soak) / 2;
  for (const [seed, after] of ['&post=true', ''].entries())
    await load(server.port, { before: '/a/api/?user=user', users, after }, seconds, seed + 1);
  const megabytes = residentBytes(server.child.pid) / 1e6;
  await server.stop();
  console.log(
    `- After ${flags.soak} s of requests for random users the server has ${shown(megabytes)} MB of memory (promised: at most ${PROMISED.megabytes}).`,
  );
  return [{ what: 'memory under load', figure: megabytes, promised: PROMISED.megabytes, unit: 'MB' }];
}

if (flags.help) console.log(HELP);
else await bench();
