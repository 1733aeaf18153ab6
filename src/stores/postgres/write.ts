// The side of PostgreSQL that writes: imports, staged by COPY, and removals, each one transaction on the primary.
import { once } from 'node:events';
import { from as copyFrom } from 'pg-copy-streams';
import { type Family, KINDS } from '../../records/kinds.ts';
import type { Row } from '../../records/row.ts';
import type { Load, LoadOptions, Writer } from '../store.ts';
import { type Client, drop, explained, firstOf } from './connect.ts';
import { migrate, openPrimary, type Session } from './database.ts';
import { CHANNEL } from './host.ts';
import { merge } from './merge.ts';

/** How long a write waits for another one. */
const LOCK_MS = 60_000;

export async function openWriter(url: string): Promise<Writer> {
  const session = await openPrimary(url);
  const { client, name } = session;
  await migrate(session).catch(async (error) => {
    await client.end();
    throw error;
  });
  await client.query(`SET lock_timeout = ${LOCK_MS}`);
  return {
    load: (options) => explained(name, () => startLoad(session, options)),
    remove: (family, userKey) => explained(name, () => remove(client, family, userKey)),
    close: () => client.end(),
  };
}

async function remove(
  client: Client,
  family: Family,
  userKey: string,
): Promise<{ items: number } | undefined> {
  await client.query('BEGIN');
  try {
    await lock(client);
    const taken = 'DELETE FROM profiles WHERE family = $1 AND user_key = $2 RETURNING id';
    const id = await firstOf(client, taken, [family, userKey]);
    const items = await client.query('DELETE FROM items WHERE family = $1 AND owner = $2', [family, id ?? 0]);
    if (id !== undefined) await advance(client);
    await client.query('COMMIT');
    return id === undefined ? undefined : { items: items.rowCount ?? 0 };
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
}

/** Writers come one after another; readers are never held up. */
const lock = (client: Client) => client.query('SELECT generation FROM vitrine FOR UPDATE');

/**
 * A new generation, told to whoever listens. It is the time, so that what is imported after a standby was promoted is
 * newer than what the lost primary had last, wherever that had come to.
 */
async function advance(client: Client): Promise<void> {
  const generation = await firstOf(
    client,
    `UPDATE vitrine SET generation = greatest(generation + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
     RETURNING generation`,
  );
  await client.query('SELECT pg_notify($1, $2)', [CHANNEL, generation]);
}

const STAGE = `
  CREATE TEMP TABLE staged (
    place bigint NOT NULL, family text NOT NULL, id bigint NOT NULL, user_key text COLLATE "C", owner bigint,
    date text COLLATE "C", record text NOT NULL
  ) ON COMMIT DROP`;
const COPY = 'COPY staged (place, family, id, user_key, owner, date, record) FROM STDIN';
const CHUNK = 256 * 1024;
const MERGE_SETTINGS = "SET LOCAL work_mem = '64MB'; SET LOCAL maintenance_work_mem = '64MB'";

async function startLoad({ client, name }: Session, options: LoadOptions): Promise<Load> {
  await client.query('BEGIN');
  await client.query(STAGE);
  const copy = client.query(copyFrom(COPY));
  const families = new Set<Family>();
  let chunk = '';
  let broken: unknown;
  // Heard of at the next `add` or at `finish`; until then it must not count as unhandled.
  copy.on('error', (error) => {
    broken = error;
  });

  async function flush(): Promise<void> {
    const more = copy.write(chunk);
    chunk = '';
    if (!more && broken === undefined) await Promise.race([once(copy, 'drain'), once(copy, 'close')]);
    if (broken !== undefined) throw broken;
  }

  async function end(): Promise<void> {
    if (broken !== undefined) throw broken;
    const finished = once(copy, 'finish');
    copy.end(chunk);
    await finished;
  }

  async function finish() {
    await end();
    await lock(client);
    await client.query(MERGE_SETTINGS);
    const tallies = await merge(client, { ...options, families });
    const counts = Object.values(tallies ?? {});
    if (counts.some((tally) => tally.new + tally.changed + tally.removed > 0)) await advance(client);
    await client.query(tallies === undefined ? 'ROLLBACK' : 'COMMIT');
    return tallies;
  }

  return {
    add(row, place) {
      families.add(KINDS[row.kind].family);
      chunk += lineOf(row, place);
      return chunk.length < CHUNK ? undefined : explained(name, flush);
    },
    finish: () => explained(name, finish),
    abandon() {
      // The server undoes whatever was begun.
      copy.destroy();
      drop(client);
    },
  };
}

const NULL = '\\N';

/** A row in COPY's text format. */
function lineOf({ kind, id, userKey, owner, date, record }: Row, place: number): string {
  const about = owner === '' ? `${escaped(userKey)}\t${NULL}\t${NULL}` : `${NULL}\t${owner}\t${date}`;
  return `${place}\t${KINDS[kind].family}\t${id}\t${about}\t${escaped(record)}\n`;
}

const ESCAPES: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

const escaped = (text: string) =>
  /[\\\t\n\r]/.test(text) ? text.replace(/[\\\t\n\r]/g, (letter) => ESCAPES[letter] as string) : text;
