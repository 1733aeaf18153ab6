// Runs the tests that depend on the store again on PostgreSQL: the files that name it by `storeName()`.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newDatabase, useStore } from '../support/database.ts';
import { ROOT } from '../support/files.ts';
import { type Cluster, havePostgres, startCluster } from '../support/postgres-rig.ts';

const FILES = globSync('test/**/*.test.ts', { cwd: ROOT, exclude: ['test/stores/on-postgres.slow.test.ts'] });

if (havePostgres) {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster();
  });
  afterAll(() => cluster.remove());
  useStore({ name: 'PostgreSQL', create: async () => cluster.url(await cluster.createDatabase()) });
  for (const file of FILES) {
    const text = readFileSync(join(ROOT, file), 'utf8');
    // Other schemas and variants would be those of all files.
    if (/\{storeName\(\)\}/.test(text) && !/support\/more-/.test(text)) await import(join(ROOT, file));
  }
}

test.runIf(havePostgres)('each test has a database of its own', async () =>
  expect(await newDatabase()).not.toBe(await newDatabase()),
);
