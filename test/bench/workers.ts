// What several processes on one port cost: CPU per request with two workers against one, in interleaved rounds.
// Each worker has as many connections. On two cores the load shares them with the workers, so throughput says little.
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { vitrineDatabase } from './dataset.ts';
import { median, medianRatio, shown } from './figures.ts';
import { CONNECTIONS, load } from './load.ts';
import { cpuSeconds, type Process } from './processes.ts';
import { startVitrine } from './vitrine.ts';

const HELP = `node test/bench/workers.ts [flags]
  --workers N     how many workers are compared with one (2)
  --users N       how many random users are requested (20000)
  --rounds N      how often both are measured (7)
  --seconds N     how long, each time (2)
  --data FOLDER   keeps the data there for the next run`;

const { values: flags } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    workers: { type: 'string', default: '2' },
    users: { type: 'string', default: '20000' },
    rounds: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '2' },
    data: { type: 'string' },
  },
});

interface Side {
  readonly workers: string;
  readonly server: Process;
  /** Requests per second, and microseconds of CPU per request. */
  readonly rates: number[];
  readonly costs: number[];
}

async function bench(): Promise<void> {
  const folder = resolve(flags.data ?? mkdtempSync(join(tmpdir(), 'vitrine-workers-')));
  mkdirSync(folder, { recursive: true });
  try {
    const users = Number(flags.users);
    const database = await vitrineDatabase(folder, { users, profiles: users });
    const [one, several] = [await startSide(database, '1'), await startSide(database, flags.workers)];
    for (const side of [one, several]) await sample(side, 0);
    for (let round = 1; round <= Number(flags.rounds); round++)
      for (const side of [one, several]) {
        const { rate, cost } = await sample(side, round);
        side.rates.push(rate);
        side.costs.push(cost);
      }
    report(one, several);
    for (const { server } of [one, several]) await server.stop();
  } finally {
    if (flags.data === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

async function startSide(database: string, workers: string): Promise<Side> {
  const server = await startVitrine(database, { env: { WORKERS: workers }, role: 'anywhere' });
  return { workers, server, rates: [], costs: [] };
}

async function sample({ workers, server }: Side, round: number) {
  const ask = { before: '/a/api/?user=user', users: Number(flags.users), after: '&post=true' };
  const connections = CONNECTIONS * Number(workers);
  const before = familyCpuSeconds(server);
  const { requests, seconds, failed, refused } = await load(server.port, ask, Number(flags.seconds), round, {
    role: 'anywhere',
    connections,
  });
  if (failed + refused > 0)
    console.log(`WORKERS=${workers}: ${failed} requests failed, ${refused} were refused`);
  return { rate: requests / seconds, cost: ((familyCpuSeconds(server) - before) / requests) * 1e6 };
}

/** The CPU of a process and its children. */
function familyCpuSeconds({ child: { pid } }: Process): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  return [String(pid), ...children].reduce((sum, one) => sum + cpuSeconds(one), 0);
}

function report(one: Side, several: Side): void {
  for (const { workers, rates, costs } of [one, several])
    console.log(
      `WORKERS=${workers}: ${shown(median(rates))} requests/s, ${median(costs).toFixed(1)} µs of CPU per request`,
    );
  console.log(
    `- ${several.workers} workers take ${medianRatio(several.costs, one.costs).toFixed(2)} times the CPU per request of one, and answer ${medianRatio(several.rates, one.rates).toFixed(2)} times as many requests per second.`,
  );
}

if (flags.help) console.log(HELP);
else await bench();
