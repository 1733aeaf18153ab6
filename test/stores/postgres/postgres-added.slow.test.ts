// Fields and variants that are added reach a PostgreSQL database as they reach a SQLite file.
import '../../support/more-fields.ts';
import '../../support/more-variants.ts';
import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useStore } from '../../support/database.ts';
import { fixture, PROGRAM } from '../../support/files.ts';
import { type Cluster, havePostgres, startCluster } from '../../support/postgres-rig.ts';
import { done } from '../../support/run.ts';

let cluster: Cluster;
if (havePostgres) {
  beforeAll(async () => {
    cluster = await startCluster();
  });
  afterAll(() => cluster.remove());
  useStore({ name: 'PostgreSQL', create: async () => cluster.url(await cluster.createDatabase()) });
  await import('../added.test.ts');
}

test.runIf(havePostgres)('roles that could read the view can read it with the field', async () => {
  const name = await cluster.createDatabase();
  const url = cluster.url(name);
  execFileSync(process.execPath, [
    PROGRAM,
    'import',
    '--quiet',
    '--database-url',
    url,
    fixture('microblog.ndjson'),
  ]);
  const grant = 'CREATE ROLE analyst LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO analyst';
  await cluster.primary.sql(grant, name);
  await done(['migrate', '--database-url', url]);
  const rows = await cluster.primary.sql('SET ROLE analyst; SELECT DISTINCT made_up FROM posts', name);
  expect(rows).toEqual([{ made_up: '' }]);
});
