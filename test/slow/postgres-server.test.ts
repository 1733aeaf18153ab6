// A single PostgreSQL server: roles, tables, operation and network.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fixture, ndjson, tempFile, ugly } from '../files.ts';
import { type Cluster, havePostgres, startCluster } from '../postgres-rig.ts';
import { addressOf, generationIn, load, unready } from '../postgres-world.ts';
import { folio } from '../records.ts';
import { ask, databaseOf, done, importInto, run, startServer } from '../rig.ts';
import { until } from '../stress.ts';

describe.runIf(havePostgres)('one server', () => {
  let cluster: Cluster;
  afterAll(() => cluster.remove());
  beforeAll(async () => {
    cluster = await startCluster();
  });

  test('nodes create no tables, and are ready after the first import', async () => {
    const url = cluster.url(await cluster.createDatabase());
    const start = () => startServer({ DATABASE_URL: url, ADMIN_PORT: '0' });
    const nodes = await Promise.all(Array.from({ length: 5 }, start));
    for (const node of nodes) {
      expect(await unready(node)).toMatch(/has no tables of Vitrine yet: run `vitrine import`/);
      await until('the log says so', async () => node.log.join().includes('run `vitrine import`'));
      const reply = await ask(node, addressOf('user1', false));
      expect([reply.status, reply.headers['retry-after']]).toEqual([503, '1']);
    }
    expect(await done(['migrate', '--database-url', url])).toMatch(/migrated from schema 0 to schema \d+\n$/);
    for (const node of nodes)
      await until('tables', async () => /^Nothing was imported/.test((await unready(node)) ?? ''));
    await load(url, 1);
    for (const node of nodes) {
      await until('ready', async () => (await ask(node, '/readyz')).status === 200);
      expect(generationIn((await ask(node, addressOf('user1', false))).body)).toBe(1);
    }
    await Promise.all(nodes.map((node) => node.stop()));
  });

  test('a role that may only read serves and lists takedowns, and cannot write', async () => {
    const database = await cluster.createDatabase();
    await importInto(cluster.url(database), ['-'], ndjson(folio(1, 'ada'), folio(2, 'bob')));
    await cluster.primary.sql(
      `CREATE ROLE reader LOGIN PASSWORD 'hush'; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader`,
      database,
    );
    await done(['takedown', '--database-url', cluster.url(database), '--family', 'portfolio', 'ada']);
    const asReader = cluster.url(database, [cluster.primary], 'reader:hush');
    const node = await startServer({ DATABASE_URL: asReader, TAKEDOWN_STATUS: '410' });
    expect((await ask(node, '/b/api/username/bob')).status).toBe(200);
    expect((await ask(node, '/b/api/username/ada')).status).toBe(410);
    await node.stop();
    expect(await done(['takedown', '--database-url', asReader, '--list'])).toMatch(/ portfolio {2}user {2}/);
    const refused = await run(['import', fixture('microblog.ndjson')], { env: { DATABASE_URL: asReader } });
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(/^vitrine: The database at \S+ does not allow this role to do that\.\n$/),
    ]);
    expect([...node.log, refused.stderr, refused.stdout].join()).not.toContain('hush');
  });

  test('exports of one store imported into the other are identical', async () => {
    const files = [
      fixture('microblog.ndjson'),
      fixture('portfolio.ndjson'),
      ugly('date-ties.ndjson'),
      ugly('hostile-names.ndjson'),
    ];
    const file = await databaseOf(...files);
    const url = cluster.url(await cluster.createDatabase());
    const fromFile = await done(['export'], { env: { DATABASE_URL: file } });
    await done(['import', '-'], { env: { DATABASE_URL: url }, input: fromFile });
    const fromPostgres = await done(['export'], { env: { DATABASE_URL: url } });
    expect(fromPostgres).toBe(fromFile);
    const back = await databaseOf(tempFile('back.ndjson', fromPostgres));
    expect(await done(['export'], { env: { DATABASE_URL: back } })).toBe(fromFile);
  });

  test('views show the members as columns', async () => {
    const database = await cluster.createDatabase();
    const env = { DATABASE_URL: cluster.url(database) };
    await done(
      ['import', fixture('microblog.ndjson'), fixture('portfolio.ndjson'), ugly('hostile-names.ndjson')],
      { env },
    );
    const ada = await cluster.primary.sql(
      `SELECT name FROM portfolio_profiles WHERE username = 'ada'`,
      database,
    );
    expect(ada).toEqual([{ name: 'Ada Lindqvist' }]);
    for (const view of ['microblog_profiles', 'posts', 'portfolio_profiles', 'shots'])
      expect((await cluster.primary.sql(`SELECT * FROM ${view}`, database)).length).toBeGreaterThan(20);
  });

  test.each([
    ['a wrong scheme keeps its password', 'postgers://me:hush@h/db', 2, /DATABASE_URL must be/],
    ['a host that is not there', 'postgres://me:hush@127.0.0.1:1/db', 1, /refuses connections/],
    ['a time that is none', 'postgres://me:hush@h/db?connect_timeout=soon', 2, /connect_timeout of 1 to 999/],
    [
      'a parameter that is not known',
      'postgres://me:hush@h/db?password=hush',
      2,
      /sslmode, sslrootcert, connect_timeout/,
    ],
    ['a restore', 'postgres://me:hush@127.0.0.1:1/db', 1, /pg_restore/, ['restore', '/tmp/x']],
    ['a snapshot', 'postgres://me:hush@127.0.0.1:1/db', 1, /export/, ['snapshot', '/tmp/x']],
  ])(
    'refused in a sentence: %s',
    async (_, url, code, words, args = ['import', fixture('microblog.ndjson')]) => {
      const ran = await run(args, { env: { DATABASE_URL: url } });
      expect([ran.code, ran.stderr]).toEqual([code, expect.stringMatching(words)]);
      expect(ran.stderr).toMatch(/^vitrine: [^\n]+\n$/);
      expect(ran.stderr).not.toContain('hush');
    },
  );
});
