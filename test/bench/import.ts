// How fast records are imported and exported, next to an import written by hand and to the SQLite driver alone. Each figure
// is that of a process of its own.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { writePeople } from './data.ts';
import { ITEMS_EACH } from './dataset.ts';
import { holdBounds, median, medianRatio, shown } from './figures.ts';
import { VITRINE } from './vitrine.ts';

const HELP = `node test/bench/import.ts [flags]
  --items N        how many items, ${ITEMS_EACH} for each user (300000)
  --rounds N       how often each is measured (3)
  --folder FOLDER  where the files go (here): 3 KB for each item

It exits with 1 if a promised figure is missed, and prints a line that starts with "missed:".`;

const { values: flags } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    items: { type: 'string', default: '300000' },
    rounds: { type: 'string', default: '3' },
    folder: { type: 'string', default: '.' },
  },
});

/** Importing at 0.55 of the other's speed is 1 / 0.55 of its CPU. */
const PROMISED = { cpu: Number((1 / 0.55).toFixed(2)), size: 2.5 };

/** Makes a process print what it used as it exits. */
const TELL = `data:text/javascript,process.on('exit', () => {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  const figures = { ms: performance.now(), cpu: (userCPUTime + systemCPUTime) / 1000, mb: maxRSS / 1024 };
  process.stderr.write('\\nfigures ' + JSON.stringify(figures));
})`;

interface Figures {
  readonly ms: number;
  readonly cpu: number;
  /** Peak memory. */
  readonly mb: number;
}

const CASES = [
  'vitrine import',
  'by hand',
  'bare',
  'the same again',
  'a few records',
  'vitrine export',
] as const;
type Case = (typeof CASES)[number];
type Taken = Record<Case, Figures[]>;

interface Input {
  readonly users: number;
  readonly records: number;
  readonly bytes: number;
}

async function bench(): Promise<void> {
  const folder = await mkdtemp(join(resolve(flags.folder), 'vitrine-import-'));
  try {
    const users = Math.ceil(Number(flags.items) / ITEMS_EACH);
    const input = { users, ...(await writePeople(join(folder, 'all.ndjson'), users, ITEMS_EACH)) };
    await writePeople(join(folder, 'few.ndjson'), 3, 1);
    const { taken, size } = await measure(folder, users);
    printTable(taken, input.records);
    printSentences(taken, input, size / input.bytes);
    const cpu = ratio(taken, 'vitrine import', 'by hand', 'cpu');
    holdBounds([
      { where: 'import', what: 'CPU relative to an import by hand', figure: cpu, promised: PROMISED.cpu },
      { where: 'import', what: 'database', figure: size / input.bytes, promised: PROMISED.size },
    ]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function measure(folder: string, users: number): Promise<{ taken: Taken; size: number }> {
  const file = (name: string) => join(folder, name);
  const vitrine = (command: string, name: string) =>
    run(VITRINE, command, '--database-url', file('own.db'), file(name));
  const peer = (name: string, ...args: string[]) =>
    run(join(import.meta.dirname, 'peers', `${name}.ts`), ...args, file('peer.db'));
  const actions: Record<Case, () => Promise<Figures>> = {
    'vitrine import': () => vitrine('import', 'all.ndjson'),
    'by hand': () => peer('import-by-hand', file('all.ndjson')),
    bare: () => peer('import-bare', String(users), String(ITEMS_EACH)),
    'the same again': () => vitrine('import', 'all.ndjson'),
    'a few records': () => vitrine('import', 'few.ndjson'),
    'vitrine export': () => vitrine('export', 'out.ndjson'),
  };
  const taken = Object.fromEntries(CASES.map((name) => [name, [] as Figures[]])) as Taken;
  let size = 0;
  for (let round = 0; round < Number(flags.rounds); round++)
    for (const name of CASES) {
      if (name === 'vitrine import') await rm(file('own.db'), { force: true });
      for (const end of ['', '-wal', '-shm']) await rm(file(`peer.db${end}`), { force: true });
      taken[name].push(await actions[name]());
      if (name === 'vitrine import') ({ size } = await stat(file('own.db')));
    }
  return { taken, size };
}

async function run(...args: string[]): Promise<Figures> {
  const { stderr } = await promisify(execFile)(process.execPath, ['--import', TELL, ...args], {
    maxBuffer: 1 << 24,
  });
  // A peer that has to make its rows first prints figures of its own before those of the whole process.
  const lines = [...stderr.matchAll(/^figures (.*)$/gm)].map(([, json = '']) => JSON.parse(json) as Figures);
  return { ...(lines.at(-1) as Figures), ...lines[0] };
}

const middle = (taken: Taken, name: Case, figure: keyof Figures) =>
  median(taken[name].map((figures) => figures[figure]));

const ratio = (taken: Taken, name: Case, other: Case, figure: keyof Figures) =>
  medianRatio(
    taken[name].map((figures) => figures[figure]),
    taken[other].map((figures) => figures[figure]),
  );

function printTable(taken: Taken, records: number): void {
  console.log(`${shown(records)} records, Node ${process.version}, median of ${flags.rounds} rounds`);
  const rows = CASES.map((name) => {
    const each = (figure: number) => (name === 'a few records' ? '' : figure);
    return [
      name,
      {
        ms: Math.round(middle(taken, name, 'ms')),
        'records/s': each(Math.round((records / middle(taken, name, 'ms')) * 1000)),
        'CPU µs/record': each(Number(((middle(taken, name, 'cpu') / records) * 1000).toFixed(1))),
        'peak MB': Math.round(middle(taken, name, 'mb')),
        'CPU × by hand': Number(ratio(taken, name, 'by hand', 'cpu').toFixed(2)),
      },
    ];
  });
  console.table(Object.fromEntries(rows));
}

function printSentences(taken: Taken, { records }: Input, size: number): void {
  const perSecond = (name: Case) => shown((records / middle(taken, name, 'ms')) * 1000);
  console.log(
    `- An import of ${shown(records)} records runs at ${perSecond('vitrine import')} records per second with a peak of ${shown(middle(taken, 'vitrine import', 'mb'))} MB, and takes ${ratio(taken, 'vitrine import', 'by hand', 'cpu').toFixed(2)} times the CPU of a program written by hand, which makes no lists (promised: at most ${PROMISED.cpu}).`,
  );
  console.log(
    `- The database is ${size.toFixed(2)} times as large as its NDJSON (promised: at most ${PROMISED.size}). An export writes ${perSecond('vitrine export')} records per second.`,
  );
}

if (flags.help) console.log(HELP);
else await bench();
