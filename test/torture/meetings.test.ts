// Two commands on the same data at once, and a server beside them: the first stops at one of its calls, the second begins and
// stops at one of its own, then both go on. What they leave must be that of some order. A third of the pairs at other moments
// every day; MEETINGS=50 takes all at more moments, TORTURE_SEED others, and MOMENTS=7,12 those that a failure names.
import { cpSync, existsSync, mkdirSync, rmSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { tempFolder } from '../support/files.ts';
import { executeSql } from '../support/importing.ts';
import { contentOf, faultsOf } from './content.ts';
import { shuffle, today } from './main.ts';
import { filesIn, parseCommand, prepareData, SCENARIOS, startPeople } from './scenarios.ts';
import { readAnswers, runBeside } from './served.ts';
import { buildShim, startStopping } from './shim.ts';

const SEED = Number(process.env.TORTURE_SEED ?? today());
const MOMENTS = process.env.MOMENTS?.split(',').map(Number);
const { MEETINGS = MOMENTS && '1' } = process.env;
/** A command that has not stopped by then may wait for the other one. */
const TURN_MS = 500;

const shim = buildShim(tempFolder());
const LD_PRELOAD = 'path' in shim ? shim.path : '';
const site = startPeople();

/**
 * All copies are old enough to be removed, and the database does not know one of them, which a record names. What is served names
 * it until the repair.
 */
const FORGET_COPY = [forgetCopy, 'check --repair'];
function forgetCopy(folder: string): void {
  executeSql(join(folder, 'site.db'), "DELETE FROM media WHERE url LIKE '%/2.png'");
  for (const name of filesIn(join(folder, 'media'))) utimesSync(join(folder, 'media', name), 0, 0);
}

/** Two scenarios, or commands, and why they may be refused; data and output are those of the first one, unless they are given. */
type Pair = readonly [
  one: string,
  other: string,
  refusal?: RegExp,
  from?: string,
  more?: readonly (string | ((folder: string) => void))[],
];

const PAIRS: readonly Pair[] = [
  ['import', 'import-map'],
  ['import-new', 'import @2.ndjson', /is being written by another process; try again/],
  ['import @bad.ndjson', 'import-new', /nothing was imported|is being written by another process/],
  ['import-replace', 'takedown'],
  ['export', 'import-replace'],
  ['snapshot', 'snapshot --database-url @2.db @copy.db', undefined, 'restore'],
  ['restore', 'import @1.ndjson'],
  ['restore', 'restore'],
  ['publish-nginx-again', 'publish-nginx-again', /another run publishes there/],
  ['publish-nginx', 'import-replace'],
  ['mirror', 'mirror', /another mirror is using|is being written by another process; try again/],
  ['media-fetch', 'media prune --media-dir @media --grace 3600', undefined, 'media-relink', FORGET_COPY],
  ['purge', 'import'],
  ['migrate', 'check', /run `?vitrine migrate/],
  ['migrate', 'import @2.ndjson'],
];
const CHOSEN = PAIRS.filter((_, nth) => MEETINGS !== undefined || nth % 3 === SEED % 3);

const CASES = CHOSEN.map((pair) => [`${pair[0]} beside ${pair[1]}`, pair] as const);

test.runIf(LD_PRELOAD !== '').concurrent.each(CASES)(
  '%s',
  async (_, [one, other, refusal, from = one, more = []]) => {
    const { url } = await site;
    const commands = [one, other];
    const { output } = SCENARIOS.get(one) ?? {};
    const data = [...(SCENARIOS.get(from)?.data ?? []), ...more];
    const [base, files, calls] = [tempFolder(), new Set<string>(), [0, 0]];
    const [folder, before] = [join(base, 'now'), join(base, 'before')];
    const database = join(folder, 'site.db');
    mkdirSync(folder);
    await prepareData({ name: one, command: '', data }, folder, url);
    cpSync(folder, before, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
    const isServed = existsSync(database) && one !== 'migrate';
    const begin = (nth: number, k?: number) => {
      const command = commands[nth] as string;
      const { args, env } = parseCommand(SCENARIOS.get(command)?.command ?? command, folder, url);
      return startStopping(args, env, { folder: `${folder}/`, LD_PRELOAD, k });
    };
    const readState = () => `${contentOf(database)} ${output?.(folder)}`;
    function reset(): void {
      rmSync(folder, { recursive: true, force: true });
      cpSync(before, folder, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
    }

    /** What is left after some of the commands, one after the other. */
    async function runInOrder(...order: number[]) {
      reset();
      for (const nth of order) {
        const { ended, countCalls } = begin(nth);
        const { stderr, code } = await ended;
        calls[nth] = countCalls();
        if (code !== 0) expect(stderr).toMatch(refusal ?? 'no refusal');
      }
      for (const file of filesIn(folder)) files.add(file);
      return { state: readState(), answers: isServed ? await readAnswers({ DATABASE_URL: database }) : [] };
    }
    const [old, first, second] = [await runInOrder(), await runInOrder(0), await runInOrder(1)];
    const orders = [await runInOrder(0, 1), await runInOrder(1, 0)];
    const done = orders.map(({ answers }) => answers);
    const known = { old: old.answers, done, between: [first.answers, second.answers] };

    async function meet(moments: readonly number[]) {
      const stopped = begin(0, moments[0]);
      await stopped.rests;
      const late = begin(1, moments[1]);
      await late.begins;
      await Promise.race([late.rests, delay(TURN_MS)]);
      await Promise.race([stopped.goOn().then(() => stopped.ended), delay(TURN_MS)]);
      await late.goOn();
      return Promise.all([stopped.ended, late.ended]);
    }

    for (let nth = 0; nth < Number(MEETINGS ?? 1); nth++) {
      const pick = (count: number) => shuffle([...Array(count).keys()], SEED + nth)[0] ?? 0;
      const moments = MOMENTS ?? calls.map((count) => 1 + pick(count));
      reset();
      const { ran, wrong } = isServed
        ? await runBeside({ env: { DATABASE_URL: database } }, () => meet(moments), known)
        : { ran: await meet(moments), wrong: [] as string[] };
      const [isFirst, isSecond] = ran.map(({ code }) => code === 0);
      const one = isSecond ? second : old;
      const expected = isFirst && isSecond ? orders : [isFirst ? first : one];
      const said = ran.map(({ stderr }) => stderr).join(' | ');
      for (const { code, stderr } of ran)
        if (code !== 0 && (code !== 1 || !refusal?.test(stderr))) wrong.push(`one ends with ${code}`);
      if (!expected.some(({ state }) => state === readState())) wrong.push(`left is ${readState()}`);
      const label = `MOMENTS=${moments}: ${said}`;
      expect([label, ...wrong, await faultsOf(database)]).toEqual([label, '']);
      for (const again of [0, 1]) await begin(again).ended;
      expect([label, ...filesIn(folder).filter((file) => !files.has(file))]).toEqual([label]);
    }
  },
  3_600_000,
);
