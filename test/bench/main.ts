// npm run bench: Vitrine next to its alternatives, with the same data, and whether the promised figures hold.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { COSTS } from './costs.ts';
import { WRK } from './load.ts';
import { createStage, GROUPS, type Group, startGroup } from './lookups.ts';
import { check, measure, type Promised, type Row, rowPromises } from './measure.ts';
import { atRest, stopAll } from './processes.ts';
import { isBusy, QUIET_SHARE } from './quiet.ts';
import { about, isMissed, promiseTable, publish, rowTable } from './report.ts';

const PARTS = [...Object.keys(GROUPS), ...Object.keys(COSTS)];

const HELP = `npm run bench -- [flags]
  --only PART     one of: ${PARTS.join('; ')}
  --rows          prints every row, not only the promises
  --users N       how many users have items (20000); five times as many have a profile
  --rounds N      how often each row is measured (4)
  --seconds N     how long, each time (1)
  --data FOLDER   keeps the data there for the next run
  --publish       writes the tables to src/guides/benchmark.md and README.md, unless the machine is busy

It needs wrk. The figures are ratios of CPU per request, the least of all rounds. It exits with 1 if a promise is missed.
Others may use ${QUIET_SHARE * 100}% of the CPU while rows are measured; above that the machine is busy and figures mislead.`;

const { values: flags } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    only: { type: 'string' },
    rows: { type: 'boolean', default: false },
    users: { type: 'string', default: '20000' },
    rounds: { type: 'string', default: '4' },
    seconds: { type: 'string', default: '1' },
    data: { type: 'string' },
    publish: { type: 'boolean', default: false },
  },
});
const [users, rounds, seconds] = [flags.users, flags.rounds, flags.seconds].map(Number) as [
  number,
  number,
  number,
];

/** Why these flags do not go together. */
function misuse(): string | undefined {
  if (flags.only !== undefined && !PARTS.includes(flags.only))
    return `--only must be one of: ${PARTS.join('; ')}`;
  if (![users, rounds, seconds].every((number) => Number.isInteger(number) && number > 0))
    return '--users, --rounds and --seconds must be whole numbers from 1 on';
  if (flags.publish && flags.only !== undefined) return '--publish writes a whole run: leave out --only';
  return WRK === undefined ? 'wrk must be installed: apt-get install wrk' : undefined;
}

const isWanted = (part: string) => flags.only === undefined || flags.only === part;

async function bench(folder: string): Promise<void> {
  const rows = await startRows(folder);
  const measured = await measure(rows, rounds, seconds, onProgress);
  await stopAll();
  const promises: Promised[] = rowPromises(measured);
  const costs: Promised[] = [];
  for (const [name, measureCost] of Object.entries(COSTS)) {
    if (!isWanted(name)) continue;
    onProgress(name);
    costs.push(...(await measureCost({ folder, items: users * 5, rounds })));
  }
  onProgress('');
  promises.push(...costs);
  const others = measured.map((row) => row.others).sort((a, b) => a - b)[measured.length >> 1] ?? 0;
  const heading = about(rounds, seconds, others);
  const details = flags.rows ? [rowTable(measured)] : [];
  console.log([...heading, '', ...details, promiseTable(promises)].join('\n'));
  if (promises.some(isMissed)) process.exitCode = 1;
  if (isBusy(others)) console.log('\nThe machine is busy: figures mislead.');
  if (!flags.publish) return;
  if (isBusy(others)) {
    console.error('Nothing was published.');
    process.exitCode = 1;
  } else publish(heading, measured, costs);
}

async function startRows(folder: string): Promise<Row[]> {
  onProgress('making the data and starting the servers');
  const stage = createStage(folder, { users, profiles: 5 * users });
  const rows: Row[] = [];
  for (const group of Object.keys(GROUPS) as Group[])
    if (isWanted(group)) rows.push(...(await startGroup(group, stage)));
  for (const row of rows) await check(row);
  await atRest([...new Set(rows.flatMap(({ servers }) => servers))]);
  return rows;
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
  const folder = resolve(flags.data ?? mkdtempSync(join(tmpdir(), 'vitrine-bench-')));
  mkdirSync(folder, { recursive: true });
  try {
    await bench(folder);
  } finally {
    await stopAll();
    if (flags.data === undefined) rmSync(folder, { recursive: true, force: true });
  }
}
