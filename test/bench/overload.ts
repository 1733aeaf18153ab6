// Overload: with far more requests than it can answer, the server must send 503, answer probes, stay alive and recover.
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import type { Flood } from './flood.ts';
import { residentBytes } from './processes.ts';
import { type Serving, serve } from './vitrine.ts';

const HELP = `node test/bench/overload.ts [flags]
  --seconds N            how long (30)
  --connections N        how many connections (2000)
  --pipeline N           how many requests each sends ahead (16)
  --max-loop-delay TIME  MAX_LOOP_DELAY of the server (100ms)

It exits with 1 if the server does not do all of that.`;

const { values: flags } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '30' },
    connections: { type: 'string', default: '2000' },
    pipeline: { type: 'string', default: '16' },
    'max-loop-delay': { type: 'string', default: '100ms' },
  },
});

const RECOVERY_MS = 10_000;
/** So many requests in a row must succeed. */
const RECOVERED = 20;

async function bench(): Promise<void> {
  const serving = await serve('--samples', '--max-loop-delay', flags['max-loop-delay']);
  try {
    if (!(await overload(serving))) process.exitCode = 1;
  } finally {
    serving.child.kill('SIGKILL');
  }
}

type Ask = (path: string) => Promise<number>;

async function overload(serving: Serving): Promise<boolean> {
  const { child, url, adminUrl } = serving;
  // A load balancer keeps its connection: a new one would wait behind thousands of others to be accepted.
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ask = asker(url, agent);
  await ask('/healthz');
  const flood = await startFlood(Number(new URL(url).port));
  const probes = await probe(ask);
  const memory = residentBytes(child.pid) / 2 ** 20;
  flood.postMessage('stop');
  const [faulty] = (await once(flood, 'message')) as [number];
  const recovered = await recoveryTime(ask);
  agent.destroy();
  const statuses = await countedStatuses(adminUrl);
  const at = (share: number) =>
    (probes[Math.min(probes.length - 1, Math.floor(share * probes.length))] ?? 0).toFixed(0);
  console.log(
    `responses in ${flags.seconds} s on ${flags.connections} connections: ${JSON.stringify(statuses)}`,
  );
  console.log(
    `${probes.length} probes: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, slowest ${at(1)} ms; ${memory.toFixed(0)} MB of memory`,
  );
  const checks: [string, boolean][] = [
    ['it refused with 503', (statuses['503'] ?? 0) > 0],
    ['each 503 had Retry-After', faulty === 0],
    ['it went on serving', (statuses['200'] ?? 0) > 0],
    ['it stayed alive', child.exitCode === null],
    [`it recovered within ${(recovered ?? RECOVERY_MS).toFixed(0)} ms`, recovered !== undefined],
  ];
  for (const [what, holds] of checks) console.log(`${holds ? 'ok  ' : 'FAIL'} ${what}`);
  return checks.every(([, holds]) => holds);
}

function asker(url: string, agent: Agent): Ask {
  return (path) =>
    new Promise((resolve, reject) => {
      const sent = request(new URL(path, url), { agent }, (response) => {
        response.resume().once('end', () => resolve(response.statusCode ?? 0));
      });
      sent.once('error', reject).end();
    });
}

async function startFlood(port: number): Promise<Worker> {
  const workerData: Flood = {
    port,
    connections: Number(flags.connections),
    pipeline: Number(flags.pipeline),
  };
  const flood = new Worker(new URL('flood.ts', import.meta.url), { workerData });
  await once(flood, 'message');
  return flood;
}

/** How long each probe took, in milliseconds, the fastest first. */
async function probe(ask: Ask): Promise<number[]> {
  const times: number[] = [];
  const until = performance.now() + Number(flags.seconds) * 1000;
  while (performance.now() < until) {
    const asked = performance.now();
    const status = await ask('/healthz');
    if (status !== 200) throw new Error(`/healthz responded with ${status}`);
    times.push(performance.now() - asked);
    await delay(200);
  }
  return times.sort((a, b) => a - b);
}

/** Milliseconds until requests succeed again; undefined if they do not. */
async function recoveryTime(ask: Ask): Promise<number | undefined> {
  const started = performance.now();
  let recovered = 0;
  for (let inRow = 0; inRow < RECOVERED; ) {
    if (performance.now() - started > RECOVERY_MS) return undefined;
    inRow = (await ask('/a/api/?user=ada')) === 200 ? inRow + 1 : 0;
    if (inRow === 1) recovered = performance.now() - started;
  }
  return recovered;
}

/** How many responses the server has counted with each status. */
async function countedStatuses(adminUrl: string): Promise<Record<string, number>> {
  const metrics = await (await fetch(`${adminUrl}/metrics`)).text();
  const statuses: Record<string, number> = {};
  for (const [, status = '', count] of metrics.matchAll(
    /^vitrine_requests_total\{.*status="(\d+)".*\} (\d+)$/gm,
  ))
    statuses[status] = (statuses[status] ?? 0) + Number(count);
  return statuses;
}

if (flags.help) console.log(HELP);
else await bench();
