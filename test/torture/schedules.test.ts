// Steps of programs that run at the same time, in every order that fast-check thinks of, against small models of what must hold.
// Other schedules every day; a failure prints its seed, and `TORTURE_SEED=… SCHEDULES=…` repeats a run.

import { renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import SqliteDatabase from 'better-sqlite3';
import fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import { importFiles } from '../../src/import/import.ts';
import { watchSaves } from '../../src/import/watch-files.ts';
import { openArchive, openReader, openServed, openWriter } from '../../src/stores/open.ts';
import { openHosts } from '../../src/stores/postgres/hosts.ts';
import { schemaOf } from '../../src/stores/sql/migrations.ts';
import { SHAPE } from '../../src/stores/sql/shape.ts';
import type { Writer } from '../../src/stores/writer.ts';
import { runMirror } from '../../src/tools/mirror/mirror.ts';
import { type Delivery, notifySubscribers } from '../../src/tools/notify/notify.ts';
import { importInto } from '../support/database.ts';
import { copyOf, ndjson, tempFolder } from '../support/files.ts';
import { type Answer, PACE, startSite } from '../support/mirror-site.ts';
import { folio, shot } from '../support/records.ts';
import { today } from './main.ts';

const SEED = Number(process.env.TORTURE_SEED ?? today());
const SCHEDULES = Number(process.env.SCHEDULES ?? 200);

console.log(`schedules: TORTURE_SEED=${SEED}, ${SCHEDULES} of each model`);
vi.setConfig({ testTimeout: 900_000 });
afterEach(() => void vi.useRealTimers());

const { current } = schemaOf('postgres');

type Step = (label: string) => Promise<unknown>;

/** Models with databases take longer: they run a share of the schedules. */
const SHARE = 0.25;

/** Runs a model under many schedules. It waits for `step` wherever another program may go on first. */
async function explore<Input>(
  inputs: fc.Arbitrary<Input>,
  model: (step: Step, input: Input) => Promise<void>,
  share = 1,
): Promise<void> {
  const property = fc.asyncProperty(fc.scheduler(), inputs, async (scheduler, input) => {
    const step: Step = (label) => scheduler.schedule(Promise.resolve(), label);
    await scheduler.waitFor(model(step, input), async (act) => {
      await act();
      // Reads of one turn share a transaction.
      await nextTurn();
    });
  });
  await fc.assert(property, { seed: SEED, numRuns: SCHEDULES * share, endOnFailure: true });
}

const pauseWith = (pause: (milliseconds?: number) => Promise<unknown>) => pause as typeof delay;

const edits = fc.array(fc.constantFrom('save', 'lose', 'find'), { maxLength: 8 });

test('watcher of `serve FILE`: a file at rest is imported once, and after each change', async () => {
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
      if (text === SHAPE) return [];
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

test('choice of PostgreSQL hosts: answers never go back in time, and reach the newest', async () => {
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
    for (let nth = 0; nth < 60; nth++) {
      await step('time');
      vi.advanceTimersByTime(50);
    }
    const [generation] = await cluster.read({ text: 'lookup' });
    expect(Number(generation)).toBe(databases[0]?.generation);
    expect(cluster.fault()).toBeUndefined();
    await cluster.close();
  });
});

test('a slow query does not make its host seem older than a later one', async () => {
  // No poll sets the generation again.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const database = { generation: 1, isUp: true };
  const slow = Promise.withResolvers<void>();
  let holds = false;
  const step: Step = async (what) => {
    if (!holds || what !== 'answer of 1') return;
    holds = false;
    await slow.promise;
  };
  const createPool = createPools([database], step) as unknown as Pools;
  const cluster = await openHosts('postgres://db:1/site', () => {}, { createPool });
  holds = true;
  const first = cluster.read({ text: 'lookup' });
  await new Promise(setImmediate);
  expect(holds).toBe(false);
  database.generation = 2;
  expect(Number((await cluster.read({ text: 'lookup' }))[0])).toBe(2);
  slow.resolve();
  expect(Number((await first)[0])).toBe(2);
  expect(cluster.fault()).toBeUndefined();
  await cluster.close();
});

/** As SQLite's lock does, this lets one program of a schedule write at a time. */
function createTurns() {
  let turn: Promise<unknown> = Promise.resolve();
  return <T>(write: () => Promise<T>): Promise<T> => {
    const written = turn.then(write);
    turn = written.catch(() => {});
    return written;
  };
}

async function load(writer: Writer, ...records: object[]): Promise<void> {
  const stdin = (async function* () {
    yield Buffer.from(ndjson(...records));
  })();
  const options = { replace: false, skipInvalid: true, out: { write() {} }, stdin };
  await importFiles(writer, { files: ['-'], ...options });
}

const USERS = ['ada', 'bob'];

const programs = fc.record({
  programs: fc.array(fc.tuple(fc.constantFrom('import', 'takedown', 'purge'), fc.nat(1)), {
    minLength: 1,
    maxLength: 4,
  }),
  /** Which deliveries fail, in their order. */
  failures: fc.array(fc.boolean(), { maxLength: 8 }),
});

/** A cache between clients and a database: it stores what it has asked for, and removes what it is notified of. */
function createCache(path: string, step: Step, failures: boolean[]) {
  const stored = new Map<string, string>();
  const asked = new Set<Promise<void>>();
  const read = (user: string) => {
    const db = new SqliteDatabase(path, { readonly: true });
    const record = db.prepare('SELECT record FROM profiles WHERE user_key = ?').pluck().get(user);
    db.close();
    return String(record);
  };
  async function fetch(user: string): Promise<void> {
    const answer = read(user);
    await step(`store ${user}`);
    stored.set(user, answer);
  }
  return {
    stored,
    read,
    async ask(user: string): Promise<void> {
      await step(`ask for ${user}`);
      const fetching = fetch(user);
      asked.add(fetching);
      await fetching.finally(() => asked.delete(fetching));
    },
    /** After this, all that was asked for before is stored. */
    settle: () => Promise.all(asked),
    async deliver({ changes }: Delivery): Promise<void> {
      await step('deliver');
      if (failures.shift()) throw new Error('the cache is down');
      for (const user of stored.keys())
        if (changes === 'everything' || changes.some(({ key }) => key === user)) stored.delete(user);
      await step('delivered');
      if (failures.shift()) throw new Error('the answer is lost');
    },
  };
}

test('pending changes: no cache keeps an old answer, and no name of a takedown stays', async () => {
  const before = join(tempFolder(), 'site.db');
  await importInto(before, ['-'], ndjson(...USERS.map((user, index) => folio(index + 1, user))));
  await explore(
    programs,
    async (step, { programs, failures }) => {
      const path = copyOf(before);
      const inTurn = createTurns();
      const caches = [createCache(path, step, failures), createCache(path, step, [])];
      const subscribers = caches.map(({ deliver }, index) => ({
        name: `cache ${index}`,
        repeatAfter: 1,
        deliver,
      }));
      const pause = pauseWith(async () => {
        await step('second delivery');
        await Promise.all(caches.map(({ settle }) => settle()));
      });
      let imports = 0;
      async function runProgram([what, nth]: readonly [string, number]): Promise<string[]> {
        const user = USERS[nth] as string;
        await step(what);
        await using writer = await inTurn(() => openWriter(path));
        if (what === 'import')
          await inTurn(() => load(writer, folio(nth + 1, user, { bio: `import ${++imports}` })));
        const subject = { family: 'portfolio', kind: 'user', value: user } as const;
        if (what === 'takedown') await inTurn(() => writer.takeDown([subject], { keepNames: true }));
        const scheduled = Object.fromEntries(
          (['readPending', 'markDelivered', 'markUnreached', 'eraseNames'] as const).map((name) => [
            name,
            async (...args: unknown[]) => {
              await step(name);
              return await inTurn(() => (writer[name] as (...args: unknown[]) => Promise<unknown>)(...args));
            },
          ]),
        ) as unknown as Writer;
        const signal = new AbortController().signal;
        return await notifySubscribers(scheduled, subscribers, signal, { pause });
      }
      const clients = caches.flatMap(({ ask }) => [...USERS, ...USERS].map((user) => ask(user)));
      await Promise.all([...clients, ...programs.map((program) => runProgram(program))]);
      failures.length = 0;
      expect(await runProgram(['purge', 0])).toEqual([]);
      for (const { stored, read } of caches)
        expect(Object.fromEntries(stored)).toEqual(
          Object.fromEntries([...stored.keys()].map((user) => [user, read(user)])),
        );
      const db = new SqliteDatabase(path, { readonly: true });
      const names = db.prepare('SELECT user_key FROM changes EXCEPT SELECT user_key FROM profiles').all();
      db.close();
      expect(names).toEqual([]);
    },
    SHARE,
  );
});

const writers = fc.array(fc.array(fc.constantFrom('open', 'commit', 'close'), { maxLength: 5 }), {
  maxLength: 2,
});
const swaps = fc.array(fc.constantFrom('swap', 'snapshot', 'garbage', 'remove', 'refuse', 'put back'), {
  maxLength: 6,
});

const GARBAGE = 'no database at all\n'.repeat(1000);

test('served file: answers never go back in time, and reach the newest', async () => {
  const original = join(tempFolder(), 'site.db');
  await importInto(original, ['-'], ndjson(folio(1, 'ada', { bio: '1' })));
  await explore(
    fc.record({ writers, swaps }),
    async (step, { writers, swaps }) => {
      const path = copyOf(original);
      vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
      const reader = await openServed(path, () => {});
      let [states, newest, open, isWhole, isNoticed] = [1, 0, 0, true, true];
      /** Of a file that was moved away for another that is refused: whether it had been noticed. */
      let keptNoticed: boolean | undefined;
      /** The next state of the data, with a time of its own: the clock of the file system is coarse. */
      const change = (file: string, write: (sql: string) => void, isInLog = false) => {
        states++;
        write(`UPDATE profiles SET etag = '"${states}"'; UPDATE vitrine SET generation = generation + 1`);
        if (!isInLog) utimesSync(file, states, states);
      };
      const ask = async () => reader.profile('portfolio', 'ada');
      const look = async () => {
        const answer = await ask().catch((error) => {
          if (isWhole) throw error;
        });
        // What is read of a file that is gone may fail, but not be something else.
        if (answer === undefined && !isWhole) return;
        const state = Number(answer?.etag.slice(1, -1).replace(/\D.*/, '')) || 1;
        expect(state).toBeGreaterThanOrEqual(newest);
        newest = state;
      };
      const poll = async () => {
        vi.advanceTimersByTime(250);
        isNoticed = true;
      };
      const write = async (steps: readonly string[]) => {
        let db: SqliteDatabase.Database | undefined;
        for (const next of [...steps, 'close']) {
          await step(`writer: ${next}`);
          // Until the server has noticed another file, the log of the one before lies beside it, and SQLite would use it.
          if (next === 'open' && db === undefined && isWhole && isNoticed) {
            db = new SqliteDatabase(path);
            db.pragma('journal_mode = WAL');
            open++;
          }
          if (next === 'commit' && db !== undefined) {
            const { exec } = db;
            change(path, (sql) => exec.call(db, `BEGIN; ${sql}; COMMIT`));
          }
          if (next === 'close' && db !== undefined) {
            // As an import does.
            db.pragma('wal_checkpoint(TRUNCATE)');
            db.close();
            db = undefined;
            open--;
          }
        }
      };
      const swap = async () => {
        for (const what of swaps) {
          await step(what);
          // Another file must not come while one is being written: the guides say so.
          if (open > 0) continue;
          if (what === 'put back') {
            // Without a look at what was there meanwhile, a writer may come at once.
            if (keptNoticed === undefined) continue;
            renameSync(`${path}.kept`, path);
            [isWhole, isNoticed, keptNoticed] = [true, keptNoticed, undefined];
            continue;
          }
          if (what === 'refuse') {
            if (!isWhole) continue;
            keptNoticed = isNoticed;
            renameSync(path, `${path}.kept`);
            writeFileSync(path, GARBAGE);
            [isWhole, isNoticed] = [false, false];
            continue;
          }
          keptNoticed = undefined;
          if (what === 'remove') rmSync(path, { force: true });
          else {
            const next = copyOf(original);
            const db = new SqliteDatabase(next);
            if (what === 'snapshot') db.pragma('journal_mode = DELETE');
            change(next, (sql) => db.exec(sql));
            db.close();
            if (what === 'garbage') writeFileSync(next, GARBAGE);
            renameSync(next, path);
          }
          isNoticed = false;
          isWhole = what !== 'remove' && what !== 'garbage';
        }
      };
      const serve = async (act: () => Promise<void>, name: string) => {
        for (let nth = 0; nth < 6; nth++) {
          await step(name);
          await act();
        }
      };
      await Promise.all([...writers.map(write), swap(), serve(poll, 'poll'), serve(look, 'look')]);
      let last: SqliteDatabase.Database | undefined;
      /** A commit that stays in the log, as while an export reads the file. */
      const commit = async () => {
        if (!isWhole) return;
        last = new SqliteDatabase(path);
        const { exec } = last;
        last.pragma('journal_mode = WAL');
        change(path, (sql) => exec.call(last, sql), true);
      };
      for (const act of [poll, poll, poll, commit, poll, look]) {
        await step('end');
        await act();
      }
      if (isWhole) expect(newest).toBe(states);
      last?.close();
      await reader.close();
    },
    SHARE,
  );
});

const NAMES = ['ada', 'bob', 'cid'];

const mirrors = fc.record({
  /** After which call of the store each run is killed. */
  kills: fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 3 }),
  events: fc.array(
    fc.tuple(fc.constantFrom('change', 'leave', 'import', 'takedown'), fc.nat(NAMES.length - 1)),
    { maxLength: 6 },
  ),
});

/** A site whose users have versions. */
function answerFor(versions: ReadonlyMap<string, number>, step: Step): Answer {
  return async ({ url = '', headers }, response) => {
    const [, name = '', items] = /^\/api\/username\/(\w+)(\/shots)?$/.exec(url) ?? [];
    await step(`answer ${url}`);
    const version = versions.get(name);
    if (version === undefined) return void response.writeHead(404).end('no');
    const etag = `"${version}"`;
    if (headers['if-none-match'] === etag) return void response.writeHead(304, { etag }).end();
    const id = NAMES.indexOf(name) + 1;
    const body = items
      ? { Shots: [shot(id, id, { title: `site ${version}` })] }
      : folio(id, name, { bio: `site ${version}` });
    response.writeHead(200, { etag }).end(JSON.stringify(body));
  };
}

test('notes of a mirror: runs that are killed lose nothing and take nothing over', async () => {
  let answer: Answer = () => {};
  const site = await startSite((request, response) => answer(request, response));
  const empty = join(tempFolder(), 'site.db');
  await importInto(empty, ['-'], ndjson(folio(99, 'zoe')));
  await explore(
    mirrors,
    async (step, { kills, events }) => {
      const [path, state] = [copyOf(empty), join(tempFolder(), 'state')];
      const versions = new Map(NAMES.map((name) => [name, 1]));
      answer = answerFor(versions, step);
      const [elsewhere, takenDown] = [new Set<string>(), new Set<string>()];
      const inTurn = createTurns();
      const find = (sql: string, file = path) => {
        const db = new SqliteDatabase(file, { readonly: true });
        const found = db.prepare(sql).pluck().all();
        db.close();
        return found;
      };

      async function mirror(killAfter = Number.POSITIVE_INFINITY): Promise<void> {
        let calls = 0;
        const live = () => {
          if (++calls > killAfter) throw new Error('killed');
        };
        const call = async <T>(work: () => T | Promise<T>) => {
          await step('store');
          live();
          const result = await inTurn(async () => work());
          live();
          return result;
        };
        await using writer = await inTurn(() => openWriter(path));
        await runMirror({
          ...PACE,
          concurrency: 1,
          variant: 'b',
          from: new URL(site.url),
          users: { names: NAMES },
          state,
          writer: {
            ...writer,
            async load(options) {
              const load = await call(() => writer.load(options));
              return { ...load, finish: (ending) => call(() => load.finish(ending)) };
            },
            remove: (family, key) => call(() => writer.remove(family, key)),
          },
          prune: true,
          maxRemoved: { share: 1 },
          lenient: false,
          adopt: false,
          openReader: () => call(() => openReader(path)),
          openArchive: () => call(() => openArchive(path)),
          out: { write: () => true },
          signal: new AbortController().signal,
        }).catch((error: Error) => {
          if (error.message !== 'killed') throw error;
        });
      }

      const happen = async () => {
        for (const [what, nth] of events) {
          const name = NAMES[nth] as string;
          await step(`${what} ${name}`);
          if (what === 'leave') versions.delete(name);
          if (what === 'change') versions.set(name, (versions.get(name) ?? 1) + 1);
          if (what !== 'import' && what !== 'takedown') continue;
          await using writer = await inTurn(() => openWriter(path));
          if (what === 'import') {
            await inTurn(() => load(writer, folio(101 + nth, name, { bio: 'elsewhere' })));
            if (find(`SELECT 1 FROM profiles WHERE id = ${101 + nth}`).length > 0) elsewhere.add(name);
          } else {
            const subject = { family: 'portfolio', kind: 'user', value: name } as const;
            await inTurn(() => writer.takeDown([subject]));
            elsewhere.delete(name);
            takenDown.add(name);
          }
        }
      };
      const runs = async () => {
        for (const killAfter of kills) await mirror(killAfter);
      };
      await Promise.all([runs(), happen()]);
      // This may complete a run that was killed, and so visit only those that it had not.
      await mirror();
      for (const [name, version] of versions) versions.set(name, version + 1);
      await mirror();
      for (const name of NAMES) {
        const bio = find(`SELECT record ->> 'bio' FROM profiles WHERE user_key = '${name}'`)[0];
        if (takenDown.has(name)) expect([name, bio]).toEqual([name, undefined]);
        else if (elsewhere.has(name)) expect([name, bio]).toEqual([name, 'elsewhere']);
        else if (versions.has(name)) expect([name, bio]).toEqual([name, `site ${versions.get(name)}`]);
        // Users that are refused are no sign that the site is the right one, so then nothing is pruned.
        else if (NAMES.some((one) => versions.has(one) && !takenDown.has(one) && !elsewhere.has(one)))
          expect([name, bio]).toEqual([name, undefined]);
      }
      const noted = find('SELECT user_key FROM users UNION SELECT user_key FROM brought', state);
      expect(noted.filter((name) => takenDown.has(name as string))).toEqual([]);
    },
    SHARE,
  );
});
