// `npm run torture -- --long`: what the guides promise for much data, in groups of processes with no more memory than they name.
// Takes about 40 minutes, needs root and some gigabytes of disk.
import { once } from 'node:events';
import { createReadStream, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { cleanUp } from '../support/at-end.ts';
import { ATTACKS, type AttackName } from '../support/attacks.ts';
import { databaseOf } from '../support/database.ts';
import { tempFolder } from '../support/files.ts';
import { ask } from '../support/http.ts';
import { createMemoryGroup, type MemoryGroup } from '../support/memory-group.ts';
import { mixedAddresses, mixedUsers } from '../support/mixed-requests.ts';
import { done, type Environment, vitrine } from '../support/run.ts';
import { startServer } from '../support/server.ts';
import { startLoad, until } from '../support/stress.ts';
import { type AttackOptions, attackServer } from '../support/under-attack.ts';

const MB = 2 ** 20;

/** Users of one family or both, every fifth as large as one may be. */
async function writeUsers(folder: string, users: number, ...more: string[]): Promise<string> {
  const path = join(folder, 'people.ndjson');
  await done(['samples', '--quiet', '--users', String(users), '--awkward', ...more, path]);
  return path;
}

const settingsOf = (folder: string): Environment => ({ DATABASE_URL: join(folder, 'site.db') });

/** Runs a command in the group to its end, and says what it cost. */
async function runIn(group: MemoryGroup, args: readonly string[], env: Environment): Promise<string> {
  let most = 0;
  let said = '';
  const began = performance.now();
  const child = group.start(() => vitrine([...args, '--quiet'], env));
  const sampling = setInterval(() => {
    most = Math.max(most, group.anonymous());
  }, 50);
  child.stdout?.resume();
  child.stderr?.on('data', (chunk) => (said += chunk));
  const [code, signal] = await once(child, 'close');
  clearInterval(sampling);
  if (code !== 0) throw new Error(`${args[0]} ended with ${code ?? signal}: ${said}`);
  const seconds = (performance.now() - began) / 1000;
  return `${(most / MB).toFixed(0)} MB at most in the group, ${seconds.toFixed(0)} s`;
}

type LongRun = (group: MemoryGroup, folder: string) => Promise<string>;

async function namesIn(source: string): Promise<string[]> {
  const names: string[] = [];
  for await (const line of createInterface({ input: createReadStream(source) })) {
    // No JSON.parse: a line ends at U+2028 as well, which a text may hold.
    const [, username] = /"username":"([^"]+)"/.exec(line) ?? [];
    if (username !== undefined) names.push(username);
  }
  return names;
}

/** A first import: the server that has no data yet answers probes throughout, and lookups afterwards. */
async function importBesideServer(group: MemoryGroup, folder: string): Promise<string> {
  const source = await writeUsers(folder, 64_000);
  const env = settingsOf(folder);
  const server = await group.start(() => startServer(env));
  let [asked, wrong, isOver] = [0, 0, false];
  const asking = (async () => {
    while (!isOver) {
      const { status } = await ask(server, '/healthz');
      asked++;
      if (status !== 200) wrong++;
      await delay(100);
    }
  })();
  const cost = await runIn(group, ['import', source], env);
  isOver = true;
  await asking;
  const [name = ''] = await namesIn(source);
  const path = `/b/api/username/${encodeURIComponent(name)}`;
  await until('the data', async () => (await ask(server, path)).status === 200);
  const code = await server.stop();
  if (wrong > 0 || code !== 0)
    throw new Error(`${wrong} of ${asked} probes failed, the server ended with ${code}`);
  const { size } = statSync(source);
  return `${(size / MB).toFixed(0)} MB in ${cost}; ${asked} probes answered`;
}

async function publish(group: MemoryGroup, folder: string): Promise<string> {
  const env = settingsOf(folder);
  await done(['import', '--quiet', await writeUsers(folder, 10_000)], { env });
  return runIn(group, ['publish', join(folder, 'out'), '--for', 'nginx'], env);
}

async function mirror(group: MemoryGroup, folder: string): Promise<string> {
  const source = await writeUsers(folder, 10_000, '--family', 'portfolio');
  const site = { DATABASE_URL: join(folder, 'old.db') };
  await done(['import', '--quiet', source], { env: site });
  const server = await startServer(site);
  const names = join(folder, 'names.txt');
  writeFileSync(names, (await namesIn(source)).join('\n'));
  const from = `http://127.0.0.1:${server.port}/b`;
  const cost = await runIn(
    group,
    ['mirror', '--variant', 'b', '--from', from, '--users', names, '--rate', '1000'],
    settingsOf(folder),
  );
  await server.stop();
  return cost;
}

const MIXED = 220_000;

/** A server alone, under requests of every kind. */
async function answerMixed(group: MemoryGroup): Promise<string> {
  const env = { DATABASE_URL: await databaseOf(...mixedUsers), DIRECTORY: 'on', MAX_LOOP_DELAY: '0' };
  const server = await group.start(() => startServer(env));
  let most = 0;
  const load = startLoad(
    server,
    mixedAddresses,
    (_, { status }) => (status >= 500 ? `${status}` : undefined),
    12,
  );
  const isOver = () => {
    most = Math.max(most, group.anonymous());
    return load.answered() >= MIXED || server.child.exitCode !== null || server.child.signalCode !== null;
  };
  await until('the answers', isOver, 3600);
  const faults = await load.stop();
  if (faults.length > 0) throw new Error(`${faults.length} faults, the first: ${faults[0]}`);
  const code = await server.stop();
  if (code !== 0) throw new Error(`the server ended with ${code}`);
  return `${load.answered()} answers, ${(most / MB).toFixed(0)} MB at most in the group`;
}

/** An attack of ten seconds beside good clients, who have five seconds of patience and may lose it once in five times. */
const attack =
  (name: AttackName, more: Partial<AttackOptions> = {}): LongRun =>
  async (group) => {
    const { fresh, kept, peak, code } = await attackServer(name, group, { ...ATTACK, ...more });
    const said = `${peak} MB at most in the group; a client that connects anew got ${list(fresh)}, one that stays ${list(kept)}`;
    const isGood = ({ 200: good = 0, ...others }: typeof fresh) =>
      good >= 4 * Object.values(others).reduce((sum, count) => sum + count, 0);
    if (code !== 0 || !isGood(fresh) || !isGood(kept)) throw new Error(`${said}; exit code ${code}`);
    return said;
  };
const ATTACK = { seconds: 10, answers: 5, patience: 5 };
const list = (counts: object) =>
  Object.entries(counts)
    .map(([result, count]) => `${count} × ${result}`)
    .join(', ');

const attackNames = Object.keys(ATTACKS) as AttackName[];
const BURST = 'four lists each, all at once';

const attackSocket =
  (name: AttackName, clients?: number): LongRun =>
  (group, folder) => {
    const socketPath = join(folder, 'vitrine.sock');
    const env = { HOST: socketPath, TRUST_PROXY: 'loopback' };
    return attack(name, { socketPath, env, ...(clients && { clients }) })(group, folder);
  };

/** Each with its memory in MB. */
const RUNS: Readonly<Record<string, readonly [memory: number, run: LongRun]>> = {
  ...Object.fromEntries(attackNames.map((name) => [`attack: ${name}`, [128, attack(name)]])),
  'attack of 10,000 clients': [256, attack(BURST, { clients: 10_000, patience: 20 })],
  'attack on two workers': [256, attack(BURST, { env: { WORKERS: '2' } })],
  'attack on a unix socket': [128, attackSocket(BURST)],
  'attack with junk on a unix socket': [128, attackSocket('endless bytes from the first on', 200)],
  'import of 1 GB beside a server': [256, importBesideServer],
  'publish of 10,000 users': [200, publish],
  'mirror of 10,000 users': [128, mirror],
  'mixed requests': [128, answerMixed],
};

/** Runs all, or those whose names have one of the words; whether all came to their end. */
export async function runLong(words: readonly string[]): Promise<boolean> {
  let isSound = true;
  for (const [name, [memory, run]] of Object.entries(RUNS)) {
    if (words.length > 0 && !words.some((word) => name.includes(word))) continue;
    const group = createMemoryGroup(memory * MB);
    if (group === undefined) {
      console.log('skipped: no memory groups can be made here');
      return true;
    }
    const folder = tempFolder();
    try {
      console.log(`${name}, ${memory} MB: ${await run(group, folder)}`);
    } catch (error) {
      isSound = false;
      console.log(`${name}, ${memory} MB: FAILED: ${(error as Error).message}`);
    }
    await cleanUp();
    group.remove();
  }
  return isSound;
}
