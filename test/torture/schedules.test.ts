// Steps of programs that run at the same time, in every order that fast-check thinks of, against small models of what must hold.
// Other schedules every day; a failure prints its seed, and `TORTURE_SEED=… SCHEDULES=…` repeats a run.
import type { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import { watchSaves } from '../../src/cli/watch-files.ts';
import { listMigrations } from '../../src/stores/migrations.ts';
import { openHosts } from '../../src/stores/postgres/hosts.ts';
import { today } from './main.ts';

const SEED = Number(process.env.TORTURE_SEED ?? today());
const SCHEDULES = Number(process.env.SCHEDULES ?? 200);

console.log(`schedules: TORTURE_SEED=${SEED}, ${SCHEDULES} of each model`);
afterEach(() => void vi.useRealTimers());

const { current } = listMigrations('postgres');

type Step = (label: string) => Promise<unknown>;

/** Runs a model under many schedules. It waits for `step` wherever another program may go on first. */
async function explore<Input>(
  inputs: fc.Arbitrary<Input>,
  model: (step: Step, input: Input) => Promise<void>,
): Promise<void> {
  const property = fc.asyncProperty(fc.scheduler(), inputs, async (scheduler, input) => {
    await scheduler.waitFor(model((label) => scheduler.schedule(Promise.resolve(), label), input));
  });
  await fc.assert(property, { seed: SEED, numRuns: SCHEDULES, endOnFailure: true });
}

const pauseWith = (pause: (milliseconds?: number) => Promise<unknown>) => pause as typeof delay;

const edits = fc.array(fc.constantFrom('save', 'lose', 'find'), { maxLength: 8 });

test('watcher of `serve FILE`: what is at rest is imported, and again only after a change', async () => {
  await explore(edits, async (step, edits) => {
    const stop = new AbortController();
    let [saves, isMissing, isOver, running, idle] = [0, false, false, 0, 0];
    let outcome = 'imported 0';
    let seen = ['0', '0'];
    const read = () => (isMissing ? 'missing' : `${saves}`);
    const look = async () => {
      const found = read();
      await step('look');
      seen.push(found);
      return found;
    };
    const pause = pauseWith(async () => {
      await step('pause');
      if (isOver && running === 0 && ++idle > 4) stop.abort();
    });
    const onSave = async (signal: AbortSignal) => {
      expect(++running).toBe(1);
      expect(seen.at(-1)).toBe(seen.at(-2));
      expect(new Set(seen).size).toBeGreaterThan(1);
      seen = seen.slice(-1);
      idle = 0;
      const found = read();
      await step('import');
      expect(signal.aborted).toBe(seen.some((other) => other !== seen[0]));
      if (!signal.aborted) outcome = found === 'missing' ? 'reported' : `imported ${found}`;
      running--;
    };
    const edit = async () => {
      for (const next of [...edits, 'find']) {
        await step(next);
        if (next === 'save') saves++;
        else isMissing = next === 'lose';
      }
      isOver = true;
    };
    await Promise.all([watchSaves(look, '0', onSave, stop.signal, pause), edit()]);
    expect(['reported', `imported ${saves}`]).toContain(outcome);
  });
});

interface Database {
  generation: number;
  isUp: boolean;
}

/** Pools of connections to the databases of a model. */
function createPools(databases: readonly Database[], step: Step) {
  return (_: unknown, { port }: { port: number }) => {
    const database = databases[port - 1] as Database;
    const pending = new Set<(error: unknown) => void>();
    const ask = async () => {
      if (!database.isUp) throw Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
    };
    async function run(text: string): Promise<string[][]> {
      await step(`ask ${port}`);
      await ask();
      const { generation } = database;
      await step(`answer of ${port}`);
      await ask();
      const isPoll = text.includes('pg_is_in_recovery');
      return [[`${generation}`, ...(isPoll ? [`${current}`, 't', port === 1 ? 'f' : 't'] : [])]];
    }
    return {
      async query({ text }: { text: string }) {
        const { promise, reject } = Promise.withResolvers<never>();
        pending.add(reject);
        return await Promise.race([run(text), promise]).finally(() => pending.delete(reject));
      },
      reset(error: unknown) {
        for (const reject of pending) reject(error);
      },
      close: async () => {},
    };
  };
}

type Pools = NonNullable<Parameters<typeof openHosts>[2]>['createPool'];

const clusters = fc.record({
  hosts: fc.integer({ min: 1, max: 3 }),
  events: fc.array(
    fc.record({ what: fc.constantFrom('import', 'follow', 'crash', 'return'), host: fc.nat(2) }),
    { maxLength: 12 },
  ),
});

/** What happens to the databases: the first is the primary, and the others follow it. */
function strike(databases: readonly Database[], what: string, nth: number): void {
  const [primary] = databases as [Database];
  const database = databases[nth % databases.length] as Database;
  if (what === 'import' && primary.isUp) primary.generation++;
  if (what === 'follow') database.generation = primary.generation;
  if (what === 'crash') database.isUp = false;
  if (what === 'return') database.isUp = true;
}

test('choice of PostgreSQL hosts: no answer is older than one before, and the newest is found in the end', async () => {
  await explore(clusters, async (step, { hosts, events }) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const databases = Array.from({ length: hosts }, () => ({ generation: 1, isUp: true }));
    const url = `postgres://${databases.map((_, index) => `db:${index + 1}`).join()}/site`;
    const pause = pauseWith((milliseconds) => new Promise((done) => setTimeout(done, milliseconds)));
    const createPool = createPools(databases, step) as unknown as Pools;
    const cluster = await openHosts(url, () => {}, { createPool, pause });
    let newest = 0;
    let clients = 0;
    const ask = async () => {
      clients++;
      for (let nth = 0; nth < 3; nth++) {
        await step('lookup');
        const generation = await cluster.read({ text: 'lookup' }).then(([row]) => Number(row), Number);
        if (Number.isNaN(generation)) continue;
        expect(generation).toBeGreaterThanOrEqual(newest);
        newest = generation;
      }
      clients--;
    };
    const happen = async () => {
      for (const { what, host } of events) {
        await step(`${what} ${host}`);
        strike(databases, what, host);
      }
    };
    const wait = async () => {
      while (clients > 0) {
        await step('time');
        vi.advanceTimersByTime(50);
      }
    };
    await Promise.all([ask(), ask(), ask(), happen(), wait()]);
    for (const what of ['return', 'follow']) for (const nth of databases.keys()) strike(databases, what, nth);
    for (let nth = 0; nth < 20; nth++) {
      await step('time');
      vi.advanceTimersByTime(50);
    }
    const [generation] = await cluster.read({ text: 'lookup' });
    expect(Number(generation)).toBe(databases[0]?.generation);
    expect(cluster.fault()).toBeUndefined();
    await cluster.close();
  });
});
