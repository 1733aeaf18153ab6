// npm run bench: Vitrine next to its alternatives, with the same data, and whether the promised figures hold.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createContenders } from './contenders.ts';
import { COSTS } from './costs.ts';
import { WRK } from './load.ts';
import { GROUP_NAMES, startGroup } from './lookups.ts';
import { check, measure, type Promised, type Row, rowPromises } from './measure.ts';
import { describeMissed, publish, publishScale, writeReport } from './report.ts';
import { measureScale } from './scale.ts';
import { stopAll } from './servers.ts';

const PARTS = [...GROUP_NAMES, ...Object.keys(COSTS), 'scale'];
const SIZES = [10_000, 100_000, 1_000_000];
const QUIET_SHARE = 0.05;

const HELP = `npm run bench -- [flags]
  --only PART     one of: ${PARTS.join('; ')}
  --users N       how many users there are, with 15 items each (20000)
  --rounds N      how often each row is measured, for a second each time (4)
  --publish       writes the tables to src/guides/promises.md and README.md, unless the machine is busy;
                  with --only scale to src/guides/capacity.md

scale takes 30 minutes and 25 GB of disk, and is no part of a whole run. --users makes it measure this size only.

It needs wrk. The figures are ratios of CPU per request, the least of all rounds. It exits with 1 if a promise is missed, or
if others used more than ${QUIET_SHARE * 100}% of the machine's CPU between the rounds: then figures mislead.`;

const { values: flags } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    only: { type: 'string' },
    users: { type: 'string', default: '20000' },
    rounds: { type: 'string', default: '4' },
    publish: { type: 'boolean', default: false },
  },
});
const [users, rounds] = [Number(flags.users), Number(flags.rounds)];

/** Why these flags do not go together. */
function misuse(): string | undefined {
  if (flags.only !== undefined && !PARTS.includes(flags.only))
    return `--only must be one of: ${PARTS.join('; ')}`;
  if (![users, rounds].every((number) => Number.isInteger(number) && number > 0))
    return '--users and --rounds must be whole numbers from 1 on';
  if (flags.publish && flags.only !== undefined && flags.only !== 'scale')
    return '--publish writes a whole run: leave out --only';
  return WRK === undefined ? 'wrk must be installed: apt-get install wrk' : undefined;
}

const isWanted = (part: string) => flags.only === undefined || flags.only === part;

async function scale(folder: string): Promise<void> {
  const sizes = process.argv.some((word) => word.startsWith('--users')) ? [users] : SIZES;
  const text = await measureScale(folder, sizes, onProgress);
  onProgress('');
  console.log(text);
  if (flags.publish) publishScale(text);
}

async function bench(folder: string): Promise<void> {
  onProgress('making the data and starting the servers');
  const contenders = createContenders(folder, users);
  const rows: Row[] = [];
  for (const group of GROUP_NAMES.filter(isWanted)) rows.push(...(await startGroup(group, contenders)));
  await check(rows);
  const { measured, others } = await measure(rows, rounds, onProgress);
  const costs: Promised[] = [];
  for (const [name, measureCost] of Object.entries(COSTS).filter(([name]) => isWanted(name))) {
    onProgress(name);
    costs.push(...(await measureCost(contenders, rounds)));
  }
  onProgress('');
  const report = writeReport(measured, costs, { rounds, others });
  const missed = describeMissed([...rowPromises(measured), ...costs]);
  const isBusy = others > QUIET_SHARE;
  if (isBusy) missed.push('The machine is busy: figures mislead, and none are published.');
  console.log([report, '', ...missed].join('\n'));
  if (missed.length > 0) process.exitCode = 1;
  if (flags.publish && !isBusy) publish(report, measured);
}

function onProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}

const wrong = misuse();
if (flags.help) console.log(HELP);
else if (wrong !== undefined) {
  console.error(wrong);
  process.exitCode = 2;
} else {
  const folder = mkdtempSync(join(tmpdir(), 'vitrine-bench-'));
  try {
    await (flags.only === 'scale' ? scale(folder) : bench(folder));
  } finally {
    await stopAll();
    rmSync(folder, { recursive: true, force: true });
  }
}
