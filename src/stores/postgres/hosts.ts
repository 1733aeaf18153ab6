// All hosts of a URL as one: a lookup goes to a host with the newest data, and never back behind what was read before.
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { parsePostgresUrl } from '../../config/database-url.ts';
import { StoreError, UnavailableError } from '../errors.ts';
import type { HostState, StoreListener } from '../reader.ts';
import { noRow } from '../sql/migrations.ts';
import type { TextRow } from '../sql/sql-adapter.ts';
import { isLasting, toStoreError } from './errors.ts';
import { createHost, type Host } from './host.ts';
import { createReadPool } from './pool.ts';

/** How long lookups wait for a host that can be read from. Less than a second, so that they do not count as slow. */
const WAIT_MS = 900;
const PAUSE_MS = 20;
/** How long the start waits for the other hosts when one answers. */
const START_MS = 600;

const EMPTY = 'Nothing was imported into the database yet: run `vitrine import`.';
const BEHIND =
  'The databases that answer are behind what was served before: they have to catch up. After a backup was restored, ' +
  'restart the servers.';

export type Hosts = Awaited<ReturnType<typeof openHosts>>;

/** Tests pass other pools and clocks. */
export async function openHosts(
  url: string,
  observe: StoreListener,
  { createPool = createReadPool, pause = delay } = {},
) {
  let started = false;
  const firstUp = Promise.withResolvers<void>();
  const address = parsePostgresUrl(url);
  const report = createReports(observe);
  const hosts = address.hosts.map((where) => createHost(address, where, onPoll, createPool));
  const choice = createChoice(hosts, () => {
    if (started) observe({ type: 'data-changed', message: 'the data changed' });
  });
  const warning = () => warnOfPrimaries(hosts);
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
    read: (query: pg.QueryConfig) => read(choice, query, pause),
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

function state(host: Host, newest: number): HostState {
  const { name, up = false, generation, writable } = host;
  // A generation is the time of an import, in microseconds. A host that never answered has none.
  const lag = generation === 0 ? 0 : (newest - generation) / 1e6;
  return { name, up, lag, writable };
}

type Choice = ReturnType<typeof createChoice>;

function createChoice(hosts: readonly Host[], onNewer: () => void) {
  let newest = 0;
  let next = 0;
  /** Since when no host can be read from; undefined while one can. */
  let lostAt: number | undefined = Number.NEGATIVE_INFINITY;

  const findCurrent = () => hosts.filter((host) => isCurrent(host, newest));

  function fault(): string | undefined {
    if (!hosts.some(({ up }) => up)) return hosts.map(faultMessage).join(' ');
    if (newest === 0) return EMPTY;
    return findCurrent().length > 0 ? undefined : BEHIND;
  }

  return {
    newest: () => newest,
    fault,

    /** To be called when a host went up or down or its generation was read. */
    update({ generation }: Host): void {
      const isNewer = generation > newest;
      newest = Math.max(newest, generation);
      lostAt = findCurrent().length > 0 ? undefined : (lostAt ?? performance.now());
      if (isNewer) onNewer();
    },

    /** The hosts with the newest data in turn. */
    choose(tried: ReadonlySet<Host>): Host | undefined {
      const untried = findCurrent().filter((host) => !tried.has(host));
      return untried[next++ % untried.length];
    },

    isLost: () => lostAt !== undefined && performance.now() - lostAt > WAIT_MS,

    refusal(failure?: StoreError): StoreError {
      const message = fault();
      if (message === undefined && failure !== undefined) return failure;
      return new UnavailableError(message ?? BEHIND);
    },
  };
}

async function read(choice: Choice, query: pg.QueryConfig, pause: typeof delay): Promise<TextRow> {
  const tried = new Set<Host>();
  const deadline = performance.now() + WAIT_MS;
  let failure: StoreError | undefined;
  for (;;) {
    const host = choice.choose(tried) ?? (await waitForHost());
    tried.add(host);
    try {
      const [row] = await host.query(query);
      if (row === undefined) throw noRow(`The database at ${host.name}`);
      const generation = Number(row[0]);
      // A query that began before others says nothing of what the host has now.
      host.generation = Math.max(host.generation, generation);
      choice.update(host);
      if (generation >= choice.newest()) return row;
    } catch (error) {
      failure = toStoreError(host.name, error);
      host.failed(error);
    }
  }

  /** Then hosts that failed are tried again. It fails at once if all have been down for longer. */
  async function waitForHost(): Promise<Host> {
    for (;;) {
      if (choice.isLost() || performance.now() > deadline) throw choice.refusal(failure);
      await pause(PAUSE_MS);
      tried.clear();
      const host = choice.choose(tried);
      if (host !== undefined) return host;
    }
  }
}
