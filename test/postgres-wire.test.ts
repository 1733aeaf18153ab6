// The wire once more, with PostgreSQL behind it: the same tests, on databases of the other kind.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, havePostgres, startCluster } from './postgres-rig.ts';
import { importInto, useDatabases } from './rig.ts';

if (havePostgres) {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster();
  }, 60_000);
  afterAll(() => cluster.remove(), 30_000);
  useDatabases(async (...files) => {
    const url = cluster.url(await cluster.createDatabase());
    await importInto(url, files);
    return url;
  });
  await import('./variants.test.ts');
  await import('./hostile.test.ts');
  await import('./conditional.test.ts');
}

test.runIf(havePostgres)('there is a PostgreSQL to ask', () => expect(havePostgres).toBe(true));
