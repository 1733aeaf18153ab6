// How long a start takes: from the spawn of `vitrine serve` to its first response, next to a Fastify server with one route.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { vitrineDatabase } from './dataset.ts';
import { holdBounds, median, medianRatio, shown } from './figures.ts';
import { cpuMilliseconds, type Process, start } from './processes.ts';
import { startVitrine } from './vitrine.ts';

const HELP = `node test/bench/start.ts [flags]
  --rounds N   how often each is started (15)

Both are started without a compile cache, and with one that an earlier start has filled. It exits with 1 if a promised
figure is missed, and prints a line that starts with "missed:".`;

const { values: flags } = parseArgs({
  options: { help: { type: 'boolean', default: false }, rounds: { type: 'string', default: '15' } },
});

const USERS = 100;
const PROBE = '/a/api/?user=user1';
const PEER = join(import.meta.dirname, 'peers/fastify-typebox.ts');
const PROMISED = 1.3;

interface Cost {
  readonly ms: number;
  readonly cpu: number;
}

interface Case {
  readonly name: string;
  readonly vitrine: () => Promise<Process>;
  readonly peer: () => Promise<Process>;
}

async function bench(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'vitrine-start-'));
  try {
    const database = await vitrineDatabase(folder, { users: USERS, profiles: USERS });
    const bounds = [];
    for (const one of casesWith(database, join(folder, 'compile-cache'))) {
      await warmUp(one);
      bounds.push({ where: 'start', what: one.name, figure: await compare(one), promised: PROMISED });
    }
    holdBounds(bounds);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Vitrine keeps its compile cache where it always does; the peer gets one of its own. */
function casesWith(database: string, peerCache: string): Case[] {
  const none = { NODE_DISABLE_COMPILE_CACHE: '1' };
  const startPeer = (env: Record<string, string>) => () =>
    start(() => [process.execPath, PEER], { env, probe: PROBE });
  return [
    {
      name: 'without a compile cache',
      vitrine: () => startVitrine(database, { env: none, probe: PROBE }),
      peer: startPeer(none),
    },
    {
      name: 'with a compile cache',
      vitrine: () => startVitrine(database, { probe: PROBE }),
      peer: startPeer({ NODE_COMPILE_CACHE: peerCache }),
    },
  ];
}

/** Fills the page cache and the compile caches, which are written at an orderly exit. */
async function warmUp({ vitrine, peer }: Case): Promise<void> {
  for (const run of [vitrine, peer]) {
    const server = await run();
    const { status } = await fetch(`http://127.0.0.1:${server.port}${PROBE}`);
    if (status !== 200) throw new Error(`${server.child.spawnargs.join(' ')} responds with ${status}`);
    await server.stop('SIGTERM');
  }
}

/** The ratio of the times to the first response. */
async function compare({ name, vitrine, peer }: Case): Promise<number> {
  const [own, theirs]: [Cost[], Cost[]] = [[], []];
  for (let round = 0; round < Number(flags.rounds); round++) {
    own.push(await costOf(vitrine));
    theirs.push(await costOf(peer));
  }
  const of = (costs: readonly Cost[], figure: keyof Cost) => costs.map((cost) => cost[figure]);
  const ratio = (figure: keyof Cost) => medianRatio(of(own, figure), of(theirs, figure));
  const shownMedian = (costs: readonly Cost[], figure: keyof Cost) => shown(median(of(costs, figure)));
  console.log(
    `- From start to first response ${name}: ${shownMedian(own, 'ms')} ms, ${ratio('ms').toFixed(2)} times that of a Fastify server with TypeBox and one route, ${shownMedian(theirs, 'ms')} ms (promised: at most ${PROMISED}); CPU ${shownMedian(own, 'cpu')} against ${shownMedian(theirs, 'cpu')} ms, ${ratio('cpu').toFixed(2)} times.`,
  );
  return ratio('ms');
}

async function costOf(run: () => Promise<Process>): Promise<Cost> {
  const server = await run();
  const cost = { ms: server.startMs, cpu: cpuMilliseconds(server.child.pid) };
  await server.stop();
  return cost;
}

if (flags.help) console.log(HELP);
else await bench();
