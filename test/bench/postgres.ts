// What PostgreSQL costs next to SQLite, and next to Express with pg written by hand.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { type Cluster, startCluster } from '../postgres-rig.ts';
import { writePeople } from './data.ts';
import { ITEMS_EACH } from './dataset.ts';
import { median, shown } from './figures.ts';
import { type Ask, addressOf, CONNECTIONS, GENERATOR, load } from './load.ts';
import { atRest, cpuSeconds, type Process, start } from './processes.ts';
import { startVitrine, VITRINE } from './vitrine.ts';

const HELP = `node test/bench/postgres.ts [flags]
  --users N    how many users, each with ${ITEMS_EACH} items (20000)
  --rounds N   how often each row is measured (5), for one second each time`;

const { values: flags } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    users: { type: 'string', default: '20000' },
    rounds: { type: 'string', default: '5' },
  },
});
const users = Number(flags.users);
const rounds = Number(flags.rounds);
/** Requested again and again, so that their responses are in memory. */
const READY_USERS = Math.min(users, 1000);

// The members as columns of ordinary tables, made from the views, with the usual indexes.
const ORDINARY = `
  CREATE SCHEMA ordinary;
  CREATE TABLE ordinary.profiles AS SELECT * FROM microblog_profiles;
  CREATE TABLE ordinary.posts AS SELECT * FROM posts;
  ALTER TABLE ordinary.profiles ALTER id TYPE bigint USING id::bigint, ADD PRIMARY KEY (id);
  ALTER TABLE ordinary.posts ALTER id TYPE bigint USING id::bigint, ALTER "user" TYPE bigint USING "user"::bigint, ADD PRIMARY KEY (id);
  CREATE UNIQUE INDEX ON ordinary.profiles (lower(username));
  CREATE INDEX ON ordinary.posts ("user", date DESC, id DESC);
  ANALYZE`;

interface Row {
  readonly name: string;
  readonly server: Process;
  readonly ask: Ask;
}

/** Requests per second, and microseconds per request. */
interface Sample {
  readonly rate: number;
  readonly p50: number;
  readonly p99: number;
  readonly cpu: number;
  readonly databaseCpu: number;
}

async function bench(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'vitrine-bench-postgres-'));
  const cluster = await startCluster();
  const started: Process[] = [];
  try {
    const urls = await importInto(folder, cluster);
    const rows = await startRows(urls);
    started.push(...rows.map(({ server }) => server));
    for (const row of rows) await check(row, rows[0] as Row);
    for (const server of started) await atRest(server);
    print(rows, await measure(rows, cluster));
  } finally {
    for (const server of started) await server.stop();
    await cluster.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Urls {
  readonly sqlite: string;
  readonly postgres: string;
}

async function importInto(folder: string, cluster: Cluster): Promise<Urls> {
  const file = join(folder, 'people.ndjson');
  const { records } = await writePeople(file, users, ITEMS_EACH);
  const database = await cluster.createDatabase();
  const urls = { sqlite: join(folder, 'people.db'), postgres: cluster.url(database) };
  for (const [name, url] of Object.entries(urls)) {
    const before = performance.now();
    await promisify(execFile)(process.execPath, [VITRINE, 'import', '--database-url', url, file]);
    const seconds = (performance.now() - before) / 1000;
    console.log(`import into ${name}: ${shown(records / seconds)} records/s`);
  }
  await cluster.primary.sql(ORDINARY, database);
  return urls;
}

async function startRows({ sqlite, postgres }: Urls): Promise<Row[]> {
  const express = await start(
    () => [process.execPath, join(import.meta.dirname, 'peers/express-postgres.ts')],
    {
      env: { DATABASE_URL: postgres },
    },
  );
  const ready = { sqlite: await startVitrine(sqlite), postgres: await startVitrine(postgres) };
  const random = { sqlite: await startVitrine(sqlite), postgres: await startVitrine(postgres) };
  const items = (count: number): Ask => ({ before: '/a/api/?user=user', users: count, after: '&post=true' });
  const profiles = (count: number): Ask => ({ before: '/a/api/?user=user', users: count, after: '' });
  const all = `random of ${shown(users)} users`;
  return [
    { name: '15 items, SQLite, answer ready', server: ready.sqlite, ask: items(READY_USERS) },
    { name: '15 items, PostgreSQL, answer ready', server: ready.postgres, ask: items(READY_USERS) },
    { name: `15 items, SQLite, ${all}`, server: random.sqlite, ask: items(users) },
    { name: `15 items, PostgreSQL, ${all}`, server: random.postgres, ask: items(users) },
    { name: `15 items, Express + pg, ${all}`, server: express, ask: items(users) },
    { name: `profile, SQLite, ${all}`, server: random.sqlite, ask: profiles(users) },
    { name: `profile, PostgreSQL, ${all}`, server: random.postgres, ask: profiles(users) },
    { name: `profile, Express + pg, ${all}`, server: express, ask: profiles(users) },
  ];
}

/** Throws unless a row's server responds as the first row's does. */
async function check({ name, server, ask }: Row, first: Row): Promise<void> {
  for (const user of [1, 2, users]) {
    const address = addressOf(ask, user);
    const [got, wanted] = await Promise.all([server, first.server].map((one) => bodyOf(one, address)));
    if (got !== wanted)
      throw new Error(`${name}: the response is ${got?.slice(0, 300)}…, not ${wanted?.slice(0, 300)}…`);
  }
}

/** Parsed and printed again, since PostgreSQL puts spaces into its JSON. */
async function bodyOf({ port }: Process, address: string): Promise<string> {
  return JSON.stringify(await (await fetch(`http://127.0.0.1:${port}${address}`)).json());
}

async function measure(rows: readonly Row[], cluster: Cluster): Promise<Sample[][]> {
  const samples = rows.map(() => [] as Sample[]);
  for (let round = 0; round <= rounds; round++)
    for (const [index, row] of rows.entries()) {
      const sample = await sampleOf(row, cluster, round);
      if (round > 0) samples[index]?.push(sample);
    }
  return samples;
}

async function sampleOf({ name, server, ask }: Row, cluster: Cluster, round: number): Promise<Sample> {
  const before = { own: cpuSeconds(server.child.pid), database: cluster.cpuSeconds() };
  const { requests, seconds, p50, p99, failed, refused } = await load(server.port, ask, 1, round + 1);
  if (failed + refused > 0) throw new Error(`${name}: ${failed} requests failed, ${refused} were refused`);
  const each = (used: number) => (used / requests) * 1e6;
  return {
    rate: requests / seconds,
    p50,
    p99,
    cpu: each(cpuSeconds(server.child.pid) - before.own),
    databaseCpu: each(cluster.cpuSeconds() - before.database),
  };
}

function print(rows: readonly Row[], samples: readonly Sample[][]): void {
  const widest = Math.max(...rows.map(({ name }) => name.length));
  console.log(
    `Node ${process.version}, ${GENERATOR}, ${CONNECTIONS} connections, median of ${rounds} interleaved rounds of 1 s`,
  );
  console.log(`${' '.repeat(widest)}  requests/s   p50 ms   p99 ms  CPU µs/request  database's CPU`);
  for (const [index, { name }] of rows.entries()) {
    const of = (figure: keyof Sample) => median((samples[index] as Sample[]).map((sample) => sample[figure]));
    const cells = [
      shown(of('rate')).padStart(10),
      (of('p50') / 1000).toFixed(2).padStart(7),
      (of('p99') / 1000).toFixed(2).padStart(7),
      of('cpu').toFixed(1).padStart(14),
      of('databaseCpu').toFixed(1).padStart(14),
    ];
    console.log(`${name.padEnd(widest)}  ${cells.join('  ')}`);
  }
}

if (flags.help) console.log(HELP);
else await bench();
