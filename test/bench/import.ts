// How fast records come in and go out, beside the program one would write oneself and beside the driver alone:
//   node test/bench/import.ts [--items 300000] [--rounds 3] [--folder WHERE]
// Every figure is a process of its own; the rounds interleave, so that a noisy machine is as unkind to all.
import { execFile } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs, promisify } from 'node:util';
import { type TObject, Type } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import Database from 'better-sqlite3';
import { MicroblogProfile, Post } from '../../src/records/schemas.ts';
import { people, writePeople } from './data.ts';

const ITEMS_PER_USER = 15;
const VITRINE = join(import.meta.dirname, '../../src/vitrine.js');
/** What a process says of itself as it ends. */
const TELL = `data:text/javascript,process.on('exit', () => {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  const figures = { ms: performance.now(), cpu: (userCPUTime + systemCPUTime) / 1000, mb: maxRSS / 1024 };
  process.stderr.write('\\nfigures ' + JSON.stringify(figures));
})`;

interface Figures {
  ms: number;
  cpu: number;
  mb: number;
}

const { values } = parseArgs({
  options: {
    items: { type: 'string', default: '300000' },
    rounds: { type: 'string', default: '3' },
    folder: { type: 'string', default: join(import.meta.dirname, '../..') },
    /** Used by the bench itself, for its peers. */
    peer: { type: 'string' },
  },
});
const users = Math.ceil(Number(values.items) / ITEMS_PER_USER);

if (values.peer === 'straightforward') await straightforward(values.folder);
else if (values.peer === 'bare') bare(values.folder);
else await bench();

async function bench(): Promise<void> {
  const folder = await mkdtemp(join(values.folder, '.bench-'));
  try {
    const file = join(folder, 'all.ndjson');
    const few = join(folder, 'few.ndjson');
    const { records, bytes } = await writePeople(file, users, ITEMS_PER_USER);
    await writePeople(few, 3, 1);
    const database = join(folder, 'ours.db');
    const vitrine = (...args: string[]) => run([VITRINE, ...args, '--database-url', database]);
    const peer = async (name: string) => {
      for (const end of ['', '-wal', '-shm']) await rm(join(folder, `peer.db${end}`), { force: true });
      return run([import.meta.filename, '--items', values.items, '--folder', folder, '--peer', name]);
    };
    const cases: Record<string, () => Promise<Figures>> = {
      'vitrine import': async () => {
        await rm(database, { force: true });
        return vitrine('import', file);
      },
      straightforward: () => peer('straightforward'),
      bare: () => peer('bare'),
      'the same again': () => vitrine('import', file),
      'a few records': () => vitrine('import', few),
      'vitrine export': () => vitrine('export', join(folder, 'out.ndjson')),
    };
    const taken = Object.fromEntries(Object.keys(cases).map((name) => [name, [] as Figures[]]));
    let size = 0;
    for (let round = 0; round < Number(values.rounds); round++) {
      for (const [name, measure] of Object.entries(cases)) {
        taken[name]?.push(await measure());
        if (name === 'vitrine import') size = (await stat(database)).size;
      }
    }
    report(taken, records);
    console.log(`\ndatabase ${(size / bytes).toFixed(2)} x the ${Math.round(bytes / 1e6)} MB of NDJSON`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function run(args: string[]): Promise<Figures> {
  const { stderr } = await promisify(execFile)(process.execPath, ['--import', TELL, ...args], {
    maxBuffer: 1 << 24,
  });
  // A peer that has to make its rows first says its own; the last word is the general one.
  const said = [...stderr.matchAll(/^figures (.*)$/gm)].map(
    (match) => JSON.parse(match[1] as string) as Figures,
  );
  return { ...(said.at(-1) as Figures), ...said[0] };
}

function report(taken: Record<string, Figures[]>, records: number): void {
  const middle = (name: string, figure: keyof Figures) =>
    median((taken[name] ?? []).map((figures) => figures[figure]));
  const ratio = (name: string, to: string) =>
    median((taken[name] ?? []).map(({ ms }, round) => (taken[to]?.[round]?.ms ?? Number.NaN) / ms)).toFixed(
      2,
    );
  console.log(`${records} records, Node ${process.version}, medians of ${values.rounds}\n`);
  console.table(
    Object.fromEntries(
      Object.keys(taken).map((name) => [
        name,
        {
          ms: Math.round(middle(name, 'ms')),
          'records/s': name === 'a few records' ? '' : Math.round((records / middle(name, 'ms')) * 1000),
          'CPU µs/record':
            name === 'a few records' ? '' : ((middle(name, 'cpu') / records) * 1000).toFixed(1),
          'peak MB': Math.round(middle(name, 'mb')),
          '× straightforward': ratio(name, 'straightforward'),
          '× bare': ratio(name, 'bare'),
        },
      ]),
    ),
  );
}

function median(numbers: number[]): number {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? Number.NaN;
}

/** What one would write oneself: lines, JSON.parse, a check against the schema, a column for each member. */
async function straightforward(folder: string): Promise<void> {
  const db = new Database(join(folder, 'peer.db'));
  db.pragma('journal_mode = WAL');
  const table = (name: string, schema: TObject) => {
    const columns = Object.keys(schema.properties);
    db.exec(`CREATE TABLE ${name} (${columns.map((column) => `"${column}" TEXT NOT NULL`)})`);
    const insert = db.prepare(`INSERT INTO ${name} VALUES (${columns.map(() => '?')})`);
    const checker = TypeCompiler.Compile(Type.Object(schema.properties));
    return (record: Record<string, unknown>) => {
      if (!checker.Check(record)) throw new Error(`not a record of ${name}: ${JSON.stringify(record)}`);
      insert.run(columns.map((column) => record[column]));
    };
  };
  const addProfile = table('profiles', MicroblogProfile);
  const addPost = table('posts', Post);
  db.exec(
    'CREATE UNIQUE INDEX by_name ON profiles (username); CREATE INDEX by_user ON posts ("user", "date")',
  );
  db.exec('BEGIN');
  const lines = createInterface({ input: createReadStream(join(folder, 'all.ndjson')) });
  lines.on('line', (line) => {
    const record = JSON.parse(line);
    if ('username' in record) addProfile(record);
    else addPost(record);
  });
  await new Promise((resolve) => lines.once('close', resolve));
  db.exec('COMMIT');
  db.close();
}

/** The driver alone: ready rows, no check, no index. */
function bare(folder: string): void {
  const db = new Database(join(folder, 'peer.db'));
  db.pragma('journal_mode = WAL');
  const columns = Object.keys(Post.properties);
  db.exec(`CREATE TABLE posts (${columns.map((column) => `"${column}"`)})`);
  const insert = db.prepare(`INSERT INTO posts VALUES (${columns.map(() => '?')})`);
  const figures = { ms: 0, cpu: 0 };
  const timed = (action: () => void) => {
    const [start, cpu] = [performance.now(), process.cpuUsage()];
    action();
    figures.ms += performance.now() - start;
    const { user, system } = process.cpuUsage(cpu);
    figures.cpu += (user + system) / 1000;
  };
  const insertAll = (rows: string[][]) =>
    timed(() => {
      for (const row of rows) insert.run(row);
    });
  timed(() => db.exec('BEGIN'));
  let ready: string[][] = [];
  for (const record of people(users, ITEMS_PER_USER)) {
    ready.push(Object.values(record));
    if (ready.length < 10_000) continue;
    insertAll(ready);
    ready = [];
  }
  insertAll(ready);
  timed(() => {
    db.exec('COMMIT');
    db.close();
  });
  process.stderr.write(`\nfigures ${JSON.stringify(figures)}\n`);
}
