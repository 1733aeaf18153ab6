// On PostgreSQL, too, a variant that is added to the table serves the users of a database that was filled before.
import '../../support/more-variants.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openServed } from '../../../src/stores/open.ts';
import { importInto } from '../../support/database.ts';
import { fixture } from '../../support/files.ts';
import { type Cluster, havePostgres, startCluster } from '../../support/postgres-rig.ts';
import { done, run } from '../../support/run.ts';

const LACKS = /lacks fields or lists that this version serves: run `vitrine migrate`/;
/** What the program without the variants has not made. */
const FORGET = `
  DELETE FROM lists WHERE collection IN ('Pieces', 'notes');
  UPDATE vitrine SET shape = jsonb_set(shape::jsonb, '{lists}', '["posts","Shots","Posts"]')::text`;
const LISTS = 'SELECT family, user_key, collection, etag, body FROM lists ORDER BY 1, 2, 3';

describe.runIf(havePostgres)('PostgreSQL', () => {
  let cluster: Cluster;
  let name: string;
  let url: string;
  beforeAll(async () => {
    cluster = await startCluster();
  });
  afterAll(() => cluster?.remove());
  beforeEach(async () => {
    name = await cluster.createDatabase();
    url = cluster.url(name);
    await importInto(url, [fixture('microblog.ndjson'), fixture('portfolio.ndjson')]);
  });

  test('a server names the command that makes the lists, and serves them after it', async () => {
    const made = await cluster.primary.sql(LISTS, name);
    await cluster.primary.sql(FORGET, name);
    const reader = await openServed(url, () => {});
    await expect(async () => reader.items('portfolio', 'ada', 'Pieces')).rejects.toThrow(LACKS);
    await done(['migrate', '--database-url', url]);
    await expect.poll(async () => (await reader.items('portfolio', 'ada', 'Pieces'))?.etag).toBeDefined();
    const shots = await reader.items('portfolio', 'ada', 'Shots');
    const works = await reader.items('portfolio', 'ada', 'Pieces');
    await reader.close();
    expect(works?.etag).toBe(shots?.etag);
    expect(JSON.parse(String(works?.body)).Pieces).toEqual(JSON.parse(String(shots?.body)).Shots);
    expect(await cluster.primary.sql(LISTS, name)).toEqual(made);
    expect(await done(['check', '--database-url', url])).toContain('is sound');
  });

  test('an import makes the lists of all users', async () => {
    await cluster.primary.sql(FORGET, name);
    expect((await run(['check', '--database-url', url])).stderr).toMatch(LACKS);
    await done(['import', '--database-url', url, '-'], {
      input: '{"id":"4711","username":"new","Likes":"1"}',
    });
    expect(await done(['check', '--database-url', url])).toContain('is sound');
  });
});
