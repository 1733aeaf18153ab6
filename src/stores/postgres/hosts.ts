// All hosts of a URL as one: a lookup goes to a host with the newest data, and never back behind what was read before.
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { parsePostgresUrl } from '../../config/database-url.ts';
import { StoreError } from '../errors.ts';
import type { HostState, StoreListener } from '../reader.ts';
import { type Row, sslOf } from './connect.ts';
import { createFreshness, type Freshness, LOST_MS } from './freshness.ts';
import { createHost, type Host } from './host.ts';
import { isLasting, sentence } from './sentences.ts';

const PAUSE_MS = 20;
/** How long the start waits for hosts that do not answer, when another does. */
const START_MS = 600;

export interface Hosts extends Pick<Freshness, 'newest' | 'fault' | 'refusal'> {
  states(): HostState[];
  /** The first row of a query, whose first column must be the generation. */
  read(query: pg.QueryConfig): Promise<Row>;
  close(): Promise<void>;
}

export async function openHosts(url: string, observe: StoreListener): Promise<Hosts> {
  const address = parsePostgresUrl(url);
  sslOf(address);
  let started = false;
  let warned = false;
  const hosts = address.hosts.map((where) => createHost(address, where, { onSeen, onUp, onDown }));
  const freshness = createFreshness(hosts, () => {
    if (started) observe({ type: 'data-changed', message: 'the data changed' });
  });

  function onSeen(host: Host, mayWrite: boolean): void {
    freshness.update(host);
    if (!mayWrite || warned) return;
    warned = true;
    observe({
      type: 'data-warning',
      message: 'the role in DATABASE_URL may change the data: give the server one that may only read',
    });
  }

  function onUp({ name }: Host): void {
    if (started) observe({ type: 'data-changed', message: `the database at ${name} answers again` });
  }

  function onDown(host: Host): void {
    freshness.update(host);
    if (started) observe({ type: 'data-fault', message: sentence(host.name, host.fault) });
  }

  await lookAtAll(hosts);
  const reasons = reasonsOf(hosts);
  await refuseLasting(hosts, reasons);
  started = true;
  for (const message of reasons) observe({ type: 'data-fault', message });
  const fault = freshness.fault();
  if (fault !== undefined && reasons.length < hosts.length) observe({ type: 'data-warning', message: fault });
  return {
    ...freshness,
    states: () => hosts.map(freshness.stateOf),
    read: (query) => read(freshness, query),
    close: () => closeAll(hosts),
  };
}

async function lookAtAll(hosts: readonly Host[]): Promise<void> {
  const looks = Promise.all(hosts.map((host) => host.look()));
  await Promise.race([looks, delay(START_MS, undefined, { ref: false })]);
  if (!hosts.some(({ up }) => up)) await looks;
}

const reasonsOf = (hosts: readonly Host[]) =>
  hosts.filter(({ up }) => up === false).map(({ name, fault }) => sentence(name, fault));

/** No host can be used, and waiting would not help. */
async function refuseLasting(hosts: readonly Host[], reasons: readonly string[]): Promise<void> {
  if (!hosts.every(({ up, fault }) => up === false && isLasting(fault))) return;
  await closeAll(hosts);
  throw new StoreError(reasons.join(' '));
}

const closeAll = async (hosts: readonly Host[]) =>
  void (await Promise.all(hosts.map((host) => host.close())));

async function read(freshness: Freshness, query: pg.QueryConfig): Promise<Row> {
  const tried = new Set<Host>();
  let failure: string | undefined;
  for (const deadline = performance.now() + LOST_MS; ; ) {
    const host = freshness.choose(tried);
    if (host === undefined) {
      // Who was cut off gets a second; who comes when all hosts are long gone is not kept waiting.
      if (freshness.isLost() || performance.now() > deadline) throw freshness.refusal(failure);
      await delay(PAUSE_MS);
      tried.clear();
      continue;
    }
    tried.add(host);
    try {
      const [row = []] = await host.query(query);
      host.generation = Number(row[0]);
      freshness.update(host);
      if (host.generation >= freshness.newest()) return row;
    } catch (error) {
      failure = sentence(host.name, error);
      host.failed(error);
    }
  }
}
