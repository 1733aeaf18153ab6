// What pipelining buys over a pg.Pool of as many connections: lookups with no network and with one of 1 ms each way.
import { parseArgs } from 'node:util';
import pg from 'pg';
import { startProxy } from '../postgres-proxy.ts';
import { startCluster } from '../postgres-rig.ts';

const HELP = `node test/bench/pipeline.ts [flags]
  --lookups N   how many each row makes (20000)
  --rounds N    how often each row is timed (5); the best is shown`;

const { values: flags } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    lookups: { type: 'string', default: '20000' },
    rounds: { type: 'string', default: '5' },
  },
});
if (flags.help) {
  console.log(HELP);
  process.exit();
}

const CONNECTIONS = 4;
const USERS = 5000;
/** How many lookups are on their way at a time. */
const WIDTH = 128;
const lookups = Number(flags.lookups);

type LookUp = (user: string) => Promise<unknown>;

const queryOf = (user: string) => ({
  name: 'lookup',
  text: 'SELECT list FROM lists WHERE user_key = $1',
  values: [user],
});

async function perSecond(lookUp: LookUp): Promise<number> {
  let next = 0;
  const started = performance.now();
  const loop = async () => {
    while (next < lookups) await lookUp(`user${(next++ * 7919) % USERS}`);
  };
  await Promise.all(Array.from({ length: WIDTH }, loop));
  return (lookups / (performance.now() - started)) * 1000;
}

const cluster = await startCluster();
const database = await cluster.createDatabase();
await cluster.primary.sql(
  `CREATE TABLE lists (user_key text PRIMARY KEY, list text);
   INSERT INTO lists SELECT 'user' || n, repeat('{"id":"1","text":"some words"},', 200) FROM generate_series(0, ${USERS}) AS n;
   ANALYZE lists`,
  database,
);
for (const delay of [0, 1]) {
  const proxy = delay === 0 ? undefined : await startProxy(cluster.primary.port, { delay });
  const [host, port] = (proxy ?? cluster.primary).address.split(':');
  const at = { host, port: Number(port), user: 'owner', database };
  const pool = new pg.Pool({ ...at, max: CONNECTIONS });
  const clients = Array.from({ length: CONNECTIONS }, () => new pg.Client({ ...at, pipeline: true }));
  await Promise.all(clients.map((client) => client.connect()));
  let turn = 0;
  const rows: [string, LookUp][] = [
    ['pg.Pool', (user) => pool.query(queryOf(user))],
    ['pipelined', (user) => (clients[turn++ % CONNECTIONS] as pg.Client).query(queryOf(user))],
  ];
  const best = rows.map(() => 0);
  for (let round = 0; round < Number(flags.rounds); round++)
    for (const [index, [, lookUp]] of rows.entries())
      best[index] = Math.max(best[index] as number, await perSecond(lookUp));
  for (const [index, [name]] of rows.entries())
    console.log(
      `${2 * delay} ms round trip, ${name.padEnd(9)} ${Math.round(best[index] as number)} lookups/s`,
    );
  await Promise.all([pool.end(), ...clients.map((client) => client.end())]);
  proxy?.close();
}
await cluster.remove();
