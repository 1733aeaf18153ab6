// Runs one scenario in this process, again and again, and fails another of its calls each time. Run by main.ts, with the shim.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import timers from 'node:timers/promises';
import { cleanUp, type Ran, run } from '../rig.ts';
import { contentOf, faultsOf } from './content.ts';
import { filesIn, parseCommand, prepareData, SCENARIOS, type Scenario, startPeople } from './scenarios.ts';
import { readAnswers, runBeside } from './served.ts';
import { command, FAULTS } from './shim.ts';
import { commandSqlite, reported, SQLITE_FAULTS, sqliteCalls } from './sqlite.ts';

export interface Request {
  readonly scenario: string;
  readonly work: string;
  readonly seed: number;
  readonly seconds: number;
  /** Only this one, as a replay. */
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
interface Injection extends Call {
  readonly fault: string;
  readonly isServed: boolean;
}

/** What a scenario leaves: the database and what else it makes, as texts. */
interface State {
  readonly database: string;
  readonly output: string;
  readonly faults: string;
}
type Outcome = Ran & { readonly hangs: boolean };

const MOST_MS = 60_000;
/** Of this number of faults, one is injected beside a server. */
const SERVED = 20;
const BEFORE_SCHEMA = 'migrate';

/** Names that differ from run to run. */
const shorten = (text: string) =>
  text.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'UUID').replace(/\b[0-9a-f]{64}\b/g, 'SHA256');

/** Commands wait for sites and caches: here their clock is faster. */
const FASTER = 50;
function hurry(): void {
  const { setTimeout: wait } = timers;
  const now = performance.now.bind(performance);
  performance.now = () => now() * FASTER;
  timers.setTimeout = ((delay, ...rest) => wait((delay ?? 0) / FASTER, ...rest)) as typeof wait;
  syncBuiltinESMExports();
}

/** A generator of numbers below 1 that begins the same for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const copyFolder = (from: string, to: string) =>
  cpSync(from, to, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });

class Torture {
  readonly folder: string;
  readonly before: string;
  readonly after: string;
  readonly copy: string;
  readonly killed: string;
  readonly log: string;
  readonly scenario: Scenario;
  readonly site: string;
  #answers: Promise<{ old: string[]; done: string[] }> | undefined;

  constructor(scenario: Scenario, work: string, site: string) {
    this.scenario = scenario;
    this.site = site;
    [this.folder, this.before, this.after] = [join(work, 'now'), join(work, 'before'), join(work, 'after')];
    [this.copy, this.killed, this.log] = ['copy', 'killed', 'calls'].map((name) => join(work, name)) as [
      string,
      string,
      string,
    ];
  }

  /** Puts the folder back to what was there before the command. */
  reset(from = this.before): void {
    rmSync(this.folder, { recursive: true, force: true });
    copyFolder(from, this.folder);
  }

  async runCommand(): Promise<Outcome> {
    const { args, env } = parseCommand(this.scenario.command, this.folder, this.site);
    const signal = AbortSignal.timeout(MOST_MS);
    const ran = await run(args, { env, signal });
    return { ...ran, hangs: signal.aborted };
  }

  /** On a copy of the database, since reading it may finish what a killed process has begun. */
  async judge(): Promise<State> {
    rmSync(this.copy, { recursive: true, force: true });
    mkdirSync(this.copy);
    for (const name of readdirSync(this.folder).filter((name) => name.startsWith('site.db')))
      cpSync(join(this.folder, name), join(this.copy, name), { preserveTimestamps: true });
    const file = join(this.copy, 'site.db');
    const output = this.scenario.output?.(this.folder) ?? '';
    return { database: contentOf(file), output, faults: await faultsOf(file) };
  }

  /** Gives both injectors their orders, for the system or for SQLite. */
  arm({ k, fault }: Pick<Injection, 'k' | 'fault'>): void {
    const { folder, log, killed: copy } = this;
    const isSqlite = SQLITE_FAULTS.includes(fault);
    const [lasting, sockets] = [fault.endsWith('+'), this.scenario.sockets === true];
    const system = { k: isSqlite ? 0 : k, fault: fault.replace('+', ''), lasting, sockets };
    commandSqlite({ folder, k: isSqlite ? k : 0, fault });
    command({ folder, log, copy, ...system });
  }

  disarm(): void {
    command();
    commandSqlite();
  }

  async prepare() {
    rmSync(this.folder, { recursive: true, force: true });
    mkdirSync(join(this.folder, 'tmp'), { recursive: true });
    await prepareData(this.scenario, this.folder, this.site);
    copyFolder(this.folder, this.before);
    const old = await this.judge();
    this.reset();
    this.arm({ k: 0, fault: '' });
    const { code, stderr } = await this.runCommand();
    this.disarm();
    if (code !== 0) throw new Error(`the command ends with ${code} without a fault: ${stderr}`);
    const system = this.readCalls().map((one) => ({ ...one, faults: faultsFor(one) }));
    const sqlite = sqliteCalls().map((call, nth) => ({ k: nth + 1, call, path: '', faults: SQLITE_FAULTS }));
    const files = new Set([...filesIn(this.before), ...filesIn(this.folder)].map(shorten));
    const done = await this.judge();
    copyFolder(this.folder, this.after);
    await this.runCommand();
    return { old, done, repeated: await this.judge(), files, calls: [...system, ...sqlite] };
  }

  readCalls() {
    const lines = readFileSync(this.log, 'utf8').split('\n').filter(Boolean);
    return lines.map((line) => {
      const [, k, call = '', path = ''] = /^(?:HIT )?(\d+) (\w+) (.*)$/.exec(line) ?? [];
      const short = shorten(path.replace(`${this.folder}/`, ''));
      return { k: Number(k), call, path: short, isHit: line.startsWith('HIT') };
    });
  }

  /** A server needs a database of this version. */
  get canBeServed(): boolean {
    return existsSync(join(this.before, 'site.db')) && this.scenario.name !== BEFORE_SCHEMA;
  }

  async readAnswers() {
    const [old, done] = [await readAnswers(this.before), await readAnswers(this.after)];
    return { old, done };
  }

  /** Fails one call; what is wrong with what follows, a sentence each. */
  async inject({ k, fault, isServed }: Injection, expected: Awaited<ReturnType<Torture['prepare']>>) {
    const answers = isServed ? await (this.#answers ??= this.readAnswers()) : undefined;
    this.reset();
    rmSync(this.killed, { recursive: true, force: true });
    const runArmed = async () => {
      this.arm({ k, fault });
      return await this.runCommand().finally(() => this.disarm());
    };
    const beside = answers && (await runBeside(this.folder, runArmed, answers));
    const first = beside?.ran ?? (await runArmed());
    const isHit = SQLITE_FAULTS.includes(fault)
      ? sqliteCalls().length >= k
      : this.readCalls().some((one) => one.isHit);
    if (!isHit) return undefined;
    const isKilled = fault === 'KILL';
    if (isKilled) this.reset(this.killed);
    const left = await this.judge();
    const wrong = [...this.judgeLeft(left, expected), ...(beside?.wrong ?? [])];
    if (!isKilled) wrong.push(...this.judgeReport(first, left, expected));
    if (beside && !isKilled && left.database === expected.done.database && !beside.isNew)
      wrong.push('the data is new, and the server does not answer with it');
    if (beside && !isKilled && left.database === expected.old.database && !beside.isOld)
      wrong.push('the data is old, and the server does not answer with it');
    this.ageLeftovers();
    const second = await this.runCommand();
    const after = await this.judge();
    return { said: first.stderr, wrong: [...wrong, ...this.judgeRepeated(second, left, after, expected)] };
  }

  /** A run may still be writing a file that is younger than a day, so only older ones are removed by the next. */
  ageLeftovers(): void {
    for (const name of filesIn(this.folder).filter((name) => name.includes('.unfinished')))
      utimesSync(join(this.folder, name), 0, 0);
  }

  /** Which state it is; a resumed command may leave any that is sound. */
  judgeLeft(left: State, { old, done }: { old: State; done: State }) {
    const wrong: string[] = [];
    const of = (part: 'database' | 'output') => [old[part], done[part]].includes(left[part]);
    if (!of('database') && !this.scenario.isResumed)
      wrong.push(`the database is ${left.database}, neither old nor new`);
    if (!of('output') && !this.scenario.isResumed)
      wrong.push(`what it makes is ${left.output}, neither old nor new`);
    const isNamed = left.faults.includes('if that was interrupted, run `vitrine import` again');
    if (left.faults !== '' && left.faults !== old.faults && !isNamed) wrong.push(`check says ${left.faults}`);
    return wrong;
  }

  judgeReport({ code, stderr, hangs }: Outcome, left: State, { old, done }: { old: State; done: State }) {
    const wrong: string[] = [];
    const isNew = left.database === done.database && left.output === done.output;
    const isOld = left.database === old.database && left.output === old.output;
    if (hangs) wrong.push('it hangs');
    if (code !== 0 && code !== 1) wrong.push(`exit code ${code}`);
    // A warning after a commit names what is missing, such as a lost log or rejects in another place.
    const isWarned = left.database === done.database && stderr.includes('warning:');
    if (code === 0 && !isNew && !isWarned) wrong.push('exit code 0, and it is not done');
    if (code === 1 && stderr.trim() === '') wrong.push('exit code 1 without a sentence');
    // A resumed command may fail in a step after the last one that changed something.
    if (code === 1 && isNew && !isOld && !this.scenario.isResumed && !/\bdone\b/.test(stderr))
      wrong.push('exit code 1, and it is done');
    if (/^\s+at .*:\d+:\d+/m.test(stderr)) wrong.push('a stack trace');
    return wrong;
  }

  judgeRepeated(
    second: Ran,
    left: State,
    after: State,
    { done, repeated, files }: { done: State; repeated: State; files: ReadonlySet<string> },
  ) {
    const wrong: string[] = [];
    const isNew = left.database === done.database;
    if (second.code !== 0 && !(isNew && this.scenario.again?.test(second.stderr)))
      wrong.push(`repeated, it ends with ${second.code}: ${second.stderr.trim()}`);
    for (const part of ['database', 'output'] as const)
      if (![done[part], repeated[part]].includes(after[part]))
        wrong.push(`repeated, the ${part} is ${after[part]}`);
    if (after.faults !== '') wrong.push(`repeated, check says ${after.faults}`);
    const more = filesIn(this.folder).filter((name) => !files.has(shorten(name)));
    if (more.length > 0) wrong.push(`repeated, these are left: ${more.join(', ')}`);
    return wrong;
  }
}

const faultsFor = ({ call, path }: Call) => FAULTS[`${call} ${path}`] ?? FAULTS[call] ?? [];

/** Every fault of every call, in an order in which each kind of call on each kind of file comes early. */
function plan(calls: readonly (Call & { faults: readonly string[] })[], random: () => number) {
  const seen = new Map<string, number>();
  const all = calls.flatMap(({ faults, ...one }) =>
    faults.map((fault) => ({ ...one, fault, key: random() })),
  );
  return all
    .sort((a, b) => a.key - b.key)
    .map((one) => {
      const kind = `${one.call} ${one.path} ${one.fault}`;
      const turn = seen.get(kind) ?? 0;
      seen.set(kind, turn + 1);
      return { one, turn };
    })
    .sort((a, b) => a.turn - b.turn)
    .map(({ one }, nth) => ({ ...one, isServed: nth % SERVED === SERVED / 2 }));
}

async function tortureScenario({ scenario, work, seed, seconds, ...only }: Request): Promise<Sum> {
  const { url, close } = await startPeople();
  const torture = new Torture(SCENARIOS.get(scenario) as Scenario, work, url);
  const expected = await torture.prepare();
  const plans = plan(expected.calls, randomFrom(seed));
  const ends = Date.now() + seconds * 1000;
  const [calls, faults] = [expected.calls.length, plans.length];
  const sum: Sum = { calls, faults, injected: 0, killed: 0, served: 0, violations: [], reported };
  const { k, fault, served } = only;
  for (const planned of plans) {
    if (k !== undefined && (planned.k !== k || planned.fault !== (fault ?? planned.fault))) continue;
    if (sum.injected > 0 && Date.now() > ends) break;
    const one = { ...planned, isServed: (served ?? planned.isServed) && torture.canBeServed };
    const result = await torture.inject(one, expected);
    if (result === undefined) continue;
    sum.injected++;
    if (one.fault === 'KILL') sum.killed++;
    if (one.isServed) sum.served++;
    if (k !== undefined) console.log(`${one.fault} at ${one.call} ${one.path}: it said\n${result.said}`);
    if (result.wrong.length === 0) continue;
    const replay = `--scenario ${scenario} --k ${one.k} --fault ${one.fault}${one.isServed ? ' --served' : ''}`;
    const what = `  ${one.call} ${one.path}: ${result.said.trim().replaceAll('\n', ' | ')}`;
    const wrong = result.wrong.map((sentence) => `  ${sentence}`);
    sum.violations.push([`npm run torture -- ${replay}`, what, ...wrong].join('\n'));
  }
  close();
  return sum;
}

const request = JSON.parse(process.argv[2] as string) as Request;
process.env.SQLITE_TMPDIR = join(request.work, 'now/tmp');
hurry();
try {
  console.log(`SUM ${JSON.stringify(await tortureScenario(request))}`);
} finally {
  await cleanUp();
}
rmSync(request.work, { recursive: true, force: true });
process.exit(0);
