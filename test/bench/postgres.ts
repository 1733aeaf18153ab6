// What PostgreSQL costs beside SQLite, answers ready and not, and beside Express asking the same database by hand.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { startCluster } from '../postgres-rig.ts';
import { addressOf, startVitrine } from './contenders.ts';
import { writePeople } from './data.ts';
import { type Ask, CONNECTIONS, GENERATOR, load } from './load.ts';
import { atRest, cpuSeconds, type Process, start } from './processes.ts';

const HELP = `node test/bench/postgres.ts [flags]
  --users N    how many users, each with 15 items (20000)
  --rounds N   how often each row is timed (5), for a second each`;

const { values: flags } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    users: { type: 'string', default: '20000' },
    rounds: { type: 'string', default: '5' },
  },
});
if (flags.help) {
  console.log(HELP);
  process.exit();
}

const ITEMS_EACH = 15;
/** Asked for again and again, so that their answers are ready. */
const READY_USERS = 1000;
const users = Number(flags.users);
const rounds = Number(flags.rounds);
const VITRINE = join(import.meta.dirname, '../../src/vitrine.js');
const run = promisify(execFile);

// The members as columns of ordinary tables, from the views, with the indexes that anybody would make.
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

/** One round of one row: requests per second, and microseconds per request. */
type Sample = readonly [rate: number, p50: number, p99: number, cpu: number, databaseCpu: number];

const folder = mkdtempSync(join(tmpdir(), 'vitrine-bench-postgres-'));
const cluster = await startCluster();
const started: Process[] = [];
try {
  const file = join(folder, 'people.ndjson');
  await writePeople(file, users, ITEMS_EACH);
  const sqlite = join(folder, 'people.db');
  const database = await cluster.createDatabase();
  const postgres = cluster.url(database);
  for (const url of [sqlite, postgres]) {
    const before = performance.now();
    await run(process.execPath, [VITRINE, 'import', '--database-url', url, file]);
    const seconds = (performance.now() - before) / 1000;
    const rate = Math.round((users * (ITEMS_EACH + 1)) / seconds).toLocaleString('en');
    console.log(`import into ${url === sqlite ? 'SQLite' : 'PostgreSQL'}: ${rate} records/s`);
  }
  await cluster.primary.sql(ORDINARY, database);

  const rows = await startAll(sqlite, postgres);
  for (const row of rows) await check(row, rows[0] as Row);
  for (const server of started) await atRest(server);
  const samples = rows.map(() => [] as Sample[]);
  for (let round = 0; round <= rounds; round++)
    for (const [index, row] of rows.entries()) {
      const sample = await sampleOf(row, round);
      if (round > 0) samples[index]?.push(sample);
    }
  print(rows, samples);
} finally {
  for (const server of started) await server.stop();
  await cluster.remove();
  rmSync(folder, { recursive: true, force: true });
}

async function startAll(sqlite: string, postgres: string): Promise<Row[]> {
  const peer = () =>
    start(() => [process.execPath, join(import.meta.dirname, 'peers/express-postgres.ts')], {
      DATABASE_URL: postgres,
    });
  const one = async (server: Promise<Process>) => {
    started.push(await server);
    return await server;
  };
  const items = (count: number): Ask => ({ before: '/a/api/?user=user', users: count, after: '&post=true' });
  const profiles = (count: number): Ask => ({ before: '/a/api/?user=user', users: count, after: '' });
  const ready = [await one(startVitrine(sqlite)), await one(startVitrine(postgres))] as const;
  const wide = [await one(startVitrine(sqlite)), await one(startVitrine(postgres))] as const;
  const express = await one(peer());
  return [
    { name: '15 items, SQLite, answer ready', server: ready[0], ask: items(READY_USERS) },
    { name: '15 items, PostgreSQL, answer ready', server: ready[1], ask: items(READY_USERS) },
    { name: `15 items, SQLite, random of ${users} users`, server: wide[0], ask: items(users) },
    { name: `15 items, PostgreSQL, random of ${users} users`, server: wide[1], ask: items(users) },
    { name: `15 items, Express + pg, random of ${users} users`, server: express, ask: items(users) },
    { name: `profile, SQLite, random of ${users} users`, server: wide[0], ask: profiles(users) },
    { name: `profile, PostgreSQL, random of ${users} users`, server: wide[1], ask: profiles(users) },
    { name: `profile, Express + pg, random of ${users} users`, server: express, ask: profiles(users) },
  ];
}

/** Every row answers like the first would, or is not timed. */
async function check({ name, server, ask }: Row, first: Row): Promise<void> {
  for (const user of [1, 2, users]) {
    const address = addressOf(ask, user);
    const [got, wanted] = await Promise.all([server, first.server].map((of) => bodyOf(of, address)));
    if (got !== wanted)
      throw new Error(`${name} answers ${got?.slice(0, 300)}…, not ${wanted?.slice(0, 300)}…`);
  }
}

/** As JSON, since PostgreSQL puts spaces into what it makes. */
async function bodyOf({ port }: Process, address: string): Promise<string> {
  return JSON.stringify(await (await fetch(`http://127.0.0.1:${port}${address}`)).json());
}

async function sampleOf({ name, server, ask }: Row, round: number): Promise<Sample> {
  const before = [cpuSeconds(server.child.pid), cluster.cpuSeconds()] as const;
  const { requests, seconds, p50, p99, failed, refused } = await load(server.port, ask, 1, round + 1);
  if (failed + refused > 0) throw new Error(`${name}: ${failed} failed, ${refused} refused`);
  const each = (used: number) => (used / requests) * 1e6;
  return [
    requests / seconds,
    p50,
    p99,
    each(cpuSeconds(server.child.pid) - before[0]),
    each(cluster.cpuSeconds() - before[1]),
  ];
}

function print(rows: readonly Row[], samples: readonly Sample[][]): void {
  const widest = Math.max(...rows.map(({ name }) => name.length));
  const median = (numbers: number[]) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1] as number;
  console.log(
    `Node ${process.version}, ${GENERATOR}, ${CONNECTIONS} connections, median of ${rounds} interleaved rounds of 1 s`,
  );
  console.log(`${' '.repeat(widest)}  requests/s   p50 ms   p99 ms  CPU µs/request  database's CPU`);
  for (const [index, { name }] of rows.entries()) {
    const of = (column: number) =>
      median((samples[index] as Sample[]).map((sample) => sample[column] as number));
    const cells = [
      Math.round(of(0)).toLocaleString('en').padStart(10),
      (of(1) / 1000).toFixed(2).padStart(7),
      (of(2) / 1000).toFixed(2).padStart(7),
      of(3).toFixed(1).padStart(14),
      of(4).toFixed(1).padStart(14),
    ];
    console.log(`${name.padEnd(widest)}  ${cells.join('  ')}`);
  }
}
