// A server with calls that fail, each once: while it starts, while it is asked, and while commands change its file or read it.
// A sample that differs from day to day; TORTURE_ALL=1 takes all, TORTURE_CALL='open 3 EIO' one.
import { copyFileSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempFile, tempFolder } from '../files.ts';
import { ask, databaseOf, done, type Server, startServer } from '../rig.ts';
import { until } from '../stress.ts';
import { today } from './main.ts';
import { people } from './scenarios.ts';
import { buildShim, ordersText } from './shim.ts';

const shim = buildShim(tempFolder());
const path = 'path' in shim ? shim.path : '';
const FAULTS: Record<string, readonly string[]> = {
  open: ['EIO', 'EMFILE', 'EACCES'],
  read: ['EIO', 'SHORT'],
  map: ['ENOMEM'],
};
const PATHS = [
  '/b/api/username/user3',
  '/b/api/username/user3/shots',
  '/people/b/user3',
  '/feeds/a/user3.json',
];
/** What a lookup says whose read failed. */
const FAILED = [500, 503];

/** What happens to the file meanwhile. */
const CHANGES: Record<string, (file: string, next: string) => unknown> = {
  'another file takes its place': (file, next) => renameSync(next, file),
  'import --replace': (file) =>
    done(['import', '--replace', '--max-removed', '50%', '--database-url', file, NEXT]),
  restore: (file, next) => done(['restore', '--database-url', file, next]),
  publish: (file) => done(['publish', join(tempFolder(), 'out'), '--for', 'nginx', '--database-url', file]),
};
const NEXT = tempFile('2.ndjson', people(2));

interface Known {
  readonly old: readonly string[];
  readonly next: readonly string[];
}

const answersOf = async (server: Pick<Server, 'port'>) => {
  const answers: string[] = [];
  for (const address of PATHS) {
    const { status, body } = await ask(server, address);
    answers.push(FAILED.includes(status) ? 'failed' : `${status} ${body}`);
  }
  return answers;
};

/** Starts a server, changes its file, and stops; all that is wrong, a sentence each. */
async function serveBeside(change: string, known: Known, orders: Record<string, string | number>) {
  const folder = tempFolder();
  mkdirSync(join(folder, 'data'));
  const [file, next, log] = [join(folder, 'data/site.db'), join(folder, 'next.db'), join(folder, 'calls')];
  copyFileSync(await OLD, file);
  copyFileSync(await OTHER, next);
  const TORTURE = ordersText({ folder: join(folder, 'data'), log, ...orders });
  const wrong: string[] = [];
  try {
    const server = await startServer({ DATABASE_URL: file, LD_PRELOAD: path, TORTURE });
    const last = change === 'publish' ? known.old : known.next;
    let isNew = false;
    const look = async () => {
      const answers = await answersOf(server);
      for (const [nth, answer] of answers.entries()) {
        if (![known.old[nth], known.next[nth], 'failed'].includes(answer))
          wrong.push(`${PATHS[nth]} is answered with ${answer.slice(0, 200)}`);
        if (isNew && answer === known.old[nth]) wrong.push(`${PATHS[nth]} goes back to old data`);
      }
      isNew ||= answers.some((answer, nth) => answer === known.next[nth]);
      return answers.every((answer, nth) => answer === last[nth]);
    };
    await look();
    await CHANGES[change]?.(file, next);
    await until('the last data', look, 60);
    const code = await server.stop();
    if (code !== 0) wrong.push(`the server ends with ${code}: ${server.log.slice(-3).join(' ')}`);
  } catch (error) {
    // A start that fails says why.
    const { message } = error as Error;
    if (!/the server ended with 1:/.test(message) || /^\s+at .*:\d+:\d+/m.test(message)) wrong.push(message);
  }
  const lines = readFileSync(log, 'utf8').split('\n');
  rmSync(folder, { recursive: true, force: true });
  const isHit = lines.some((line) => line.startsWith('HIT'));
  return { wrong, calls: lines.filter((line) => /^\d/.test(line)), isHit };
}

const OLD = databaseOf(tempFile('1.ndjson', people(1)));
const OTHER = databaseOf(NEXT);

async function answersFrom(url: string): Promise<string[]> {
  const server = await startServer({ DATABASE_URL: url });
  const answers = await answersOf(server);
  await server.stop();
  return answers;
}
const knownAnswers = (async () => ({
  old: await answersFrom(await OLD),
  next: await answersFrom(await OTHER),
}))();

/** Numbers without a pattern, others each day. */
const shuffle = <T>(all: readonly T[]): T[] =>
  all
    .map((one, nth) => ({ one, key: ((nth + today()) * 2_654_435_761) % 2 ** 32 }))
    .sort((a, b) => a.key - b.key)
    .map(({ one }) => one);

test.runIf(path !== '').each(Object.keys(CHANGES))(
  'a server answers with old or new data, or ends with its reason, whichever call on its file fails: %s',
  async (change) => {
    const known = await knownAnswers;
    expect(known.old.every((answer, nth) => answer !== known.next[nth])).toBe(true);
    const { wrong, calls } = await serveBeside(change, known, {});
    expect(wrong).toEqual([]);
    const all = calls.flatMap((line) => {
      const [k, call = ''] = line.split(' ');
      return (FAULTS[call] ?? []).map((fault) => ({ k: Number(k), call, fault }));
    });
    const only = process.env.TORTURE_CALL;
    const chosen = shuffle(all)
      .filter(({ k, call, fault }) => only === undefined || only === `${call} ${k} ${fault}`)
      .slice(0, process.env.TORTURE_ALL || only ? all.length : 3);
    const faults: string[] = [];
    let injected = 0;
    for (const { k, call, fault } of chosen) {
      const result = await serveBeside(change, known, { k, fault });
      if (result.isHit) injected++;
      faults.push(...result.wrong.map((what) => `TORTURE_CALL='${call} ${k} ${fault}': ${what}`));
    }
    console.log(`${change}: ${injected} of ${all.length} faults in ${calls.length} calls of a server`);
    expect(faults).toEqual([]);
    expect(injected).toBeGreaterThan(0);
  },
  3_600_000,
);
