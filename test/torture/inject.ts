// Runs one scenario in this process, again and again, and fails another of its calls each time. Run by main.ts, with the shim.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import timers from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { cleanUp } from '../support/at-end.ts';
import { run } from '../support/run.ts';
import { contentOf, faultsOf } from './content.ts';
import {
  type Expected,
  judgeLeft,
  judgeRepeated,
  judgeReport,
  type Outcome,
  STACK_TRACE,
  type State,
  shorten,
} from './judge.ts';
import { shuffle } from './main.ts';
import { filesIn, parseCommand, prepareData, SCENARIOS, type Scenario, startPeople } from './scenarios.ts';
import { type Known, readAnswers, runBeside } from './served.ts';
import { command, FAULTS, ordersText } from './shim.ts';
import { commandSqlite, reported } from './sqlite.ts';

export interface Request {
  readonly scenario: string;
  readonly work: string;
  readonly seed: number;
  readonly seconds: number;
  /** Only these, such as one as a replay. */
  readonly k?: number;
  readonly fault?: string;
  /** Whether a server is asked meanwhile; otherwise beside one fault of many. */
  readonly served?: boolean;
}

export interface Sum {
  calls: number;
  faults: number;
  injected: number;
  killed: number;
  /** Those with a server beside them. */
  served: number;
  violations: string[];
  /** Codes that SQLite reported when a call of the system failed. */
  reported: Record<string, number>;
}

interface Call {
  readonly k: number;
  readonly call: string;
  readonly path: string;
}
interface Fault {
  readonly k: number;
  readonly call: string;
  readonly fault: string;
  readonly isServed: boolean;
}
type Injection = Call & Fault;

/** A whole publish takes a minute on a machine with twenty times its load. */
const MOST_MS = 300_000;
/** Of this number of faults, one is injected beside a server; of kills more, since a server then starts on what is left. */
const [SERVED, SERVED_KILLS] = [20, 5];
/** For how many seconds a disk stays full. */
const [COMMAND_FULL_S, SERVER_FULL_S] = [3600, 3];
const NO_FAULT = { k: 0, call: '', fault: '', isServed: false };

/** Commands wait for sites and caches: here a wait takes a fraction, and the clock jumps over the rest. */
const FASTER = 50;
function hurry(): void {
  const { setTimeout: wait } = timers;
  const now = performance.now.bind(performance);
  let skipped = 0;
  performance.now = () => now() + skipped;
  timers.setTimeout = (async (delay = 0, ...rest) => {
    const end = performance.now() + delay;
    const result = await wait(delay / FASTER, ...rest);
    skipped = Math.max(skipped, end - now());
    return result;
  }) as typeof wait;
  syncBuiltinESMExports();
}

const copyFolder = (from: string, to: string) =>
  cpSync(from, to, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });

const request = JSON.parse(process.argv[2] as string) as Request;
const scenario = SCENARIOS.get(request.scenario) as Scenario;
const { url: site } = await startPeople();
const at = (name: string) => join(request.work, name);
const [folder, before, after, copy] = [at('now'), at('before'), at('after'), at('copy')];
const [killed, log, sqliteLog] = [at('killed'), at('calls'), at('sqlite-calls')];

/** Puts the folder back to what was there before the command. */
function reset(from = before): void {
  rmSync(folder, { recursive: true, force: true });
  copyFolder(from, folder);
}

async function runCommand(): Promise<Outcome> {
  scenario.change?.(folder);
  const { args, env } = parseCommand(scenario.command, folder, site);
  const signal = AbortSignal.timeout(MOST_MS);
  const ran = await run(args, { env, signal });
  return { ...ran, hangs: signal.aborted };
}

/** On a copy of the database, since reading it may finish what a killed process has begun. */
async function judge(): Promise<State> {
  rmSync(copy, { recursive: true, force: true });
  mkdirSync(copy);
  for (const name of readdirSync(folder).filter((name) => name.startsWith('site.db')))
    cpSync(join(folder, name), join(copy, name), { preserveTimestamps: true });
  const file = join(copy, 'site.db');
  const output = scenario.output?.(folder) ?? '';
  return { database: contentOf(file), output, faults: await faultsOf(file) };
}

const isOfSqlite = (fault: string) => fault.startsWith('SQLITE_');

/** The orders of both injectors, for the system and for SQLite. */
function ordersFor({ k, call, fault, isServed }: Fault) {
  const isSqlite = isOfSqlite(fault);
  // A command ends meanwhile; a server must go on once there is room again.
  const fullFor = scenario.server === undefined ? COMMAND_FULL_S : SERVER_FULL_S;
  const lasting = fault.endsWith('+') ? fullFor : 0;
  // The connections of this process to a server must not fail.
  const sockets = scenario.sockets === true && !isServed;
  const system = { k: isSqlite ? 0 : k, call, fault: fault.replace('+', ''), lasting, sockets };
  return {
    system: { folder, log, copy: killed, ...system },
    sqlite: { folder, log: sqliteLog, k: isSqlite ? k : 0, fault },
  };
}

function arm(fault: Fault): void {
  const { system, sqlite } = ordersFor(fault);
  commandSqlite(sqlite);
  command(system);
}

function disarm(): void {
  command();
  commandSqlite();
}

async function prepare(): Promise<Expected & { calls: readonly Call[] }> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, 'tmp'), { recursive: true });
  await prepareData(scenario, folder, site);
  copyFolder(folder, before);
  const old = await judge();
  reset();
  arm(NO_FAULT);
  const { code, stderr } = await runCommand();
  disarm();
  if (code !== 0) throw new Error(`the command ends with ${code} without a fault: ${stderr}`);
  const calls = readCalls();
  const files = new Set([...filesIn(before), ...filesIn(folder)].map(shorten));
  const done = await judge();
  copyFolder(folder, after);
  await runCommand();
  return { old, done, repeated: await judge(), files, calls };
}

function readCalls() {
  const lines = [log, sqliteLog].flatMap((file) => readFileSync(file, 'utf8').split('\n'));
  return lines.filter(Boolean).map((line) => {
    const [, k, call = '', path = ''] = /^(?:HIT )?(\d+) (\w+) (.*)$/.exec(line) ?? [];
    const short = shorten(path.replace(`${folder}/`, ''));
    return { k: Number(k), call, path: short, isHit: line.startsWith('HIT') };
  });
}

const DATABASE = join(folder, 'site.db');
let answers: Known | undefined;

/** What a server answers before and after. */
async function readKnown(): Promise<Known> {
  const read = (state: string) => readAnswers({ DATABASE_URL: join(state, 'site.db') });
  answers ??= { old: await read(before), done: [await read(after)] };
  return answers;
}

/** Fails one call; what is wrong with what follows, a sentence each. */
async function inject(planned: Fault, expected: Expected) {
  const { fault, isServed } = planned;
  const known = isServed ? await readKnown() : undefined;
  reset();
  rmSync(killed, { recursive: true, force: true });
  const runArmed = async () => {
    arm(planned);
    return await runCommand().finally(disarm);
  };
  const beside = known && (await runBeside({ env: { DATABASE_URL: DATABASE } }, runArmed, known));
  const first = beside?.ran ?? (await runArmed());
  if (!readCalls().some(({ isHit }) => isHit)) return undefined;
  const isKilled = fault === 'KILL';
  if (isKilled) reset(killed);
  const left = await judge();
  const wrong = [...judgeLeft(scenario, left, expected), ...(beside?.wrong ?? [])];
  // Before a first import, a start may be refused.
  if (isKilled && known && !scenario.isResumed && expected.old.database !== 'none')
    wrong.push(...(await judgeNextServer(known, { DATABASE_URL: DATABASE })));
  if (!isKilled) wrong.push(...judgeReport(scenario, first, left, expected));
  if (beside && !isKilled && left.database === expected.done.database && !beside.isNew)
    wrong.push('the data is new, and the server does not answer with it');
  if (beside && !isKilled && left.database === expected.old.database && !beside.isOld)
    wrong.push('the data is old, and the server does not answer with it');
  ageLeftovers();
  const second = await runCommand();
  wrong.push(...judgeRepeated(scenario, second, [left, await judge()], filesIn(folder), expected));
  return { said: first.stderr, wrong };
}

/** What is wrong with a server that starts on what is left. */
async function judgeNextServer(
  { old, done }: Known,
  ...server: Parameters<typeof readAnswers>
): Promise<string[]> {
  const found = await readAnswers(...server).catch(({ message }) => [message as string]);
  const isKnown = [old, ...done].some((answers) => answers.join() === found.join());
  return isKnown ? [] : [`a server that starts then answers ${found}`];
}

/** Starts a server of which one call fails, beside the command; what is wrong, a sentence each. */
async function injectIntoServer(fault: Fault, { done }: Expected) {
  const { server: words = [] } = scenario;
  const args = words.map((word) => word.replace('@', `${folder}/`));
  const isOfFiles = args.length > 0;
  const known = await readKnown();
  const { system, sqlite } = ordersFor(fault);
  const { LD_PRELOAD = '' } = process.env;
  const place = { TMPDIR: join(folder, 'tmp'), ...(!isOfFiles && { DATABASE_URL: DATABASE }) };
  const orders = {
    LD_PRELOAD,
    TORTURE: ordersText({ ...system, folder: isOfFiles ? `${folder}/` : DATABASE }),
    TORTURE_SQLITE: JSON.stringify(sqlite),
    NODE_OPTIONS: `--import=${pathToFileURL(join(import.meta.dirname, 'sqlite.ts'))}`,
  };
  const saveAgain = () => scenario.change?.(folder);
  reset();
  rmSync(killed, { recursive: true, force: true });
  const wrong: string[] = [];
  let said = '';
  try {
    const failing = { env: { ...place, ...orders }, args, isFailing: true, saveAgain };
    const beside = await runBeside(failing, runCommand, known);
    if (beside.ran.code !== 0) wrong.push(`the command says ${beside.ran.stderr}`);
    if ((await judge()).database !== done.database) wrong.push('the command is not done');
    wrong.push(...beside.wrong);
  } catch (error) {
    // A start that fails says why.
    said = (error as Error).message;
    if (!/the server ended with 1:/.test(said) || STACK_TRACE.test(said))
      wrong.push('it ends without a reason');
  }
  if (fault.k > 0 && !readCalls().some(({ isHit }) => isHit)) return undefined;
  if (!isOfFiles) return { said, wrong };
  if (fault.fault === 'KILL') reset(killed);
  wrong.push(...(await judgeNextServer(known, place, args)));
  const more = filesIn(at('now/tmp'));
  if (more.length > 0) wrong.push(`these are left: ${more.join(', ')}`);
  return { said, wrong };
}

/** A run may still be writing a file that is younger than a day, so only older ones are removed by the next. */
function ageLeftovers(): void {
  for (const name of filesIn(folder).filter((name) => name.includes('.unfinished')))
    utimesSync(join(folder, name), 0, 0);
}

const faultsFor = ({ call }: Call) => FAULTS[call] ?? [];

/** Every fault of every call, in an order in which each kind of call on each kind of file comes early. */
function plan(calls: readonly Call[], seed: number): Injection[] {
  const seen = new Map<string, number>();
  const all = calls.flatMap((one) => faultsFor(one).map((fault) => ({ ...one, fault })));
  return shuffle(all, seed)
    .map((one) => {
      const kind = `${one.call} ${one.path} ${one.fault}`;
      const turn = seen.get(kind) ?? 0;
      seen.set(kind, turn + 1);
      return { one, turn };
    })
    .sort((a, b) => a.turn - b.turn)
    .map(({ one }, nth) => ({
      ...one,
      isServed: nth % (one.fault === 'KILL' ? SERVED_KILLS : SERVED) === 2,
    }));
}

async function tortureScenario({ seed, seconds, k, fault, served }: Request): Promise<Sum> {
  const expected = await prepare();
  const isServer = scenario.server !== undefined;
  if (isServer) {
    const { wrong = [] } = (await injectIntoServer(NO_FAULT, expected)) ?? {};
    if (wrong.length > 0) throw new Error(`without a fault: ${wrong}`);
  }
  const all = isServer ? readCalls() : expected.calls;
  const plans = plan(all, seed);
  const ends = Date.now() + seconds * 1000;
  const [calls, faults] = [all.length, plans.length];
  const sum: Sum = { calls, faults, injected: 0, killed: 0, served: 0, violations: [], reported };
  const canBeServed = scenario.unserved === undefined;
  for (const planned of plans) {
    if (planned.k !== (k ?? planned.k) || planned.fault !== (fault ?? planned.fault)) continue;
    if (sum.injected > 0 && Date.now() > ends) break;
    // What a server of a database leaves when it is killed, the command leaves as well.
    if (isServer && planned.fault === 'KILL' && scenario.server?.length === 0) continue;
    const canBeBeside = canBeServed && !planned.fault.startsWith('ECONN');
    const isServed = isServer || ((served ?? planned.isServed) && canBeBeside);
    const one = { ...planned, isServed };
    const result = await (isServer ? injectIntoServer : inject)(one, expected);
    if (result === undefined) continue;
    sum.injected++;
    if (one.fault === 'KILL') sum.killed++;
    if (one.isServed) sum.served++;
    if (k !== undefined) console.log(`${one.fault} at ${one.call} ${one.path}: it said\n${result.said}`);
    if (result.wrong.length === 0) continue;
    const flag = one.isServed && !isServer ? ' --served' : '';
    const replay = `--scenario ${scenario.name} --k ${one.k} --fault ${one.fault}${flag}`;
    const what = `${one.call} ${one.path}: ${result.said.trim().replaceAll('\n', ' | ')}`;
    sum.violations.push([`npm run torture -- ${replay}`, what, ...result.wrong].join('\n  '));
  }
  return sum;
}

process.env.SQLITE_TMPDIR = join(folder, 'tmp');
hurry();
try {
  console.log(`SUM ${JSON.stringify(await tortureScenario(request))}`);
} finally {
  await cleanUp();
}
rmSync(request.work, { recursive: true, force: true });
process.exit(0);
