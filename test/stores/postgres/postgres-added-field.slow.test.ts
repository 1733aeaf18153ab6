// A field that is added to the schemas gets its default in the records and lists that PostgreSQL has.
import '../../support/more-fields.ts';
import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkDatabase, openServed } from '../../../src/stores/open.ts';
import { importInto } from '../../support/database.ts';
import { fixture, PROGRAM, ugly } from '../../support/files.ts';
import { exported } from '../../support/importing.ts';
import { type Cluster, havePostgres, startCluster } from '../../support/postgres-rig.ts';
import { done, run } from '../../support/run.ts';

const FILES = [
  fixture('microblog.ndjson'),
  fixture('portfolio.ndjson'),
  ugly('hostile-names.ndjson'),
  ugly('hostile-texts.ndjson'),
];

describe.runIf(havePostgres)('PostgreSQL', () => {
  let cluster: Cluster;
  let earlier: string;
  let fresh: string;

  beforeAll(async () => {
    cluster = await startCluster();
    earlier = await cluster.createDatabase();
    // Another process has the schemas without the fields.
    execFileSync(process.execPath, [
      PROGRAM,
      'import',
      '--quiet',
      '--database-url',
      cluster.url(earlier),
      ...FILES,
    ]);
    await cluster.primary.sql(
      'CREATE ROLE analyst LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO analyst',
      earlier,
    );
    fresh = await cluster.createDatabase();
    await importInto(cluster.url(fresh), FILES);
  });
  afterAll(() => cluster.remove());

  test('a server and a check name the command that adds it', async () => {
    const lacks = /lacks fields or lists that this version serves: run `vitrine migrate`/;
    const url = cluster.url(earlier);
    expect((await run(['check', '--database-url', url])).stderr).toMatch(lacks);
    const reader = await openServed(url, () => {});
    expect(await reader.fault()).toMatch(lacks);
    await reader.close();
  });

  test('what is stored after it is what an import of the same records would store', async () => {
    await done(['migrate', '--database-url', cluster.url(earlier)]);
    expect(await exported(cluster.url(earlier))).toEqual(await exported(cluster.url(fresh)));
    for (const query of [
      'SELECT family, id, etag, served FROM profiles ORDER BY family, id',
      'SELECT family, owner, collection, etag, body FROM lists ORDER BY family, owner, collection',
    ])
      expect(await cluster.primary.sql(query, earlier)).toEqual(await cluster.primary.sql(query, fresh));
    expect((await checkDatabase(cluster.url(earlier))).faults).toEqual([]);
  });

  test('roles that could read the view can read it with the field', async () => {
    const rows = await cluster.primary.sql('SET ROLE analyst; SELECT DISTINCT made_up FROM posts', earlier);
    expect(rows).toEqual([{ made_up: '' }]);
  });
});
