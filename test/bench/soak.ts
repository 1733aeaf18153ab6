// Minutes of mixed requests with imports meanwhile: memory and open files must stay flat, the cache within its bound.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { nameOf, people, writePeople } from './data.ts';
import { residentBytes } from './processes.ts';
import { type Serving, serve, VITRINE } from './vitrine.ts';

const HELP = `node test/bench/soak.ts [flags]
  --seconds N      how long (120)
  --users N        how many users, each with 15 items (20000)
  --answers BYTES  ANSWERS_BYTES of the server (64M)

It exits with 1 if something grows.`;

const { values: flags } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '120' },
    users: { type: 'string', default: '20000' },
    answers: { type: 'string', default: '64M' },
  },
});
const seconds = Number(flags.seconds);
const users = Number(flags.users);
const CLIENTS = 24;
const LOOKS = 12;
const IMPORT_EVERY_MS = 5000;
const EXPECTED_STATUSES = [200, 304, 400, 404];

async function bench(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'vitrine-soak-'));
  const database = join(folder, 'site.db');
  let serving: Serving | undefined;
  try {
    const file = join(folder, 'people.ndjson');
    await writePeople(file, users, 15);
    await ended(startImport(database, file));
    const cache = ['--answers-bytes', flags.answers, '--max-loop-delay', '0'];
    serving = await serve('--database-url', database, ...cache);
    if (!(await soak(serving, database))) process.exitCode = 1;
  } finally {
    serving?.child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}

const startImport = (database: string, file: string): ChildProcess =>
  spawn(process.execPath, [VITRINE, 'import', '--database-url', database, file], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });

async function ended(child: ChildProcess): Promise<void> {
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`an import exited with ${code}`);
}

async function soak(serving: Serving, database: string): Promise<boolean> {
  const statuses = new Map<number, number>();
  const until = performance.now() + seconds * 1000;
  const load = keepRequesting(serving.url, until, statuses);
  const imports = keepImporting(database, until);
  const looks: Look[] = [];
  console.log(row(['s', 'rss MB', 'heap MB', 'outside MB', 'files', 'answers', 'bytes MB', 'requests']));
  for (let look = 0; look <= LOOKS; look++) {
    if (look > 0) await delay((seconds * 1000) / LOOKS - 50);
    looks.push(await lookAt(serving));
    console.log(row(cellsOf(looks.at(-1) as Look, seconds - (until - performance.now()) / 1000, statuses)));
  }
  await Promise.all([load, imports]);
  serving.child.kill('SIGTERM');
  const [code] = await once(serving.child, 'exit');
  return verdict(looks, statuses, code);
}

async function keepRequesting(url: string, until: number, statuses: Map<number, number>): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  const ask = (path: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const sent = request(new URL(path, url), { agent }, (response) => {
        const status = response.statusCode ?? 0;
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        response.resume().once('end', resolve).once('error', reject);
      });
      sent.once('error', reject).end();
    });
  const client = async () => {
    while (performance.now() < until) await ask(randomPath());
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  agent.destroy();
}

/** Known and unknown users, profiles and items, several spellings of addresses, and a wrong one. */
function randomPath(): string {
  const known = nameOf(1 + Math.floor(Math.random() * users));
  const user = Math.random() < 0.8 ? known : `nobody${Math.random()}`;
  const paths = [
    `/a/api/?user=${user}`,
    `/a/api/?user=${user}&post=true`,
    `/a/api/?user=${user}&x=${Math.random()}`,
    `/a/api?user=${user.toUpperCase()}`,
    `/b/api/username/${user}`,
    '/a/api/?user=%',
  ];
  return paths[Math.floor(Math.random() * paths.length)] as string;
}

async function keepImporting(database: string, until: number): Promise<void> {
  const [profile] = people(1, 0);
  for (let turn = 0; performance.now() < until; turn++) {
    const child = startImport(database, '-');
    child.stdin?.end(`${JSON.stringify({ ...profile, bio: `Import ${turn}` })}\n`);
    await ended(child);
    await delay(Math.min(IMPORT_EVERY_MS, Math.max(0, until - performance.now())));
  }
}

/** What the server has at one moment. */
interface Look {
  readonly rss: number;
  readonly heap: number;
  readonly outside: number;
  readonly files: number;
  readonly answers: number;
  readonly bytes: number;
}

async function lookAt({ child: { pid }, adminUrl }: Serving): Promise<Look> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text();
  const metric = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
  return {
    rss: residentBytes(pid),
    heap: metric('nodejs_heap_size_used_bytes'),
    outside: metric('nodejs_external_memory_bytes'),
    files: readdirSync(`/proc/${pid}/fd`).length,
    answers: metric('vitrine_answers'),
    bytes: metric('vitrine_answers_bytes'),
  };
}

const megabytes = (bytes: number) => (bytes / 2 ** 20).toFixed(1);

function cellsOf(look: Look, elapsed: number, statuses: ReadonlyMap<number, number>): string[] {
  const requests = [...statuses.values()].reduce((sum, count) => sum + count, 0);
  const { rss, heap, outside, files, answers, bytes } = look;
  const memory = [rss, heap, outside].map(megabytes);
  return [elapsed.toFixed(0), ...memory, String(files), String(answers), megabytes(bytes), String(requests)];
}

const row = (cells: readonly string[]) => cells.map((cell) => cell.padStart(10)).join(' ');

function verdict(looks: readonly Look[], statuses: ReadonlyMap<number, number>, code: number): boolean {
  // The first third fills the cache.
  const settled = looks.slice(Math.ceil(looks.length / 3));
  const half = Math.floor(settled.length / 2);
  const highest = (part: readonly Look[], of: keyof Look) => Math.max(...part.map((look) => look[of]));
  const growth = highest(settled.slice(half), 'rss') / highest(settled.slice(0, half), 'rss');
  const seen = JSON.stringify(Object.fromEntries(statuses));
  const checks: [string, boolean][] = [
    [`statuses: ${seen}`, [...statuses.keys()].every((status) => EXPECTED_STATUSES.includes(status))],
    [
      `memory: the second half's peak is ${(growth * 100 - 100).toFixed(1)}% above the first's`,
      growth < 1.15,
    ],
    [
      `open files: ${highest(settled, 'files')} at most`,
      highest(settled, 'files') <= highest(looks.slice(0, 3), 'files') + 8,
    ],
    [
      `answers in memory: ${megabytes(highest(looks, 'bytes'))} MB at most`,
      highest(looks, 'bytes') <= bytesOf(flags.answers),
    ],
    [`exit code ${code}`, code === 0],
  ];
  for (const [what, holds] of checks) console.log(`${holds ? 'ok  ' : 'FAIL'} ${what}`);
  return checks.every(([, holds]) => holds);
}

function bytesOf(text: string): number {
  const unit = { K: 2 ** 10, M: 2 ** 20, G: 2 ** 30 }[text.slice(-1)];
  return unit === undefined ? Number(text) : Number.parseInt(text, 10) * unit;
}

if (flags.help) console.log(HELP);
else await bench();
