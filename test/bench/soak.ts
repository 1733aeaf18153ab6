// Some minutes of mixed load by known and unknown users: memory and open files have to stay flat, and the ready answers
// within their bound. `node test/bench/soak.ts [--seconds 120] [--users 20000] [--answers 64M]`; ends with 1 if not.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { nameOf, people, writePeople } from './data.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '120' },
    users: { type: 'string', default: '20000' },
    answers: { type: 'string', default: '64M' },
  },
});
const seconds = Number(values.seconds);
const users = Number(values.users);
const CLIENTS = 24;
const LOOKS = 12;
const IMPORT_EVERY_MS = 5000;
const VITRINE = join(import.meta.dirname, '../../src/vitrine.js');

const folder = mkdtempSync(join(tmpdir(), 'vitrine-soak-'));
const database = join(folder, 'site.db');
const children = new Set<ChildProcess>();

function vitrine(...args: string[]): ChildProcess {
  const child = spawn(process.execPath, [VITRINE, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}

async function importing(...args: string[]): Promise<void> {
  const child = vitrine('import', '--database-url', database, ...args);
  child.stdout?.resume();
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`an import ended with ${code}`);
}

try {
  process.exitCode = (await soak()) ? 0 : 1;
} finally {
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
}

async function soak(): Promise<boolean> {
  const file = join(folder, 'people.ndjson');
  await writePeople(file, users, 15);
  await importing(file);
  const server = vitrine(
    'serve',
    '--database-url',
    database,
    '--port',
    '0',
    '--admin-port',
    '0',
    '--answers-bytes',
    values.answers,
    '--max-loop-delay',
    '0',
  );
  const { url, adminUrl } = await serving(server);

  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  const until = performance.now() + seconds * 1000;
  const statuses = new Map<number, number>();
  const load = Promise.all(Array.from({ length: CLIENTS }, () => client()));
  const imports = keepImporting();
  const looks: Look[] = [];
  console.log('   s      rss MB    heap MB  outside MB  files  answers   bytes MB   requests');
  for (let look = 0; look <= LOOKS; look++) {
    await new Promise((resolve) => setTimeout(resolve, look === 0 ? 0 : (seconds * 1000) / LOOKS - 50));
    looks.push(await lookAt());
  }
  await Promise.all([load, imports]);
  agent.destroy();
  server.kill('SIGTERM');
  const [code] = await once(server, 'exit');
  return verdict(looks, code);

  async function client(): Promise<void> {
    while (performance.now() < until) await ask(anything());
  }

  function ask(path: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const sent = request(new URL(path, url), { agent }, (response) => {
        const status = response.statusCode ?? 0;
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        response.resume().once('end', resolve).once('error', reject);
      });
      sent.once('error', reject).end();
    });
  }

  async function keepImporting(): Promise<void> {
    for (let turn = 0; performance.now() < until; turn++) {
      const child = importing('-');
      const newest = [...children].at(-1);
      const [profile] = people(1, 0);
      newest?.stdin?.end(`${JSON.stringify({ ...profile, bio: `Import ${turn}` })}\n`);
      await child;
      await new Promise((resolve) =>
        setTimeout(resolve, Math.min(IMPORT_EVERY_MS, Math.max(0, until - performance.now()))),
      );
    }
  }

  async function lookAt(): Promise<Look> {
    const text = await (await fetch(`${adminUrl}/metrics`)).text();
    const figure = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
    const look = {
      rss: Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1]) / 1024,
      files: readdirSync(`/proc/${server.pid}/fd`).length,
      answers: figure('vitrine_answers'),
      bytes: figure('vitrine_answers_bytes'),
    };
    const requests = [...statuses.values()].reduce((sum, count) => sum + count, 0);
    const elapsed = seconds - (until - performance.now()) / 1000;
    const mega = (bytes: number) => (bytes / 2 ** 20).toFixed(1);
    const heap = [mega(figure('nodejs_heap_size_used_bytes')), mega(figure('nodejs_external_memory_bytes'))];
    const columns = [
      elapsed.toFixed(0),
      look.rss.toFixed(0),
      ...heap,
      look.files,
      look.answers,
      mega(look.bytes),
      requests,
    ];
    console.log(
      columns
        .map((column, index) => String(column).padStart([4, 11, 10, 11, 6, 8, 10, 10][index] ?? 8))
        .join(' '),
    );
    return look;
  }

  function verdict(all: readonly Look[], code: number | null): boolean {
    // The first third fills what is to be filled.
    const settled = all.slice(Math.ceil(all.length / 3));
    const half = Math.floor(settled.length / 2);
    const highest = (part: readonly Look[], of: keyof Look) => Math.max(...part.map((look) => look[of]));
    const growth = highest(settled.slice(half), 'rss') / highest(settled.slice(0, half), 'rss');
    const bound = bytesOf(values.answers);
    const checks: [string, boolean][] = [
      [
        `only 200, 304, 400 and 404: ${JSON.stringify(Object.fromEntries(statuses))}`,
        [...statuses.keys()].every((status) => [200, 304, 400, 404].includes(status)),
      ],
      [
        `memory flat: the second half's highest is ${(growth * 100 - 100).toFixed(1)}% above the first's`,
        growth < 1.15,
      ],
      [
        `open files flat: ${highest(settled, 'files')} at most`,
        highest(settled, 'files') <= highest(all.slice(0, 3), 'files') + 8,
      ],
      [
        `ready answers within their bound: ${(highest(all, 'bytes') / 2 ** 20).toFixed(1)} MB at most`,
        highest(all, 'bytes') <= bound,
      ],
      [`stopped with ${code}`, code === 0],
    ];
    for (const [what, holds] of checks) console.log(`${holds ? 'ok  ' : 'FAIL'} ${what}`);
    return checks.every(([, holds]) => holds);
  }
}

interface Look {
  readonly rss: number;
  readonly files: number;
  readonly answers: number;
  readonly bytes: number;
}

/** Known users and unknown ones, profiles and items, addresses in many spellings, and some that are wrong. */
function anything(): string {
  const user = encodeURIComponent(
    Math.random() < 0.8 ? nameOf(1 + Math.floor(Math.random() * users)) : `nobody${Math.random()}`,
  );
  const kinds = [
    `/a/api/?user=${user}`,
    `/a/api/?user=${user}&post=true`,
    `/a/api/?user=${user}&x=${Math.random()}`,
    `/a/api?user=${user.toUpperCase()}`,
    `/b/api/username/${user}`,
    '/a/api/?user=%',
  ];
  return kinds[Math.floor(Math.random() * kinds.length)] as string;
}

async function serving(server: ChildProcess): Promise<{ url: string; adminUrl: string }> {
  for await (const line of createInterface({ input: server.stdout as NodeJS.ReadableStream })) {
    const said = JSON.parse(line);
    if (said.msg !== 'serving') continue;
    server.stdout?.resume();
    return said;
  }
  throw new Error('the server did not start');
}

function bytesOf(text: string): number {
  const unit = { K: 2 ** 10, M: 2 ** 20, G: 2 ** 30 }[text.slice(-1)];
  return unit === undefined ? Number(text) : Number.parseInt(text, 10) * unit;
}
