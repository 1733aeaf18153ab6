// npm run bench: Vitrine beside its alternatives, on the same data, in one table and one plot.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { BARE, check, type Row, startAll } from './contenders.ts';
import { CONNECTIONS, GENERATOR, load } from './load.ts';
import { plot } from './plot.ts';
import { atRest, cpuSeconds } from './processes.ts';
import { type Figures, machine, markdown, median, table } from './report.ts';

const HELP = `npm run bench -- [flags]
  --long            more users, more and longer rounds (about ten minutes instead of two)
  --only GROUP      items, profile, 304 or 404
  --markdown FILE   writes the table as Markdown too
  --plot FILE       draws the items' part as SVG
  --data FOLDER     keeps the data there for the next run`;

const { values: flags } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    long: { type: 'boolean', default: false },
    only: { type: 'string' },
    markdown: { type: 'string' },
    plot: { type: 'string' },
    data: { type: 'string' },
  },
});
if (flags.help) {
  console.log(HELP);
  process.exit();
}

const size = flags.long ? { users: 200_000, profiles: 1_000_000 } : { users: 60_000, profiles: 300_000 };
const [rounds, seconds] = flags.long ? [9, 3] : [3, 1];
/** Until the code that is asked for most has been compiled. */
const WARM_UP = 2;
/** A machine that is busy with something else makes Vitrine turn requests away: then a sample is taken again. */
const ATTEMPTS = 5;

const folder = resolve(flags.data ?? mkdtempSync(join(tmpdir(), 'vitrine-bench-')));
mkdirSync(folder, { recursive: true });
try {
  progress('making the data');
  const rows = (await startAll(folder, size)).filter(
    ({ group }) => flags.only === undefined || group === flags.only,
  );
  for (const row of rows) await check(row);
  for (const { server } of rows) await atRest(server);
  const figures = await timed(rows);
  await Promise.all(rows.map(({ server }) => server.stop()));

  const about = machine({ generator: GENERATOR, connections: CONNECTIONS, rounds, seconds });
  progress('');
  console.log(`${about.join('\n')}\n\n${table(figures)}`);
  if (flags.markdown !== undefined) writeFileSync(flags.markdown, markdown(about, figures));
  if (flags.plot !== undefined) writeFileSync(flags.plot, plot(figures));
} finally {
  if (flags.data === undefined) rmSync(folder, { recursive: true, force: true });
}

/** Round by round, each row right after the others, so that what the machine does meanwhile hits all alike. */
async function timed(rows: readonly Row[]): Promise<Figures[]> {
  const samples = rows.map(() => [] as Sample[]);
  for (let round = 0; round <= rounds; round++) {
    for (const [index, row] of rows.entries()) {
      progress(
        round === 0
          ? `warming up: ${row.group}, ${row.name}`
          : `round ${round} of ${rounds}: ${row.group}, ${row.name}`,
      );
      const sample = await sampleOf(row, round === 0 ? WARM_UP : seconds, round);
      if (round > 0) samples[index]?.push(sample);
    }
  }
  return rows.map(({ group, name, promise }, index) => {
    const own = samples[index] as Sample[];
    const bare = samples[rows.findIndex((row) => row.group === group && row.name === BARE)] as Sample[];
    const of = (figure: keyof Sample) => median(own.map((sample) => sample[figure]));
    const ratio = median(own.map(({ cpu }, round) => cpu / (bare[round] as Sample).cpu));
    return {
      group,
      name,
      rate: of('rate'),
      p50: of('p50'),
      p99: of('p99'),
      cpu: of('cpu'),
      ratio,
      ...(promise && { promise }),
    };
  });
}

interface Sample {
  /** Requests per second. */
  readonly rate: number;
  /** Microseconds. */
  readonly p50: number;
  readonly p99: number;
  /** Microseconds per request. */
  readonly cpu: number;
}

async function sampleOf({ group, name, server, ask }: Row, seconds: number, seed: number): Promise<Sample> {
  for (let attempt = 1; ; attempt++) {
    const before = cpuSeconds(server.child.pid);
    const {
      requests,
      seconds: took,
      p50,
      p99,
      failed,
      refused,
    } = await load(server.port, ask, seconds, seed);
    const used = cpuSeconds(server.child.pid) - before;
    if (failed === 0 && (refused === 0 || group === '404'))
      return { rate: requests / took, p50, p99, cpu: (used / requests) * 1e6 };
    if (attempt === ATTEMPTS) throw new Error(`${name} (${group}): ${failed} failed, ${refused} refused`);
  }
}

function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}
