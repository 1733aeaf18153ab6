// npm run bench: Vitrine next to its alternatives, with the same data, in one table; whether promised figures hold.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startRows } from './contenders.ts';
import type { Size } from './dataset.ts';
import { missedLine } from './figures.ts';
import { isBusy, QUIET_SHARE, watchOthers } from './other-processes.ts';
import { type Part, partsOf, runPart } from './parts.ts';
import { atRest } from './processes.ts';
import { publish } from './publish.ts';
import { about, percent, table, tails } from './report.ts';
import { check, GROUPS, type Group } from './rows.ts';
import { boundsOf, type Measured, measure, othersShare } from './sampling.ts';
import { createStage } from './stage.ts';

const HELP = `npm run bench -- [flags]
  --long          more users, more and longer rounds, and also size.ts, start.ts, import.ts and workers.ts: about
                  half an hour instead of 3 minutes, and 20 GB of disk
  --publish       writes the figures to src/guides/benchmark.md, test/bench/requests.svg and README.md
  --only GROUP    ${GROUPS.join(', ')}
  --users N       how many users have items; five times as many have a profile
  --rounds N      how often each row is measured
  --seconds N     how long, each time
  --data FOLDER   keeps the data there for the next run

It exits with 1 if a promised figure is missed, and prints a line that starts with "missed:".

Figures from a busy machine mislead, so --publish does not write them, and exits with 1. Whether it is busy is decided
while the rows are measured, by the share of the machine's CPU that went to processes which this one did not start, or,
in a virtual machine, to others on the same host. The machine is busy if the median over all samples is above ${QUIET_SHARE * 100}%,
or the share during one of the other programs. Before --publish starts, it watches for three seconds as well.`;

const { values: flags } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    long: { type: 'boolean', default: false },
    publish: { type: 'boolean', default: false },
    only: { type: 'string' },
    users: { type: 'string' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    data: { type: 'string' },
  },
});

/** How long the machine is watched before a run that is to be published. */
const IDLE_MS = 3000;

async function bench(): Promise<void> {
  const wrong = misuse();
  if (wrong !== undefined) {
    console.error(wrong);
    process.exitCode = 2;
    return;
  }
  const plan = planned();
  if (flags.publish && isBusyFor(await idleShare())) return refuse();
  const folder = resolve(flags.data ?? mkdtempSync(join(tmpdir(), 'vitrine-bench-')));
  mkdirSync(folder, { recursive: true });
  try {
    const rows = await measureGroups(folder, plan);
    const heading = about(rows, plan.rounds, plan.seconds);
    console.log([...heading, '', table(rows), '', ...tails(rows)].join('\n'));
    const parts = plan.long ? await runParts(folder) : [];
    reportMissed(rows, parts);
    const busy = isBusyFor(othersShare(rows), ...parts.map(({ others }) => others));
    if (!flags.publish) return;
    if (busy) return refuse();
    publish({ about: heading, rows, sentences: parts.flatMap(({ sentences }) => sentences) });
  } finally {
    if (flags.data === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

interface Plan {
  readonly long: boolean;
  readonly groups: readonly Group[];
  readonly size: Size;
  readonly rounds: number;
  readonly seconds: number;
}

/** Why these flags do not go together, as a sentence. */
function misuse(): string | undefined {
  const { only, users, rounds, seconds } = flags;
  if (only !== undefined && !(GROUPS as readonly string[]).includes(only))
    return `--only must be one of ${GROUPS.join(', ')}, not ${only}`;
  const numbers = [users, rounds, seconds].filter((flag) => flag !== undefined);
  if (!numbers.every((text) => /^[1-9]\d*$/.test(text)))
    return '--users, --rounds and --seconds must be whole numbers from 1 on';
  if (flags.publish && only !== undefined) return '--publish writes a whole run: leave out --only';
  return undefined;
}

function planned(): Plan {
  const { only, long } = flags;
  const users = Number(flags.users ?? (long ? 200_000 : 60_000));
  return {
    long: long && only === undefined,
    groups: GROUPS.filter((group) => only === undefined || group === only),
    size: { users, profiles: 5 * users },
    rounds: Number(flags.rounds ?? (long ? 9 : 3)),
    seconds: Number(flags.seconds ?? (long ? 3 : 1)),
  };
}

async function measureGroups(folder: string, { groups, size, rounds, seconds }: Plan): Promise<Measured[]> {
  onProgress('making the data and starting the servers');
  const stage = createStage(folder, size);
  const rows = [];
  for (const group of groups) rows.push(...(await startRows(group, stage)));
  for (const row of rows) await check(row);
  for (const { server } of rows) await atRest(server);
  const measured = await measure(rows, { rounds, seconds, onProgress });
  await Promise.all(rows.map(({ server }) => server.stop()));
  onProgress('');
  return measured;
}

async function runParts(folder: string): Promise<Part[]> {
  const parts: Part[] = [];
  for (const [name, ...args] of partsOf(folder)) {
    console.log(`\n${name}.ts`);
    parts.push(await runPart(name, ...args));
  }
  return parts;
}

function reportMissed(rows: readonly Measured[], parts: readonly Part[]): void {
  const own = boundsOf(rows).map(missedLine);
  const missed = [...own, ...parts.flatMap((part) => part.missed)].filter((line) => line !== undefined);
  if (missed.length === 0) return;
  console.log(`\n${missed.join('\n')}`);
  process.exitCode = 1;
}

/** Whether one of these shares is too large; says so. */
function isBusyFor(...shares: readonly (number | undefined)[]): boolean {
  if (shares.includes(undefined)) console.log('\nWithout /proc nobody knows whether this machine is busy.');
  const share = shares.filter((one) => one !== undefined).reduce((one, two) => Math.max(one, two), 0);
  if (!isBusy(share)) return false;
  const [used, limit] = [percent(share), percent(QUIET_SHARE)];
  console.log(
    `\nThe machine is busy: other processes used ${used} of its CPU (limit ${limit}). Figures mislead.`,
  );
  return true;
}

function refuse(): void {
  console.error('Nothing was published.');
  process.exitCode = 1;
}

async function idleShare(): Promise<number | undefined> {
  const share = watchOthers();
  await delay(IDLE_MS);
  return share();
}

function onProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}

if (flags.help) console.log(HELP);
else await bench();
