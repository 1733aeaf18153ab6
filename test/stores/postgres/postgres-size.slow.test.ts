// What PostgreSQL does for an import, and for a takedown, as the data grows. Pages that are read tell it without a clock.
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openWriter } from '../../../src/stores/open.ts';
import { writePeople } from '../../bench/data.ts';
import { tempFolder } from '../../support/files.ts';
import { type Cluster, havePostgres, startCluster } from '../../support/postgres-rig.ts';
import { importInto } from '../../support/rig.ts';
import { until } from '../../support/stress.ts';

const USERS = 2000;
/** Enough for lists that are compressed. */
const ITEMS = 5;

describe.runIf(havePostgres)('PostgreSQL', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster();
  });
  afterAll(() => cluster?.remove());

  /** Pages of tables and indexes that were read in a database. */
  async function pages(database: string): Promise<number> {
    const [row] = await cluster.primary.sql(
      'SELECT sum(coalesce(heap_blks_hit, 0) + coalesce(heap_blks_read, 0) + coalesce(idx_blks_hit, 0) + coalesce(idx_blks_read, 0)) AS sum FROM pg_statio_user_tables',
      database,
    );
    return Number(row?.sum);
  }

  /** A session reports what it has read when it ends. */
  async function settled(database: string): Promise<void> {
    await until('the end of the sessions', async () => {
      const sessions = `SELECT count(*) AS count FROM pg_stat_activity WHERE datname = '${database}'`;
      return Number((await cluster.primary.sql(sessions))[0]?.count) === 0;
    });
  }

  async function imported(users: number): Promise<{ readonly database: string; readonly url: string }> {
    const database = await cluster.createDatabase();
    const url = cluster.url(database);
    const source = join(tempFolder(), 'people.ndjson');
    await writePeople(source, users, ITEMS);
    await importInto(url, [source]);
    await settled(database);
    return { database, url };
  }

  async function takeDown(url: string, database: string, value: string): Promise<void> {
    const writer = await openWriter(url);
    expect((await writer.takeDown([{ family: 'microblog', kind: 'user', value }])).users).toBe(1);
    await writer.close();
    await settled(database);
  }

  test('an import of four times the users reads four times as much, not sixteen', async () => {
    const found: number[] = [];
    for (const users of [USERS, 4 * USERS]) found.push(await pages((await imported(users)).database));
    const [one = 0, four = 0] = found;
    expect(one).toBeGreaterThan(0);
    expect(four / one).toBeLessThan(6);
  });

  test('a takedown of one user reads no more where there are four times as many', async () => {
    const found: number[] = [];
    for (const users of [USERS, 4 * USERS]) {
      const { database, url } = await imported(users);
      // The first one meets what the import has left in the indexes of what is to be compressed.
      await takeDown(url, database, 'user8');
      const before = await pages(database);
      await takeDown(url, database, 'user7');
      found.push((await pages(database)) - before);
    }
    const [one = 0, four = 0] = found;
    expect(four).toBeLessThan(1.5 * one + 100);
  });
});
