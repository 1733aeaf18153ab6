// The choice among PostgreSQL hosts: what was taken down, standbys that lag, tables that are locked. The hosts are simulated;
// postgres-operation.slow.test.ts and postgres.slow.test.ts have real ones.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openHosts } from '../../../src/stores/postgres/hosts.ts';
import type { StoreEvent } from '../../../src/stores/reader.ts';
import { schemaOf } from '../../../src/stores/sql/migrations.ts';
import { NEWEST_MARK } from '../../../src/stores/sql/takedowns.ts';

const SCHEMA = String(schemaOf('postgres').current);

/** A generation, in microseconds: so many minutes after noon. */
const at = (minutes: number) => Date.UTC(2026, 10, 28, 12, minutes) * 1000;

const simulated = (more: Partial<Simulated> = {}): Simulated => ({
  isUp: true,
  isStandby: false,
  isLocked: false,
  generation: at(0),
  marks: [],
  lag: 0,
  isPaused: false,
  asked: 0,
  ...more,
});

interface Simulated {
  isUp: boolean;
  isStandby: boolean;
  /** Another session has its tables, as ALTER TABLE does. */
  isLocked: boolean;
  generation: number;
  marks: string[];
  lag: number;
  isPaused: boolean;
  /** How many lookups came. */
  asked: number;
}

/** What a query of a poll or a lookup gets. */
async function answer(host: Simulated, text: string, mark: string | undefined): Promise<unknown[][]> {
  if (!host.isUp) throw Object.assign(new Error('down'), { code: 'ECONNREFUSED' });
  if (text.includes('has_table_privilege'))
    return [[`${host.generation}`, SCHEMA, 't', host.isStandby ? 't' : 'f']];
  if (text === NEWEST_MARK) return host.marks.slice(-1).map((newest) => [newest]);
  if (text.includes('takedown_marks')) return host.marks.filter((one) => one === mark).map(() => ['1']);
  if (text.includes('replay')) return [[`${host.lag}`, host.isPaused ? 't' : 'f']];
  if (text.includes('shape')) return [];
  if (host.isLocked) await new Promise(() => {});
  return [[`${host.generation}`]];
}

async function open(...databases: Simulated[]) {
  const createPool = (_: unknown, { port }: { port: number }, { answerWithin }: { answerWithin: number }) => {
    // The URL numbers them from 1.
    const host = databases[port - 1] as Simulated;
    return {
      async query({ text, values = [] }: { text: string; values?: string[] }, limit?: number) {
        if (text === 'lookup') host.asked++;
        const timeout = new Promise<never>((_, reject) =>
          setTimeout(
            () =>
              reject(
                Object.assign(new Error('timeout'), { code: limit === undefined ? 'ETIMEDOUT' : '57014' }),
              ),
            limit ?? answerWithin,
          ),
        );
        return await Promise.race([answer(host, text, values[0]), timeout]);
      },
      reset() {},
      close: async () => {},
    };
  };
  const events: StoreEvent[] = [];
  const url = `postgres://${databases.map((_, index) => `db:${index + 1}`).join()}/site`;
  const pools = createPool as unknown as NonNullable<Parameters<typeof openHosts>[2]>['createPool'];
  const pause = (ms?: number) => new Promise<void>((done) => setTimeout(done, ms));
  const options = { createPool: pools, pause: pause as never };
  const hosts = await openHosts(url, (event) => events.push(event), options);
  const lookUp = () =>
    hosts.read({ text: 'lookup' }).then(
      ([generation]) => Number(generation),
      (error: Error) => error.message,
    );
  return { hosts, events, lookUp, warned: () => events.filter(({ type }) => type === 'data-warning') };
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

/** The result of what takes time, and how much. */
async function timed<T>(action: Promise<T>): Promise<{ result: T; took: number }> {
  const began = performance.now();
  let took: number | undefined;
  void action.then(() => {
    took = performance.now() - began;
  });
  while (took === undefined) await pass(10);
  return { result: await action, took };
}

const LACKS =
  'The database at db:2 lacks takedowns of what was served before: those since 2026-11-28T12:00:00.000Z may be lost. ' +
  'Repeat them first, then restart the servers.';

test('a standby that was promoted without the last takedown stays refused, also after an import', async () => {
  const primary = simulated();
  const standby = simulated({ isStandby: true });
  const { hosts, lookUp } = await open(primary, standby);
  Object.assign(primary, { generation: at(5), marks: ['of a user'] });
  await pass(300);
  Object.assign(primary, { isUp: false });
  await pass(1500);
  // Nothing is served, so it says nothing of what is served.
  expect(hosts.warning()).toBeUndefined();
  Object.assign(standby, { isStandby: false });
  await pass(1500);
  expect(await lookUp()).toMatch(
    /behind what was served before: they have the data of 2026-11-28T12:00:00.000Z, .* takedowns since then may be lost. Repeat them first/,
  );
  Object.assign(standby, { generation: at(9) });
  await pass(1500);
  expect(hosts.fault()).toContain(LACKS);
  expect(await lookUp()).toContain(LACKS);
  // A takedown that was repeated has another mark.
  Object.assign(standby, { generation: at(10), marks: ['of the user again'] });
  await pass(1500);
  expect(hosts.fault()).toContain(LACKS);
  await hosts.close();
});

test('a standby that is behind and was away for a moment is called behind, and is read once it caught up', async () => {
  const primary = simulated();
  const standby = simulated({ isStandby: true });
  const { hosts, events, lookUp } = await open(primary, standby);
  Object.assign(primary, { generation: at(5), marks: ['of a user'] });
  Object.assign(standby, { lag: 30, isPaused: true });
  await pass(300);
  for (const isUp of [false, true]) {
    Object.assign(standby, { isUp });
    await pass(1500);
  }
  expect(hosts.states()[1]).toMatchObject({ up: true, lag: 300, replayLag: 30 });
  Object.assign(primary, { isUp: false });
  await pass(1500);
  expect(await lookUp()).toMatch(/behind what was served before/);
  Object.assign(standby, { generation: at(5), marks: ['of a user'] });
  await pass(1500);
  expect(await lookUp()).toBe(at(5));
  expect(events.map(({ message }) => message).join()).not.toContain('lacks takedowns');
  await hosts.close();
});

test('a lookup that is the first to see newer data does not trust it without the last takedown', async () => {
  const primary = simulated({ generation: at(5), marks: ['one', 'two'] });
  const standby = simulated({ isStandby: true, generation: at(5), marks: ['one', 'two'] });
  const { hosts, lookUp } = await open(primary, standby);
  await pass(300);
  // Between two polls.
  Object.assign(primary, { isUp: false });
  Object.assign(standby, { isStandby: false, generation: at(9), marks: ['one'] });
  const { result } = await timed(lookUp());
  expect(result).toContain('db:2 lacks takedowns');
  await hosts.close();
});

test('newer data with all takedowns is served at once, whoever has it', async () => {
  const primary = simulated({ marks: ['one'] });
  const standby = simulated({ isStandby: true, marks: ['one'] });
  const { hosts, lookUp } = await open(primary, standby);
  for (const host of [standby, primary])
    Object.assign(host, { generation: at(5), marks: ['one', 'two', 'three'] });
  expect((await timed(lookUp())).result).toBe(at(5));
  Object.assign(primary, { generation: at(6), marks: ['one', 'two', 'three', 'four'] });
  await pass(600);
  expect(await Promise.all([lookUp(), lookUp(), lookUp()])).toEqual([at(6), at(6), at(6)]);
  expect(hosts.fault()).toBeUndefined();
  await hosts.close();
});

test('a server that starts while the primary is away says what it cannot know', async () => {
  const primary = simulated({ isUp: false });
  const standby = simulated({ isStandby: true });
  const { hosts, warned } = await open(primary, standby);
  const warning =
    'No primary answers. What is served is of 2026-11-28T12:00:00.000Z: takedowns since then may not be in force.';
  expect([hosts.warning(), hosts.fault(), warned()]).toEqual([
    warning,
    undefined,
    [{ type: 'data-warning', message: warning }],
  ]);
  Object.assign(primary, { isUp: true });
  await pass(600);
  expect(hosts.warning()).toBeUndefined();
  await hosts.close();
});

test('a replica that lags is known as one, also where the URL names no other host', async () => {
  const replica = simulated({ isStandby: true, lag: 5 });
  const { hosts } = await open(replica);
  expect(hosts.states()).toMatchObject([{ up: true, lag: 0, replayLag: 5 }]);
  expect(hosts.warning()).toBeUndefined();
  Object.assign(replica, { lag: 11 });
  await pass(300);
  expect(hosts.warning()).toMatch(/^The standby at db:1 shows changes later than it receives them. What/);
  Object.assign(replica, { lag: 0, isPaused: true });
  await pass(300);
  expect(hosts.warning()).toMatch(/^The standby at db:1 has paused its replay. .* may not be in force\.$/);
  await hosts.close();
});

test('a host whose tables are locked is down, and the others are asked; each lookup ends in time', async () => {
  const locked = simulated({ isLocked: true });
  const other = simulated();
  const { hosts, lookUp } = await open(locked, other);
  const lookups = await timed(Promise.all(Array.from({ length: 10 }, lookUp)));
  expect(lookups.result).toEqual(Array(10).fill(at(0)));
  expect(lookups.took).toBeLessThan(900);
  await pass(1000);
  expect(hosts.states().map(({ up }) => up)).toEqual([false, true]);
  const before = locked.asked;
  expect(await lookUp()).toBe(at(0));
  expect(locked.asked).toBe(before);
  locked.isLocked = false;
  await pass(1500);
  expect(hosts.states().map(({ up }) => up)).toEqual([true, true]);
  await hosts.close();
});

test('where all hosts are locked, a lookup fails within a second, and the server is not ready', async () => {
  const only = simulated();
  const { hosts, lookUp } = await open(only);
  only.isLocked = true;
  const { result, took } = await timed(lookUp());
  expect(result).toBe('The database at db:1 took too long to answer.');
  expect(took).toBeLessThan(1000);
  await pass(1000);
  expect(hosts.fault()).toBe('The database at db:1 took too long to answer.');
  only.isLocked = false;
  await pass(1500);
  expect(hosts.fault()).toBeUndefined();
  expect(await lookUp()).toBe(at(0));
  await hosts.close();
});

test('the hosts with the newest data share the lookups, and one that is behind gets none', async () => {
  const primary = simulated();
  const standby = simulated({ isStandby: true });
  const late = simulated({ isStandby: true, generation: at(-5) });
  const { hosts, lookUp } = await open(primary, standby, late);
  for (let nr = 0; nr < 10; nr++) expect(await lookUp()).toBe(at(0));
  expect([primary, standby, late].map(({ asked }) => asked)).toEqual([5, 5, 0]);
  await hosts.close();
});
