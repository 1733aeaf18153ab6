// All hosts of a URL as one: a lookup goes to a host with the newest data, and never back behind what was read before.
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { parsePostgresUrl } from '../../config/database-url.ts';
import { StoreError, UnavailableError } from '../errors.ts';
import type { HostState, StoreListener } from '../reader.ts';
import { noRow } from '../sql/migrations.ts';
import type { TextRow } from '../sql/sql-adapter.ts';
import { isLasting, isSlow, toStoreError } from './errors.ts';
import { createHost, type Host, timeOf } from './host.ts';
import { createReadPool } from './pool.ts';

/** How long a lookup may take, also one that waits for a host. Less than a second, so that it does not count as slow. */
const WAIT_MS = 900;
const PAUSE_MS = 20;
/** How long the start waits for the other hosts when one answers. */
const START_MS = 600;

const EMPTY = 'Nothing was imported into the database yet: run `vitrine import`.';

export type Hosts = Awaited<ReturnType<typeof openHosts>>;

/** Tests pass other pools and clocks. */
export async function openHosts(
  url: string,
  observe: StoreListener,
  { createPool = createReadPool, pause = delay, waitMs = WAIT_MS } = {},
) {
  let started = false;
  const firstUp = Promise.withResolvers<void>();
  const address = parsePostgresUrl(url);
  const report = createReports(observe);
  const requiredMark = (generation: number) => (generation < choice.newest() ? undefined : choice.mark());
  const hosts = address.hosts.map((where) =>
    createHost({ address, where, onPoll, createPool, waitMs, requiredMark }),
  );
  const choice = createChoice(hosts, waitMs, () => {
    if (started) observe({ type: 'data-changed', message: 'the data changed' });
  });
  const warning = () => warnOfPrimaries(hosts) ?? warnOfStandbys(hosts, choice.newest());
  const close = async () => void (await Promise.all(hosts.map((host) => host.close())));

  function onPoll(host: Host, wasUp: boolean | undefined): void {
    choice.update(host);
    if (host.up) firstUp.resolve();
    if (started) report(host, wasUp, warning());
  }

  await start(hosts, firstUp.promise, pause);
  if (hosts.every(({ up, fault }) => up === false && isLasting(fault))) {
    await close();
    throw new StoreError(hosts.map(faultMessage).join(' '));
  }
  if (choice.fault() === EMPTY) observe({ type: 'data-warning', message: EMPTY });
  for (const host of hosts) report(host, undefined, warning());
  started = true;
  return {
    newest: choice.newest,
    fault: choice.fault,
    warning,
    refusal: choice.refusal,
    states: () => hosts.map((host) => state(host, choice.newest())),
    /** The first row of a query; its first column must be the generation. */
    read: (query: pg.QueryConfig) => read({ choice, query, pause, waitMs }),
    close,
  };
}

async function start(hosts: readonly Host[], firstUp: Promise<void>, pause: typeof delay): Promise<void> {
  const starts = Promise.all(hosts.map((host) => host.start()));
  await Promise.race([starts, pause(START_MS, undefined, { ref: false })]);
  await Promise.race([starts, firstUp]);
}

const faultMessage = ({ name, fault }: Host) => toStoreError(name, fault).message;

function warnOfPrimaries(hosts: readonly Host[]): string | undefined {
  const names = hosts.filter(({ writable }) => writable).map(({ name }) => name);
  if (names.length < 2) return undefined;
  return `The databases at ${names.join(' and ')} can all be written. After a failover, an old primary that returns has to be made a standby.`;
}

/** A standby may be later than this by the load of its primary. */
const LATE_SECONDS = 10;

/** While no primary answers, it is unknown whether the standbys have all of it. */
function warnOfStandbys(hosts: readonly Host[], newest: number): string | undefined {
  const up = hosts.filter((host) => host.up);
  const isServed = newest > 0 && up.some((host) => isCurrent(host, newest));
  if (!isServed || up.some(({ writable }) => writable)) return undefined;
  const late = up.filter(({ replay }) => replay.isPaused || replay.lag > LATE_SECONDS);
  const sentences = late.map(({ name, replay }) =>
    replay.isPaused
      ? `The standby at ${name} has paused its replay.`
      : `The standby at ${name} shows changes later than it receives them.`,
  );
  const isPrimaryAway = up.length < hosts.length;
  if (isPrimaryAway) sentences.unshift('No primary answers.');
  if (sentences.length === 0) return undefined;
  return `${sentences.join(' ')} What is served is of ${timeOf(newest)}: takedowns since then may not be in force.`;
}

/** What the log says of a host; `wasUp` is undefined if it said nothing yet. */
function createReports(observe: StoreListener) {
  let reported: string | undefined;
  return (host: Host, wasUp: boolean | undefined, warning: string | undefined): void => {
    if (host.up && wasUp === false)
      observe({ type: 'data-changed', message: `the database at ${host.name} answers again` });
    if (host.up === false && wasUp !== false) observe({ type: 'data-fault', message: faultMessage(host) });
    if (warning !== undefined && warning !== reported) observe({ type: 'data-warning', message: warning });
    reported = warning;
  };
}

const isCurrent = ({ up, generation }: Host, newest: number) => up === true && generation >= newest;

function state({ name, up = false, generation, writable, replay }: Host, newest: number): HostState {
  // A host that never answered has no generation.
  const lag = generation === 0 ? 0 : (newest - generation) / 1e6;
  return { name, up, lag, writable, replayLag: replay.lag };
}

type Choice = ReturnType<typeof createChoice>;

function createChoice(hosts: readonly Host[], waitMs: number, onNewer: () => void) {
  let newest = 0;
  /** Of the last takedown of what is served. */
  let mark: string | undefined;
  let next = 0;
  /** Since when no host can be read from; undefined while one can. */
  let lost: 'from the start' | number | undefined = 'from the start';

  const findCurrent = () => hosts.filter((host) => isCurrent(host, newest));

  function fault(): string | undefined {
    const up = hosts.filter((host) => host.up);
    if (up.length === 0) return hosts.map(faultMessage).join(' ');
    if (newest === 0) return EMPTY;
    return findCurrent().length > 0 ? undefined : describeBehind(up);
  }

  return {
    newest: () => newest,
    mark: () => mark,
    fault,

    /** To be called when a host went up or down or its generation was read. */
    update(host: Host): void {
      const isNewer = host.generation > newest;
      newest = Math.max(newest, host.generation);
      if (isCurrent(host, newest)) mark = host.mark ?? mark;
      lost = findCurrent().length > 0 ? undefined : (lost ?? performance.now());
      if (isNewer) onNewer();
    },

    /** The hosts with the newest data that were not tried yet, from another one each time. */
    choose(tried: ReadonlySet<Host>): { readonly host: Host; readonly untried: number } | undefined {
      const untried = findCurrent().filter((host) => !tried.has(host));
      const host = untried[next % Math.max(untried.length, 1)];
      next++;
      return host && { host, untried: untried.length };
    },

    isLost: () => lost === 'from the start' || (lost !== undefined && performance.now() - lost > waitMs),

    refusal(failure?: StoreError): StoreError {
      const message = fault();
      if (message === undefined && failure !== undefined) return failure;
      return new UnavailableError(message ?? describeBehind(hosts));
    },
  };
}

/** The sentence stays true if a failover or a restored backup has lost the rest. */
function describeBehind(hosts: readonly Host[]): string {
  const newest = Math.max(...hosts.map(({ generation }) => generation));
  return (
    `The databases that answer are behind what was served before: they have the data of ${timeOf(newest)}, and have to catch up. ` +
    'After a failover or a restored backup, takedowns since then may be lost. Repeat them first, then restart the servers.'
  );
}

interface Reading {
  readonly choice: Choice;
  readonly query: pg.QueryConfig;
  readonly pause: typeof delay;
  readonly waitMs: number;
}

async function read({ choice, query, pause, waitMs }: Reading): Promise<TextRow> {
  const tried = new Set<Host>();
  const deadline = performance.now() + waitMs;
  let failure: StoreError | undefined;
  for (;;) {
    const { host, untried } = choice.choose(tried) ?? (await waitForHost());
    tried.add(host);
    try {
      // The hosts that can be asked share the time.
      const limit = Math.max(deadline - performance.now(), PAUSE_MS) / untried;
      const [row] = await host.query(query, limit);
      if (row === undefined) throw noRow(`The database at ${host.name}`);
      const generation = Number(row[0]);
      // Whether it has the takedowns of what was served before, its poll finds out.
      if (generation > host.generation) await host.confirm(generation);
      if (host.up && generation >= choice.newest()) return row;
    } catch (error) {
      // The last try has less time than what failed before.
      if (failure === undefined || !isSlow(error)) failure = toStoreError(host.name, error);
      host.failed(error);
    }
  }

  /** Then hosts that failed are tried again. It fails at once if all have been down for longer. */
  async function waitForHost() {
    for (;;) {
      if (choice.isLost() || performance.now() > deadline) throw choice.refusal(failure);
      await pause(PAUSE_MS);
      tried.clear();
      const chosen = choice.choose(tried);
      if (chosen !== undefined) return chosen;
    }
  }
}
