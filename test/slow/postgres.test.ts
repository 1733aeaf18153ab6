// PostgreSQL in earnest: a primary and two standbys that are killed, restarted and promoted while they are read from.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Cluster, havePostgres, type PostgresServer, startCluster } from '../postgres-rig.ts';
import { blog, post } from '../records.ts';
import {
  ask,
  databaseOf,
  done,
  fixture,
  json,
  ndjson,
  run,
  type Server,
  startServer,
  tempFile,
  ugly,
} from '../rig.ts';

const USERS = 50;
const names = Array.from({ length: USERS }, (_, id) => `user${id + 1}`);
/** Everybody's profile and post say which import they are of. */
const world = (generation: number) =>
  ndjson(
    ...names.map((name, index) => blog(index + 1, name, { bio: `generation ${generation}` })),
    ...names.map((_, index) => post(index + 1, index + 1, { post_details: `generation ${generation}` })),
  );
const addressOf = (name: string, items: boolean) => `/a/api/?user=${name}${items ? '&post=true' : ''}`;
const generationIn = (body: string) => Number(/"generation (\d+)"/.exec(body)?.[1]);
const load = (url: string, generation: number) =>
  done(['import', '-'], { env: { DATABASE_URL: url }, input: world(generation) });

async function until(
  what: string,
  condition: () => Promise<boolean> | boolean,
  patience = 15_000,
): Promise<number> {
  const started = performance.now();
  while (!(await condition())) {
    if (performance.now() - started > patience) throw new Error(`${what}: not within ${patience} ms`);
    await delay(20);
  }
  return performance.now() - started;
}

interface Failure {
  readonly at: number;
  readonly status: number;
  readonly retryAfter: string | undefined;
}

/** Asks a node for one user after another until it is told to stop, and keeps book. */
function hammer(server: Server, loops = 4) {
  const failures: Failure[] = [];
  const backwards: string[] = [];
  let newest = 0;
  let answers = 0;
  let going = true;

  async function loop(turn: number): Promise<void> {
    for (let i = turn; going; i += loops) {
      const known = newest;
      const { status, headers, body } = await ask(server, addressOf(names[i % USERS] as string, i % 3 === 0));
      if (status === 200) {
        answers++;
        const generation = generationIn(body);
        if (generation < known) backwards.push(`${generation} after ${known}`);
        newest = Math.max(newest, generation);
      } else failures.push({ at: performance.now(), status, retryAfter: headers['retry-after'] });
    }
  }
  const loopsDone = Promise.all(Array.from({ length: loops }, (_, turn) => loop(turn)));
  return {
    failures,
    backwards,
    newest: () => newest,
    answers: () => answers,
    failuresSince: (moment: number) => failures.filter(({ at }) => at > moment),
    async stop() {
      going = false;
      await loopsDone;
    },
  };
}

const warm = (server: Server) =>
  Promise.all(names.flatMap((name) => [false, true].map((items) => ask(server, addressOf(name, items)))));

describe.runIf(havePostgres)('a primary and two standbys', () => {
  let cluster: Cluster;
  let database: string;
  let url: string;
  /** One keeps its answers, the other reads for every request. */
  let keeping: Server;
  let reading: Server;

  afterAll(() => cluster.remove(), 30_000);
  beforeAll(async () => {
    cluster = await startCluster(2);
    database = await cluster.createDatabase();
    url = cluster.url(database);
    await load(url, 1);
    [keeping, reading] = await Promise.all([
      startServer({ DATABASE_URL: url }),
      startServer({ DATABASE_URL: url, ANSWERS_BYTES: '0' }),
    ]);
  }, 120_000);

  const reached = (server: PostgresServer, generation: number) =>
    until(`generation ${generation} on ${server.address}`, async () => {
      const rows = await server.sql(`SELECT record FROM profiles WHERE user_key = 'user50'`, database);
      return generationIn(rows[0]?.record ?? '') === generation;
    });

  /** Breaks something under load: ready answers never fail, others not after a second. */
  async function underLoad(breaking: () => Promise<void> | void, patience = 2500): Promise<void> {
    await warm(keeping);
    const [ready, others] = [hammer(keeping), hammer(reading)];
    await delay(300);
    await breaking();
    const broken = performance.now();
    await delay(patience);
    await Promise.all([ready.stop(), others.stop()]);
    expect(ready.failures).toEqual([]);
    expect(others.failuresSince(broken + 1000)).toEqual([]);
    for (const { status, retryAfter } of others.failures) expect([status, retryAfter]).toEqual([503, '1']);
    expect([...ready.backwards, ...others.backwards]).toEqual([]);
    expect(ready.answers()).toBeGreaterThan(100);
    expect(others.answers()).toBeGreaterThan(100);
    console.log(
      `  ready: ${ready.answers()} answers; read: ${others.answers()} answers, ${others.failures.length} failures`,
    );
  }

  test('what is committed shows on every node within a second of reaching its database', async () => {
    const [ready, others] = [hammer(keeping, 2), hammer(reading, 2)];
    await load(url, 2);
    await Promise.all([cluster.primary, ...cluster.standbys].map((server) => reached(server, 2)));
    const took = await until('generation 2', () => ready.newest() === 2 && others.newest() === 2);
    await Promise.all([ready.stop(), others.stop()]);
    expect(took).toBeLessThan(1000);
    expect([...ready.backwards, ...others.backwards, ...ready.failures, ...others.failures]).toEqual([]);
  });

  test('a standby is killed, and comes back', async () => {
    const standby = cluster.standbys[0] as PostgresServer;
    await underLoad(() => standby.kill());
    await standby.start();
    await underLoad(() => {}, 500);
  });

  test('a standby turns deaf', async () => {
    const standby = cluster.standbys[1] as PostgresServer;
    try {
      await underLoad(() => standby.freeze('SIGSTOP'));
    } finally {
      standby.freeze('SIGCONT');
    }
  });

  test('the primary is killed, and restarted', async () => {
    await underLoad(() => cluster.primary.kill());
    await cluster.primary.start();
    await load(url, 3);
    await until(
      'generation 3',
      async () => generationIn((await ask(reading, addressOf('user1', false))).body) === 3,
    );
  });

  test('a standby that lags is not read from once newer data was', async () => {
    const [first, second] = cluster.standbys as [PostgresServer, PostgresServer];
    await first.sql('SELECT pg_wal_replay_pause()');
    try {
      const others = hammer(reading);
      await load(url, 4);
      await reached(second, 4);
      await delay(1500);
      await others.stop();
      expect(others.newest()).toBe(4);
      expect([...others.backwards, ...others.failures]).toEqual([]);
      // Nothing newer is to be had than what the node has seen: rather than go back, it waits.
      await Promise.all([cluster.primary.kill(), second.kill()]);
      await until('refusal', async () => (await ask(reading, '/readyz')).status === 503);
      expect((await ask(reading, addressOf('user1', false))).status).toBe(503);
      expect(json(await ask(reading, '/readyz')).reason).toMatch(/behind/);
    } finally {
      await first.sql('SELECT pg_wal_replay_resume()');
    }
    await until('it caught up', async () => (await ask(reading, '/readyz')).status === 200);
    await Promise.all([cluster.primary.start(), second.start()]);
  }, 60_000);

  test('the primary is lost, a standby promoted and imported into; the old primary comes back, and is not read', async () => {
    const [first, second] = cluster.standbys as [PostgresServer, PostgresServer];
    await Promise.all([reached(first, 4), reached(second, 4)]);
    const [ready, others] = [hammer(keeping), hammer(reading)];
    await delay(300);
    cluster.primary.kill();
    const killed = performance.now();
    await first.promote();
    await load(url, 5);
    await until('generation 5', () => ready.newest() === 5 && others.newest() === 5);
    await cluster.primary.start();
    expect(
      generationIn(
        (await cluster.primary.sql(`SELECT record FROM profiles WHERE user_key = 'user1'`, database))[0]
          ?.record ?? '',
      ),
    ).toBe(4);
    await delay(1500);
    await load(url, 6);
    await until('generation 6', () => ready.newest() === 6 && others.newest() === 6);
    await Promise.all([ready.stop(), others.stop()]);
    expect([...ready.backwards, ...others.backwards]).toEqual([]);
    expect([...ready.failuresSince(killed + 1000), ...others.failuresSince(killed + 1000)]).toEqual([]);
  }, 60_000);

  test('all of them go away: ready answers are served, others are refused, and it recovers by itself', async () => {
    await warm(keeping);
    for (const server of [cluster.primary, ...cluster.standbys]) server.kill();
    // They do not all fall silent at the same moment.
    await until('not ready', async () => {
      const reply = await ask(keeping, '/readyz');
      return reply.status === 503 && /^(.*refuses connections\.){3}$/.test(json(reply).reason);
    });
    for (const reply of await warm(keeping)) expect(reply.status).toBe(200);
    // Once they have been away for a second, nobody is kept waiting.
    await until('refused at once', async () => {
      const started = performance.now();
      await ask(reading, addressOf('user1', false));
      return performance.now() - started < 250;
    });
    const refused = await ask(reading, addressOf('user1', false));
    expect([refused.status, refused.headers['retry-after'], refused.headers['cache-control']]).toEqual([
      503,
      '1',
      'no-store',
    ]);
    expect(json(refused).code).toBe('NOT_READY');
    expect((await ask(keeping, '/healthz')).status).toBe(200);
    await cluster.standbys[0]?.start();
    const took = await until('ready again', async () => (await ask(reading, '/readyz')).status === 200);
    expect(took).toBeLessThan(2000);
    expect((await ask(reading, addressOf('user1', false))).status).toBe(200);
  }, 60_000);
});

describe.runIf(havePostgres)('one server', () => {
  let cluster: Cluster;
  afterAll(() => cluster.remove(), 30_000);
  beforeAll(async () => {
    cluster = await startCluster();
  }, 60_000);

  test('many nodes that start at once make the tables once', async () => {
    const url = cluster.url(await cluster.createDatabase());
    const nodes = await Promise.all(Array.from({ length: 5 }, () => startServer({ DATABASE_URL: url })));
    for (const node of nodes) expect((await ask(node, '/readyz')).status).toBe(200);
    await load(url, 1);
    for (const node of nodes)
      await until(
        'generation 1',
        async () => generationIn((await ask(node, addressOf('user1', false))).body) === 1,
      );
    await Promise.all(nodes.map((node) => node.stop()));
  }, 60_000);

  test('a role that may only read serves, and cannot write; one that may write is warned of', async () => {
    const database = await cluster.createDatabase();
    await load(cluster.url(database), 1);
    await cluster.primary.sql(
      `CREATE ROLE reader LOGIN PASSWORD 'hush'; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader`,
      database,
    );
    const asReader = cluster.url(database, [cluster.primary], 'reader:hush');
    const node = await startServer({ DATABASE_URL: asReader, ADMIN_PORT: '0' });
    expect((await ask(node, addressOf('user1', true))).status).toBe(200);
    expect(node.log.join()).not.toMatch(/may only read/);
    const refused = await run(['import', fixture('microblog.ndjson')], { env: { DATABASE_URL: asReader } });
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(/^vitrine: The database at \S+ does not allow this role to do that\.\n$/),
    ]);
    const owner = await startServer({ DATABASE_URL: cluster.url(database) });
    expect(owner.log.join()).toMatch(/may only read/);
    await Promise.all([node.stop(), owner.stop()]);
    for (const text of [...node.log, refused.stderr, refused.stdout]) expect(text).not.toContain('hush');
  }, 60_000);

  test('tables that are not there yet are waited for', async () => {
    const database = await cluster.createDatabase();
    await cluster.primary.sql(
      'CREATE ROLE waiter LOGIN; ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO waiter',
      database,
    );
    const node = await startServer({ DATABASE_URL: cluster.url(database, [cluster.primary], 'waiter') });
    expect(json(await ask(node, '/readyz')).reason).toMatch(/has no tables of Vitrine yet/);
    await load(cluster.url(database), 1);
    await until('ready', async () => (await ask(node, '/readyz')).status === 200);
    expect(generationIn((await ask(node, addressOf('user1', false))).body)).toBe(1);
    await node.stop();
  }, 60_000);

  test('what is exported from one store and imported into the other is the same there, byte for byte', async () => {
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

    const [one, other] = await Promise.all([
      startServer({ DATABASE_URL: file }),
      startServer({ DATABASE_URL: url }),
    ]);
    const people = fromFile
      .split('\n')
      .filter((line) => line.includes('"username"'))
      .map((line) => encodeURIComponent(JSON.parse(line).username));
    const paths = people.flatMap((user) => [
      `/a/api/?user=${user}`,
      `/a/api/?user=${user}&post=true`,
      `/b/api/username/${user}`,
      `/b/api/username/${user}/shots`,
      `/c/api/username/${user}/shots`,
    ]);
    for (const path of paths) {
      const [a, b] = await Promise.all([ask(one, path), ask(other, path)]);
      expect([b.status, b.headers.etag, b.body]).toEqual([a.status, a.headers.etag, a.body]);
    }
    expect(paths.length).toBeGreaterThan(500);
    await Promise.all([one.stop(), other.stop()]);
  }, 60_000);

  test('the members are columns to whoever comes with an SQL tool, and check reads it all', async () => {
    const database = await cluster.createDatabase();
    const env = { DATABASE_URL: cluster.url(database) };
    await done(
      ['import', fixture('microblog.ndjson'), fixture('portfolio.ndjson'), ugly('hostile-names.ndjson')],
      { env },
    );
    const [row] = await cluster.primary.sql(
      `SELECT name, bio FROM portfolio_profiles WHERE username = 'ada'`,
      database,
    );
    expect(row?.name).toBe('Ada Lindqvist');
    for (const view of ['microblog_profiles', 'posts', 'portfolio_profiles', 'shots'])
      expect((await cluster.primary.sql(`SELECT * FROM ${view}`, database)).length).toBeGreaterThan(20);
    expect(await done(['check'], { env })).toMatch(/is sound/);
    await cluster.primary.sql(
      `DELETE FROM profiles WHERE user_key = 'ada'; UPDATE items SET record = '{' WHERE id = (SELECT min(id) FROM items)`,
      database,
    );
    const { code, stderr } = await run(['check'], { env });
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/\d+ items have no owner; \d+ items are not valid JSON/),
    ]);
  }, 60_000);

  test.each([
    ['a wrong scheme keeps its password', 'postgers://me:hush@h/db', 2, /DATABASE_URL must be/],
    ['a host that is not there', 'postgres://me:hush@127.0.0.1:1/db', 1, /refuses connections/],
    ['a parameter that is not known', 'postgres://me:hush@h/db?password=hush', 2, /sslmode and sslrootcert/],
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
