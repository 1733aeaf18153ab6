// Data that cannot be read is counted, is a warning of /readyz, and makes a server not ready while most lookups fail by it.
import { openSync, statSync, writeSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { createFaultWatch } from '../../../src/server/telemetry/data-faults.ts';
import { databaseOf } from '../../support/database.ts';
import { ask, json } from '../../support/http.ts';
import { executeSql } from '../../support/importing.ts';
import { folio, shot } from '../../support/records.ts';
import { serveHere } from '../../support/serve-here.ts';
import { adminOf, metricsOf } from '../../support/stress.ts';

const PAGE = 4096;

test('a damaged file: faults are counted, /readyz warns, and says no while most lookups fail', async () => {
  const users = Array.from({ length: 400 }, (_, nth) =>
    folio(nth + 1, `user${nth}`, { bio: 'x'.repeat(900) }),
  );
  const items = users.map((_, nth) => shot(nth + 1, nth + 1, { description: 'y'.repeat(2000) }));
  const path = await databaseOf(...users, ...items);
  const server = await serveHere({ DATABASE_URL: path, ADMIN_PORT: '0' });
  const metric = async (name: string) => (await metricsOf(server)).get(name);
  expect(await metric('vitrine_data_faults_total')).toBe(0);
  const file = openSync(path, 'r+');
  // Pages of the tables' roots and of the schema come first.
  for (let at = 40 * PAGE; at < statSync(path).size; at += PAGE)
    writeSync(file, Buffer.alloc(PAGE, 0xff), 0, PAGE, at);
  const statuses: number[] = [];
  for (let nth = 0; nth < 400; nth++)
    statuses.push((await ask(server, `/b/api/username/user${nth}/shots`)).status);
  const failed = statuses.filter((status) => status === 503).length;
  expect(failed).toBeGreaterThan(200);
  expect(await metric('vitrine_data_faults_total')).toBe(failed);
  const { status, body } = await ask(adminOf(server), '/readyz');
  expect({ status, reason: json({ body }).reason }).toEqual({
    status: 503,
    reason: expect.stringContaining('run vitrine check'),
  });
});

test('a damaged list is a fault of the data', async () => {
  const items = Array.from({ length: 15 }, (_, nth) => shot(nth + 1, 1, { description: 'y'.repeat(200) }));
  const path = await databaseOf(folio(1, 'ada'), ...items);
  executeSql(path, "UPDATE lists SET body = CAST(x'1f8b0800' || randomblob(500) AS BLOB)");
  const server = await serveHere({ DATABASE_URL: path, ADMIN_PORT: '0' });
  const reply = await ask(server, '/b/api/username/ada/shots');
  expect([reply.status, json(reply)]).toMatchObject([503, { code: 'NOT_READY' }]);
  expect((await metricsOf(server)).get('vitrine_data_faults_total')).toBe(1);
});

test('caches that are purged do not keep an error, though they keep answers for a day', async () => {
  const path = await databaseOf(folio(1, 'ada'), shot(1, 1));
  const server = await serveHere({
    DATABASE_URL: path,
    PURGE: 'nginx:/var/cache/vitrine,post:https://a.example',
  });
  const headersOf = async () => {
    const { status, headers } = await ask(server, '/b/api/username/ada');
    return [status, headers['x-accel-expires'], headers['cdn-cache-control']];
  };
  expect(await headersOf()).toEqual([200, '86400', 'max-age=86400']);
  // No header can have it.
  executeSql(path, 'UPDATE profiles SET etag = char(10)');
  expect(await headersOf()).toEqual([500, undefined, undefined]);
});

describe('the watch', () => {
  function start() {
    const state = { at: 0, responses: 0, dataFaults: 0 };
    const find = createFaultWatch(
      () => state,
      () => state.at,
    );
    const pass = (seconds: number, responses: number, faults: number) => {
      state.at += seconds * 1000;
      state.responses += responses;
      state.dataFaults += faults;
      return find();
    };
    return pass;
  }

  test('warns of one fault for ten minutes', () => {
    const pass = start();
    expect(pass(1, 1000, 0)).toEqual({ unready: undefined, warning: undefined });
    expect(pass(1, 1000, 1)).toEqual({
      unready: undefined,
      warning: expect.stringContaining('1 response failed'),
    });
    expect(pass(590, 1000, 0).warning).toBeDefined();
    expect(pass(20, 1000, 0).warning).toBeUndefined();
  });

  test('says not ready while most responses of half a minute are faults', () => {
    const pass = start();
    pass(1, 100, 0);
    expect(pass(2, 100, 49).unready).toBeUndefined();
    expect(pass(2, 500, 400).unready).toBe(
      '449 of the last 700 responses failed because the data could not be read: run vitrine check.',
    );
    expect(pass(31, 0, 0).unready).toBeUndefined();
    expect(pass(31, 5, 5).unready).toBeUndefined();
    expect(pass(1, 100, 100).unready).toBeDefined();
  });
});
