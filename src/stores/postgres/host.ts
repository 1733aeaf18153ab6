// One host that is read from: its lanes, and what the watch says of it.
import type pg from 'pg';
import type { HostAddress, PostgresAddress } from '../../config/database-url.ts';
import { nameOf, newReadingClient, type Row } from './connect.ts';
import { createLanes } from './lanes.ts';
import { isOfTheQuery } from './sentences.ts';
import { createWatch, type Seen } from './watch.ts';

export interface HostEvents {
  /** After each look that found the host usable. */
  readonly onSeen: (host: Host, mayWrite: boolean) => void;
  readonly onUp: (host: Host) => void;
  readonly onDown: (host: Host) => void;
}

export interface Host {
  readonly name: string;
  /** Undefined until it was looked at. */
  up: boolean | undefined;
  /** What its data was when last heard of. */
  generation: number;
  /** Why it is not used. */
  fault: unknown;
  query(query: pg.QueryConfig): Promise<Row[]>;
  /** Reports what a query failed with: a broken connection leaves the host out until it was looked at again. */
  failed(error: unknown): void;
  /** Finds out whether the host can be used. */
  look(): Promise<void>;
  close(): Promise<void>;
}

export function createHost(address: PostgresAddress, where: HostAddress, events: HostEvents): Host {
  const newClient = () => newReadingClient(address, where);
  const lanes = createLanes(newClient);
  const watch = createWatch({ name: nameOf(where), newClient, onSeen: seen, onFault: down });
  const host: Host = {
    name: nameOf(where),
    up: undefined,
    generation: 0,
    fault: undefined,
    query: lanes.query,
    look: watch.look,
    failed(error) {
      if (!isOfTheQuery(error)) down(error);
    },
    async close() {
      await Promise.all([watch.close(), lanes.close()]);
    },
  };
  return host;

  function seen({ generation, mayWrite }: Seen): void {
    const wasUp = host.up === true;
    host.up = true;
    host.generation = generation;
    host.fault = undefined;
    events.onSeen(host, mayWrite);
    if (!wasUp) events.onUp(host);
  }

  function down(error: unknown): void {
    const wasDown = host.up === false;
    host.up = false;
    host.fault = error;
    lanes.drop();
    if (!wasDown) events.onDown(host);
  }
}
