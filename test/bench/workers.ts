// What several processes on one port cost: CPU per request with two workers against one, in rounds that interleave.
//   node test/bench/workers.ts [--workers 2] [--rounds 7] [--seconds 2]
// Each worker has as many connections. Where the load shares the cores with the workers, as it does on two, throughput
// says little: the CPU of a request does.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { vitrineDatabase } from './dataset.ts';
import { CONNECTIONS, load } from './load.ts';
import { cpuSeconds, type Process, start } from './processes.ts';
import { median } from './report.ts';

const { values: flags } = parseArgs({
  options: {
    workers: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '2' },
  },
});
const USERS = 20_000;
const VITRINE = join(import.meta.dirname, '../../src/vitrine.js');
const ASK = { before: '/a/api/?user=user', users: USERS, after: '&post=true' };

const folder = mkdtempSync(join(tmpdir(), 'vitrine-workers-'));
try {
  const database = vitrineDatabase(folder, { users: USERS, profiles: USERS });
  const counts = ['1', flags.workers];
  const sides = await Promise.all(
    counts.map(async (workers) => ({
      workers,
      server: await start(
        () => [process.execPath, VITRINE, 'serve'],
        { DATABASE_URL: database, WORKERS: workers },
        { probe: '/healthz', role: 'anything' },
      ),
      rates: [] as number[],
      costs: [] as number[],
    })),
  );
  for (let round = 0; round <= Number(flags.rounds); round++) {
    for (const { workers, server, rates, costs } of sides) {
      const before = familyCpuSeconds(server);
      const { requests, seconds } = await load(server.port, ASK, Number(flags.seconds), round, {
        role: 'anything',
        connections: CONNECTIONS * Number(workers),
      });
      if (round === 0) continue;
      rates.push(requests / seconds);
      costs.push(((familyCpuSeconds(server) - before) / requests) * 1e6);
    }
  }
  for (const { workers, server, rates, costs } of sides) {
    console.log(
      `WORKERS=${workers}: ${Math.round(median(rates)).toLocaleString('en')} requests/s, ${median(costs).toFixed(1)} µs of CPU a request`,
    );
    await server.stop();
  }
  const [one, several] = sides as [(typeof sides)[0], (typeof sides)[0]];
  const ratio = (figure: 'rates' | 'costs') =>
    median(several[figure].map((value, round) => value / (one[figure][round] as number))).toFixed(2);
  console.log(`CPU a request ${ratio('costs')} ×, requests/s ${ratio('rates')} ×`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** The CPU of a process and of its children. */
function familyCpuSeconds(server: Process): number {
  const { pid } = server.child;
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  return [String(pid), ...children].reduce((sum, one) => sum + cpuSeconds(one), 0);
}
