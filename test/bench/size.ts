// What size costs: lookups in 4.5 million items against 45,000, reads on a cold page cache, start, and memory after a soak.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openReader } from '../../src/stores/sqlite/read.ts';
import type { Reader } from '../../src/stores/store.ts';
import { startVitrine } from './contenders.ts';
import { nameOf } from './data.ts';
import { ITEMS_EACH, vitrineDatabase } from './dataset.ts';
import { load } from './load.ts';
import { atRest, residentBytes } from './processes.ts';
import { median } from './report.ts';

const HELP = `node test/bench/size.ts [flags]
  --users N       how many users the large database has (300000), each with ${ITEMS_EACH} items
  --soak SECONDS  how long random users are asked for before memory is read (20)
  --cold          measures reads on a cold page cache too: drops the machine's caches, so only as root
  --data FOLDER   keeps the data there for the next run`;

const { values: flags } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    users: { type: 'string', default: '300000' },
    soak: { type: 'string', default: '20' },
    cold: { type: 'boolean', default: false },
    data: { type: 'string' },
  },
});
if (flags.help) {
  console.log(HELP);
  process.exit();
}

const LOOKUPS = 3000;
const ROUNDS = 9;
/** Lookups in one turn of the event loop, as under load. */
const TURN = 16;
const COLD_LOOKUPS = 300;
const STARTS = 7;

const users = { small: 3000, large: Number(flags.users) };
const folder = resolve(flags.data ?? mkdtempSync(join(tmpdir(), 'vitrine-size-')));
mkdirSync(folder, { recursive: true });
try {
  const database = (count: number) => vitrineDatabase(folder, { users: count, profiles: count });
  const paths = { small: database(users.small), large: database(users.large) };
  console.log(
    `${users.large * ITEMS_EACH} items of ${users.large} users, beside ${users.small * ITEMS_EACH} of ${users.small}`,
  );

  const { small, large, ratio } = await warmLookups(paths);
  console.log(
    `warm lookup: ${large.toFixed(1)} µs against ${small.toFixed(1)} µs of CPU: ${ratio.toFixed(2)} × (promised: ≤ 1.3)`,
  );
  if (flags.cold) console.log(`cold lookup: ${await coldReads(paths.large)}`);
  console.log(`start to first answer: ${Math.round(await startTime(paths.large))} ms (promised: < 400)`);
  console.log(`resident after a soak: ${Math.round((await soaked(paths.large)) / 1e6)} MB (promised: < 200)`);
} finally {
  if (flags.data === undefined) rmSync(folder, { recursive: true, force: true });
}

async function warmLookups(paths: { small: string; large: string }) {
  const sides = {
    small: { reader: openReader(paths.small), users: users.small },
    large: { reader: openReader(paths.large), users: users.large },
  };
  for (const path of Object.values(paths)) readThrough(path);
  const costs: { small: number; large: number }[] = [];
  for (let round = 0; round < ROUNDS + 2; round++) {
    const small = await lookupCost(sides.small.reader, sides.small.users);
    const large = await lookupCost(sides.large.reader, sides.large.users);
    if (round >= 2) costs.push({ small, large });
  }
  for (const { reader } of Object.values(sides)) await reader.close();
  return {
    small: median(costs.map(({ small }) => small)),
    large: median(costs.map(({ large }) => large)),
    ratio: median(costs.map(({ small, large }) => large / small)),
  };
}

/** Microseconds of CPU for the items of one random user. */
async function lookupCost(reader: Reader, count: number): Promise<number> {
  const names = Array.from({ length: LOOKUPS }, () => randomName(count));
  const before = process.cpuUsage();
  for (const [index, name] of names.entries()) {
    reader.items('microblog', name, 'posts');
    if (index % TURN === TURN - 1) await setImmediate();
  }
  const { user, system } = process.cpuUsage(before);
  await setImmediate();
  return (user + system) / LOOKUPS;
}

function randomName(count: number): string {
  return nameOf(1 + Math.floor(Math.random() * count));
}

/** Brings a file into the page cache. */
function readThrough(path: string): void {
  const reader = openReader(path);
  let bytes = 0;
  for (const record of reader.records() as Iterable<string>) bytes += record.length;
  if (bytes === 0) throw new Error(`${path} is empty`);
  void reader.close();
}

async function coldReads(path: string): Promise<string> {
  const reader = openReader(path);
  reader.items('microblog', nameOf(1), 'posts');
  await setImmediate();
  writeFileSync('/proc/sys/vm/drop_caches', '3');
  const before = disk();
  const started = performance.now();
  for (let lookup = 0; lookup < COLD_LOOKUPS; lookup++) {
    reader.items('microblog', randomName(users.large), 'posts');
    await setImmediate();
  }
  const microseconds = ((performance.now() - started) * 1000) / COLD_LOOKUPS;
  const after = disk();
  await reader.close();
  const kilobytes = (after.bytes - before.bytes) / COLD_LOOKUPS / 1024;
  const reads = (after.reads - before.reads) / COLD_LOOKUPS;
  return `${reads.toFixed(1)} reads and ${kilobytes.toFixed(0)} KB from the disk, ${microseconds.toFixed(0)} µs`;
}

/** What this process has read: how often it asked the system, and how many bytes the disk gave. */
function disk() {
  const io = readFileSync('/proc/self/io', 'utf8');
  const figure = (name: string) => Number(new RegExp(`^${name}: (\\d+)`, 'm').exec(io)?.[1]);
  return { reads: figure('syscr'), bytes: figure('read_bytes') };
}

async function startTime(path: string): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < STARTS; round++) {
    const started = performance.now();
    const server = await startVitrine(path, `/a/api/?user=${randomName(users.large)}&post=true`);
    times.push(performance.now() - started);
    await server.stop();
  }
  return median(times);
}

async function soaked(path: string): Promise<number> {
  const server = await startVitrine(path);
  await atRest(server);
  const seconds = Number(flags.soak) / 2;
  await load(
    server.port,
    { before: '/a/api/?user=user', users: users.large, after: '&post=true' },
    seconds,
    1,
  );
  await load(server.port, { before: '/a/api/?user=user', users: users.large, after: '' }, seconds, 2);
  const bytes = residentBytes(server);
  await server.stop();
  return bytes;
}
