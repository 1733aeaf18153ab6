// PostgreSQL failover: a primary and two standbys are killed, restarted and promoted under load.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ask, json } from '../../support/http.ts';
import { type Cluster, havePostgres, type PostgresServer, startCluster } from '../../support/postgres-rig.ts';
import { done } from '../../support/run.ts';
import { type Server, startServer } from '../../support/server.ts';
import { linesOf, metricsOf, until } from '../../support/stress.ts';
import { addressOf, generationIn, load, names, readiness, unready } from './postgres-world.ts';

interface Failure {
  readonly at: number;
  readonly status: number;
  readonly retryAfter: string | undefined;
}

/** Longer than a lookup looks for a host that answers. */
const RECOVERED_MS = 2500;
/** So many lookups in a row succeed then. */
const RECOVERED_ANSWERS = 300;

type Hammer = ReturnType<typeof hammer>;

/** Requests one user after another from a node until stopped, and records the results. */
function hammer(server: Server, loops = 4) {
  const failures: Failure[] = [];
  const backwards: string[] = [];
  const logged = server.log.length;
  let newest = 0;
  let answers = 0;
  let inARow = 0;
  let going = true;
  const started = performance.now();

  async function loop(turn: number): Promise<void> {
    for (let i = turn; going; i += loops) {
      const known = newest;
      const { status, headers, body } = await ask(
        server,
        addressOf(names[i % names.length] as string, i % 3 === 0),
      );
      if (status === 200) {
        answers++;
        inARow++;
        const generation = generationIn(body);
        if (generation < known) backwards.push(`${generation} after ${known}`);
        newest = Math.max(newest, generation);
      } else {
        inARow = 0;
        failures.push({ at: performance.now(), status, retryAfter: headers['retry-after'] });
      }
    }
  }
  const loopsDone = Promise.all(Array.from({ length: loops }, (_, turn) => loop(turn)));
  return {
    failures,
    backwards,
    newest: () => newest,
    answers: () => answers,
    /** Without those of a busy machine: a host that takes long to answer a poll is not used, which the log says. */
    unexplained() {
      const isBusy = linesOf(server)
        .slice(logged)
        .some(({ msg }) => msg.endsWith('does not answer.'));
      return failures.filter(({ status, retryAfter }) => !isBusy || status !== 503 || retryAfter !== '1');
    },
    hasRecovered: () =>
      inARow > RECOVERED_ANSWERS &&
      performance.now() - Math.max(started, failures.at(-1)?.at ?? 0) > RECOVERED_MS,
    async stop() {
      going = false;
      await loopsDone;
    },
  };
}

describe.runIf(havePostgres)('a primary and two standbys', () => {
  let cluster: Cluster;
  let database: string;
  let url: string;
  let server: Server;

  afterAll(() => cluster.remove());
  beforeAll(async () => {
    cluster = await startCluster(2);
    database = await cluster.createDatabase();
    url = cluster.url(database);
    await load(url, 1);
    server = await startServer({ DATABASE_URL: url, ADMIN_PORT: '0' });
  });

  const reached = (host: PostgresServer, generation: number) =>
    until(`generation ${generation} on ${host.address}`, async () => {
      // A standby may cancel a query of ours for what it receives.
      const rows = await host
        .sql(`SELECT record FROM profiles WHERE user_key = 'user50'`, database)
        .catch(() => []);
      return generationIn(rows[0]?.record ?? '') === generation;
    });

  /** Waits for so many more lookups. */
  const answered = (load: Hammer, count: number) => {
    const before = load.answers();
    return until(`${count} answers`, () => load.answers() - before > count);
  };

  /** Waits until lookups have succeeded for so long that none of them can still be waiting. */
  const recovered = (load: Hammer) => until('recovery', load.hasRecovered);

  /** Breaks something under load: lookups fail with 503 for a moment at most. */
  async function underLoad(breaking: () => Promise<void> | void): Promise<void> {
    const lookups = hammer(server);
    await answered(lookups, 100);
    await breaking();
    await recovered(lookups);
    await lookups.stop();
    for (const { status, retryAfter } of lookups.failures)
      expect({ status, retryAfter }).toEqual({ status: 503, retryAfter: '1' });
    expect(lookups.backwards).toEqual([]);
    console.log(`  ${lookups.answers()} answers, ${lookups.failures.length} failures`);
  }

  test('a commit is visible on every node soon after it has reached its database', async () => {
    const other = await startServer({ DATABASE_URL: url });
    const loads = [hammer(server, 2), hammer(other, 2)];
    await load(url, 2);
    await Promise.all([cluster.primary, ...cluster.standbys].map((host) => reached(host, 2)));
    await until('generation 2', () => loads.every((load) => load.newest() === 2));
    await Promise.all(loads.map((load) => load.stop()));
    expect(loads.flatMap((load) => [...load.backwards, ...load.unexplained()])).toEqual([]);
    await other.stop();
  });

  /** The metrics of one host. */
  async function metricsOfHost({ address }: PostgresServer) {
    const metrics = await metricsOf(server);
    const of = (name: string) => metrics.get(`vitrine_postgres_${name}{host="${address}"}`);
    return { up: of('up'), lag: of('lag_seconds'), writable: of('writable') };
  }

  test('a standby is killed and restarted', async () => {
    const standby = cluster.standbys[0] as PostgresServer;
    await expect.poll(() => metricsOfHost(standby)).toMatchObject({ up: 1, lag: 0 });
    await underLoad(() => standby.kill());
    await expect.poll(() => metricsOfHost(standby)).toMatchObject({ up: 0 });
    await standby.start();
    await underLoad(() => {});
  });

  test('a standby stops responding', async () => {
    const standby = cluster.standbys[1] as PostgresServer;
    try {
      await underLoad(() => standby.freeze('SIGSTOP'));
    } finally {
      standby.freeze('SIGCONT');
    }
  });

  test('the primary is killed and restarted', async () => {
    await underLoad(() => cluster.primary.kill());
    await cluster.primary.start();
    await load(url, 3);
    await until(
      'generation 3',
      async () => generationIn((await ask(server, addressOf('user1', false))).body) === 3,
    );
  });

  test('a lagging standby is not read after newer data was seen', async () => {
    const [first, second] = cluster.standbys as [PostgresServer, PostgresServer];
    await first.sql('SELECT pg_wal_replay_pause()');
    try {
      const lookups = hammer(server);
      await load(url, 4);
      await reached(second, 4);
      await until('generation 4', () => lookups.newest() === 4);
      await expect.poll(() => metricsOfHost(first)).toMatchObject({ up: 1 });
      await until('its lag', async () => Number((await metricsOfHost(first)).lag) > 0);
      await answered(lookups, 500);
      await lookups.stop();
      expect([...lookups.backwards, ...lookups.unexplained()]).toEqual([]);
      // No server has data as new as the node has seen: it waits rather than serve older data.
      await Promise.all([cluster.primary.kill(), second.kill()]);
      await until('refusal', async () => (await ask(server, '/readyz')).status === 503);
      expect((await ask(server, addressOf('user1', false))).status).toBe(503);
      await until('the reason', async () => /behind/.test((await unready(server)) ?? ''));
    } finally {
      await first.sql('SELECT pg_wal_replay_resume()');
    }
    await until('it caught up', async () => (await ask(server, '/readyz')).status === 200);
    await Promise.all([cluster.primary.start(), second.start()]);
  });

  test('a takedown waits for all hosts, and names those that do not have it', async () => {
    const [first] = cluster.standbys as [PostgresServer, PostgresServer];
    const takeDown = async (user: string) =>
      JSON.parse(await done(['takedown', '--database-url', url, '--family', 'microblog', user, '--json']));
    expect((await takeDown('nobody')).result).toMatchObject({ states: ['unknown'], behind: [] });
    // After the restart of its primary it takes seconds until it receives again, which a pause would put off.
    await until('its connection', async () => {
      const receivers = await first.sql(`SELECT 1 FROM pg_stat_wal_receiver WHERE status = 'streaming'`);
      return receivers.length > 0;
    });
    await first.sql('SELECT pg_wal_replay_pause()');
    try {
      const { result, notes } = await takeDown('anybody');
      expect([result.behind, notes]).toEqual([[first.address], []]);
      const replayLag = `vitrine_postgres_replay_lag_seconds{host="${first.address}"}`;
      await until('its lag', async () => Number((await metricsOf(server)).get(replayLag)) > 0);
    } finally {
      await first.sql('SELECT pg_wal_replay_resume()');
    }
    await until('it caught up', async () => (await metricsOfHost(first)).lag === 0);
  });

  test('after a failover and an import, the returning old primary is not read', async () => {
    const [first, second] = cluster.standbys as [PostgresServer, PostgresServer];
    await Promise.all([reached(first, 4), reached(second, 4)]);
    await underLoad(() => cluster.primary.kill());
    const lookups = hammer(server);
    await first.promote();
    await load(url, 5);
    await until('generation 5', () => lookups.newest() === 5);
    await cluster.primary.start();
    expect(
      generationIn(
        (await cluster.primary.sql(`SELECT record FROM profiles WHERE user_key = 'user1'`, database))[0]
          ?.record ?? '',
      ),
    ).toBe(4);
    // Two hosts can be written: the operator is told.
    await until('the warning', async () =>
      /can all be written/.test((await readiness(server)).warning ?? ''),
    );
    expect(server.log.join()).toMatch(/can all be written/);
    const writable = await Promise.all(
      [cluster.primary, first, second].map(async (host) => (await metricsOfHost(host)).writable),
    );
    expect(writable).toEqual([1, 1, 0]);
    await load(url, 6);
    await until('generation 6', () => lookups.newest() === 6);
    await lookups.stop();
    expect([...lookups.backwards, ...lookups.unexplained()]).toEqual([]);
  });

  test('with all servers down, lookups are refused; the node recovers by itself', async () => {
    for (const host of [cluster.primary, ...cluster.standbys]) host.kill();
    // The servers do not all stop at the same moment.
    await until('not ready', async () =>
      /^(.*refuses connections\.){3}$/.test((await unready(server)) ?? ''),
    );
    // After a second of outage, requests fail without waiting.
    await until('refused at once', async () => {
      const started = performance.now();
      await ask(server, addressOf('user1', false));
      return performance.now() - started < 250;
    });
    const refused = await ask(server, addressOf('user1', false));
    expect([refused.status, refused.headers['retry-after'], refused.headers['cache-control']]).toEqual([
      503,
      '1',
      'no-store',
    ]);
    expect(json(refused).code).toBe('NOT_READY');
    expect((await ask(server, '/healthz')).status).toBe(200);
    await cluster.standbys[0]?.start();
    await until('ready again', async () => (await ask(server, '/readyz')).status === 200);
    expect((await ask(server, addressOf('user1', false))).status).toBe(200);
  });
});
