// Runs the store and HTTP tests again on PostgreSQL.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, havePostgres, startCluster } from '../postgres-rig.ts';
import { newDatabase, useStore } from '../rig.ts';

if (havePostgres) {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster();
  });
  afterAll(() => cluster.remove());
  useStore({ name: 'PostgreSQL', create: async () => cluster.url(await cluster.createDatabase()) });
  await import('../stores.test.ts');
  await import('../load.test.ts');
  await import('../check.test.ts');
  await import('../variants.test.ts');
  await import('../hostile.test.ts');
  await import('../conditional.test.ts');
  await import('../mirror-ownership.test.ts');
  await import('../takedown.test.ts');
  await import('../media-store.test.ts');
  await import('../media-fetch.test.ts');
}

test.runIf(havePostgres)('each test has a database of its own', async () =>
  expect(await newDatabase()).not.toBe(await newDatabase()),
);
