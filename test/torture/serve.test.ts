// A server with calls that fail, each once: while it starts, while it is asked, and while commands change its file or read it.
// A sample that differs from day to day; TORTURE_ALL=1 takes all, TORTURE_CALL='open 3 EIO' one.
import { copyFileSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempFile, tempFolder } from '../files.ts';
import { databaseOf, done } from '../rig.ts';
import { until } from '../stress.ts';
import { shuffle, today } from './main.ts';
import { people } from './scenarios.ts';
import { type Known, readAnswers, startWatched } from './served.ts';
import { buildShim, ordersText } from './shim.ts';

const shim = buildShim(tempFolder());
const path = 'path' in shim ? shim.path : '';
const FAULTS: Record<string, readonly string[]> = {
  open: ['EIO', 'EMFILE', 'EACCES'],
  read: ['EIO', 'SHORT'],
  map: ['ENOMEM'],
};
const NEXT = tempFile('2.ndjson', people(2));

/** What happens to the file meanwhile. */
const CHANGES: Record<string, (file: string, next: string) => unknown> = {
  'another file takes its place': (file, next) => renameSync(next, file),
  'import --replace': (file) =>
    done(['import', '--replace', '--max-removed', '50%', '--database-url', file, NEXT]),
  restore: (file, next) => done(['restore', '--database-url', file, next]),
  publish: (file) => done(['publish', join(tempFolder(), 'out'), '--for', 'nginx', '--database-url', file]),
};

const databases = (async () => {
  const old = await databaseOf(tempFile('1.ndjson', people(1)));
  const next = await databaseOf(NEXT);
  return { old, next, known: { old: await readAnswers(old), done: [await readAnswers(next)] } };
})();

/** Starts a server, changes its file, and stops; all that is wrong, a sentence each. */
async function serveBeside(change: string, orders: Record<string, string | number>) {
  const { old, next, known }: { old: string; next: string; known: Known } = await databases;
  const folder = tempFolder();
  mkdirSync(join(folder, 'data'));
  const [file, other, log] = [join(folder, 'data/site.db'), join(folder, 'next.db'), join(folder, 'calls')];
  copyFileSync(old, file);
  copyFileSync(next, other);
  const TORTURE = ordersText({ folder: join(folder, 'data'), log, ...orders });
  const wrong: string[] = [];
  try {
    const server = await startWatched(known, { DATABASE_URL: file, LD_PRELOAD: path, TORTURE }, true);
    await server.look();
    await CHANGES[change]?.(file, other);
    const isDone = async () => {
      await server.look();
      return server.isLast(change === 'publish' ? known.old : (known.done[0] as string[]));
    };
    await until('the last data', isDone, 60);
    await server.stop();
    wrong.push(...server.wrong);
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

test.runIf(path !== '').each(Object.keys(CHANGES))(
  'a server answers with old or new data, or ends with its reason, whichever call on its file fails: %s',
  async (change) => {
    const { wrong, calls } = await serveBeside(change, {});
    expect(wrong).toEqual([]);
    const all = calls.flatMap((line) => {
      const [k, call = ''] = line.split(' ');
      return (FAULTS[call] ?? []).map((fault) => ({ k: Number(k), call, fault }));
    });
    const only = process.env.TORTURE_CALL;
    const chosen = shuffle(all, today())
      .filter(({ k, call, fault }) => only === undefined || only === `${call} ${k} ${fault}`)
      .slice(0, process.env.TORTURE_ALL || only ? all.length : 3);
    const faults: string[] = [];
    let injected = 0;
    for (const { k, call, fault } of chosen) {
      const result = await serveBeside(change, { k, fault });
      if (result.isHit) injected++;
      faults.push(...result.wrong.map((what) => `TORTURE_CALL='${call} ${k} ${fault}': ${what}`));
    }
    console.log(`${change}: ${injected} of ${all.length} faults in ${calls.length} calls of a server`);
    expect(faults).toEqual([]);
    expect(injected).toBeGreaterThan(0);
  },
  3_600_000,
);
