// Runs one scenario in this process, again and again, and fails another of its calls each time. Run by main.ts, with the shim.
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { cleanUp, type Ran, run } from '../rig.ts';
import { contentOf, faultsOf } from './content.ts';
import { filesIn, SCENARIOS, type Scenario, startPeople } from './scenarios.ts';
import { readAnswers, runBeside } from './served.ts';
import { command, FAULTS } from './shim.ts';

export interface Request {
  readonly scenario: string;
  readonly work: string;
  readonly seed: number;
  readonly seconds: number;
  /** Only this one, as a replay. */
  readonly k?: number;
  readonly fault?: string;
}

export interface Sum {
  calls: number;
  kinds: number;
  injected: number;
  violations: string[];
}

interface Injection {
  readonly k: number;
  readonly call: string;
  readonly path: string;
  readonly fault: string;
}

/** What a scenario leaves: the database and what else it makes, as texts. */
interface State {
  readonly database: string;
  readonly output: string;
}

const MOST_MS = 60_000;
/** Names that differ from run to run. */
const shorten = (text: string) =>
  text.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'UUID').replace(/\b[0-9a-f]{64}\b/g, 'SHA256');

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

class Torture {
  readonly folder: string;
  readonly before: string;
  readonly killed: string;
  readonly log: string;
  readonly scenario: Scenario;
  readonly site: string;

  constructor(scenario: Scenario, work: string, site: string) {
    this.scenario = scenario;
    this.site = site;
    [this.folder, this.before] = [join(work, 'now'), join(work, 'before')];
    [this.killed, this.log] = [join(work, 'killed'), join(work, 'calls')];
  }

  /** Puts the folder back to what was there before the command. */
  reset(from = this.before): void {
    rmSync(this.folder, { recursive: true, force: true });
    cpSync(from, this.folder, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
  }

  async runCommand(): Promise<Ran & { hangs?: boolean }> {
    const { args, env } = this.scenario;
    const stop = AbortSignal.timeout(MOST_MS);
    const options = { env: env?.(this.folder, this.site) ?? {}, signal: stop };
    const ran = await run(args(this.folder, this.site), options);
    return { ...ran, hangs: stop.aborted };
  }

  /** On a copy, since reading a database may finish what a killed process has begun. */
  async judge(): Promise<State & { faults: string }> {
    const copy = `${this.folder}-judged`;
    rmSync(copy, { recursive: true, force: true });
    renameSync(this.folder, copy);
    cpSync(copy, this.folder, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
    // The same path as before: outputs may name it.
    const output = this.scenario.output?.(this.folder) ?? '';
    const database = contentOf(join(copy, 'site.db'));
    return { database, output, faults: await faultsOf(join(copy, 'site.db')) };
  }

  async prepare() {
    rmSync(this.folder, { recursive: true, force: true });
    mkdirSync(join(this.folder, 'tmp'), { recursive: true });
    await this.scenario.before(this.folder, this.site);
    cpSync(this.folder, this.before, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
    const old = await this.judge();
    this.reset();
    command({ folder: this.folder, log: this.log, ...(this.scenario.sockets && { sockets: true }) });
    const { code, stderr } = await this.runCommand();
    command();
    if (code !== 0) throw new Error(`the command ends with ${code} without a fault: ${stderr}`);
    const calls = this.readCalls();
    const files = new Set([...filesIn(this.before), ...filesIn(this.folder)].map(shorten));
    const done = await this.judge();
    await this.runCommand();
    const answers = this.scenario.isServed && {
      old: await readAnswers(this.before),
      done: await readAnswers(this.folder),
    };
    return { old, done, repeated: await this.judge(), files, calls, answers };
  }

  readCalls() {
    const lines = readFileSync(this.log, 'utf8').split('\n').filter(Boolean);
    return lines.map((line) => {
      const [, k, call = '', path = ''] = /^(?:HIT )?(\d+) (\w+) (.*)$/.exec(line) ?? [];
      return {
        k: Number(k),
        call,
        path: shorten(path.replace(`${this.folder}/`, '')),
        isHit: line.startsWith('HIT'),
      };
    });
  }

  /** Fails one call; what is wrong with what follows, a sentence each. */
  async inject({ k, fault }: Injection, expected: Awaited<ReturnType<Torture['prepare']>>) {
    this.reset();
    rmSync(this.killed, { recursive: true, force: true });
    command({
      folder: this.folder,
      k,
      log: this.log,
      copy: this.killed,
      fault: fault.replace('+', ''),
      lasting: fault.endsWith('+'),
      ...(this.scenario.sockets && { sockets: true }),
    });
    const served = expected.answers
      ? await runBeside(this.folder, () => this.runCommand(), expected.answers)
      : undefined;
    const first = served?.ran ?? (await this.runCommand());
    command();
    if (!this.readCalls().some(({ isHit }) => isHit)) return undefined;
    const isKilled = fault === 'KILL';
    if (isKilled) this.reset(this.killed);
    const left = await this.judge();
    const wrong = [...this.judgeLeft(left, expected), ...(served?.wrong ?? [])];
    if (served && !isKilled && served.isNew !== (left.database === expected.done.database))
      wrong.push(
        `the server answers with ${served.isNew ? 'new' : 'old'} data, and the database is ${left.database}`,
      );
    if (!isKilled) wrong.push(...this.judgeReport(first, left, expected));
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
  judgeLeft(
    left: State & { faults: string },
    { old, done }: { old: State & { faults: string }; done: State },
  ) {
    const wrong: string[] = [];
    const of = (part: 'database' | 'output') => [old[part], done[part]].includes(left[part]);
    if (!of('database') && !this.scenario.isResumed)
      wrong.push(`the database is ${left.database}, neither old nor new`);
    if (!of('output') && !this.scenario.isResumed)
      wrong.push(`what it makes is ${left.output}, neither old nor new`);
    if (left.faults !== '' && left.faults !== old.faults) wrong.push(`check says ${left.faults}`);
    return wrong;
  }

  judgeReport(
    { code, stderr, hangs }: Ran & { hangs?: boolean },
    left: State,
    { old, done }: { old: State; done: State },
  ) {
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
    after: State & { faults: string },
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

/** Every fault of every call, in an order in which each kind of call on each kind of file comes early. */
function plan(
  calls: readonly { k: number; call: string; path: string }[],
  random: () => number,
): Injection[] {
  const seen = new Map<string, number>();
  const all = calls.flatMap(({ k, call, path }) =>
    (FAULTS[`${call} ${path}`] ?? FAULTS[call] ?? []).map((fault) => ({ k, call, path, fault })),
  );
  const shuffled = all.map((one) => ({ one, key: random() })).sort((a, b) => a.key - b.key);
  return shuffled
    .map(({ one, key }) => {
      const kind = `${one.call} ${one.path} ${one.fault}`;
      const turn = seen.get(kind) ?? 0;
      seen.set(kind, turn + 1);
      return { one, key, turn };
    })
    .sort((a, b) => a.turn - b.turn || a.key - b.key)
    .map(({ one }) => one);
}

async function tortureScenario({ scenario, work, seed, seconds, k, fault }: Request): Promise<Sum> {
  const { url, close } = await startPeople();
  const torture = new Torture(SCENARIOS[scenario] as Scenario, work, url);
  const expected = await torture.prepare();
  const sum: Sum = { calls: expected.calls.length, kinds: 0, injected: 0, violations: [] };
  const plans = plan(expected.calls, randomFrom(seed));
  sum.kinds = plans.length;
  const chosen =
    k === undefined ? plans : plans.filter((one) => one.k === k && one.fault === (fault ?? one.fault));
  const ends = performance.now() + seconds * 1000;
  for (const one of chosen) {
    if (performance.now() > ends) break;
    const result = await torture.inject(one, expected);
    if (result === undefined) continue;
    sum.injected++;
    if (k !== undefined) console.log(`${one.fault} at ${one.call} ${one.path}: it said\n${result.said}`);
    if (result.wrong.length === 0) continue;
    sum.violations.push(
      [
        `npm run torture -- --scenario ${scenario} --k ${one.k} --fault ${one.fault}`,
        `  ${one.call} ${one.path}: ${result.said.trim().replaceAll('\n', ' | ')}`,
        ...result.wrong.map((sentence) => `  ${sentence}`),
      ].join('\n'),
    );
  }
  close();
  return sum;
}

const request = JSON.parse(process.argv[2] as string) as Request;
const tmp = join(request.work, 'now/tmp');
process.env.SQLITE_TMPDIR = tmp;
try {
  const sum = await tortureScenario(request);
  console.log(`SUM ${JSON.stringify(sum)}`);
} finally {
  await cleanUp();
}
if (existsSync(request.work)) rmSync(request.work, { recursive: true, force: true });
process.exit(0);
