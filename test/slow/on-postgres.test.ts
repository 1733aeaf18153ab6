// Runs the tests that depend on the store again on PostgreSQL: the files that name it by `storeName()`.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, havePostgres, startCluster } from '../postgres-rig.ts';
import { newDatabase, useStore } from '../rig.ts';

const QUICK = join(import.meta.dirname, '..');

if (havePostgres) {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster();
  });
  afterAll(() => cluster.remove());
  useStore({ name: 'PostgreSQL', create: async () => cluster.url(await cluster.createDatabase()) });
  for (const file of readdirSync(QUICK))
    if (/\.test\.ts$/.test(file) && /\{storeName\(\)\}/.test(readFileSync(join(QUICK, file), 'utf8')))
      await import(join(QUICK, file));
}

test.runIf(havePostgres)('each test has a database of its own', async () =>
  expect(await newDatabase()).not.toBe(await newDatabase()),
);
