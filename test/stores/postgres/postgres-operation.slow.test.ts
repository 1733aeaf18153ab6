// Operating on PostgreSQL: the start, roles, outages, restored backups, lost tables, slow networks, poolers, certificates.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isUnreadable } from '../../../src/stores/errors.ts';
import { openServed, openWriter } from '../../../src/stores/open.ts';
import { toStoreError } from '../../../src/stores/postgres/errors.ts';
import type { Reader, StoreEvent } from '../../../src/stores/reader.ts';
import { importInto } from '../../support/database.ts';
import { fixture, ndjson, tempFolder } from '../../support/files.ts';
import { ask } from '../../support/http.ts';
import { bodyOf } from '../../support/importing.ts';
import { type Cluster, havePostgres, startCluster } from '../../support/postgres-rig.ts';
import { folio } from '../../support/records.ts';
import { done, run, vitrine } from '../../support/run.ts';
import { startServer } from '../../support/server.ts';
import { metricsOf, until } from '../../support/stress.ts';
import { type ProxyOptions, startProxy } from './postgres-proxy.ts';
import { addressOf, generationIn, load, unready } from './postgres-world.ts';

describe.runIf(havePostgres)('PostgreSQL in operation', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster();
  });
  afterAll(() => cluster.remove());

  const open: Reader[] = [];
  afterAll(() => Promise.all(open.map((reader) => reader.close())));

  async function serve(url: string): Promise<Reader> {
    const reader = await openServed(url, () => {});
    open.push(reader);
    return reader;
  }
  const generationOf = async (reader: Reader) =>
    generationIn(bodyOf(await reader.profile('microblog', 'user1')));
  /** A lookup that has waited for long is refused, which a busy machine may come to: then the client asks again. */
  async function lookUp(reader: Reader): Promise<string | undefined> {
    try {
      return bodyOf(await reader.profile('microblog', 'user1'));
    } catch (error) {
      expect((error as Error).message).toMatch(/no connection to spare|took too long|does not answer/);
      return undefined;
    }
  }
  const reasonOf = async (reader: Reader) => (await reader.fault()) ?? '';

  async function loaded(): Promise<{ database: string; url: string }> {
    const database = await cluster.createDatabase();
    const url = cluster.url(database);
    await load(url, 1);
    return { database, url };
  }

  async function behindProxy(options: ProxyOptions = {}) {
    const { database } = await loaded();
    const proxy = await startProxy(cluster.primary.port, options);
    const url = `postgres://owner@${proxy.address}/${database}`;
    return { database, proxy, url };
  }

  test('nodes create no tables, and are ready after the first import', async () => {
    const url = cluster.url(await cluster.createDatabase());
    const start = () => startServer({ DATABASE_URL: url, ADMIN_PORT: '0' });
    const nodes = await Promise.all(Array.from({ length: 5 }, start));
    for (const node of nodes) {
      expect(await unready(node)).toMatch(/has no tables of Vitrine: .* run `vitrine import`/);
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
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^vitrine: The database at \S+ does not allow this role to do that\.\n$/),
    });
    expect([...node.log, refused.stderr, refused.stdout].join()).not.toContain('hush');
  });

  test('a role that may write, and owns no table, imports', async () => {
    const database = await cluster.createDatabase();
    await done(['migrate', '--database-url', cluster.url(database)]);
    await cluster.primary.sql(
      'CREATE ROLE writer LOGIN; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO writer',
      database,
    );
    const asWriter = cluster.url(database, [cluster.primary], 'writer');
    await load(asWriter, 1);
    expect(await done(['check', '--database-url', asWriter])).toContain('is sound');
  });

  // Commands have no limit, and lookups have one of their own.
  test.each([
    [
      'import',
      'SELECT FROM vitrine FOR UPDATE',
      (url: string) => done(['import', '--database-url', url, fixture('microblog.ndjson')]),
    ],
    ['check', 'LOCK TABLE items', (url: string) => done(['check', '--database-url', url])],
    [
      'takedown',
      'SELECT FROM vitrine FOR UPDATE',
      (url: string) => done(['takedown', '--database-url', url, '--family', 'microblog', 'user1']),
    ],
    ['count', 'LOCK TABLE counts', (url: string) => done(['count', '--database-url', url])],
    [
      'a lookup',
      'LOCK TABLE profiles',
      async (url: string) => {
        const reader = await serve(url);
        await until('an answer', () => lookUp(reader));
      },
    ],
  ] as const)(
    'a statement timeout of the role or the database does not end what waits longer: %s',
    async (_, lock, act) => {
      const { database } = await loaded();
      await cluster.primary.sql(`ALTER DATABASE ${database} SET statement_timeout = '100ms';
      DROP ROLE IF EXISTS hasty; CREATE ROLE hasty LOGIN SUPERUSER; ALTER ROLE hasty SET statement_timeout = '100ms'`);
      const release = await cluster.primary.hold(lock, database);
      const acting = act(cluster.url(database, [cluster.primary], 'hasty'));
      try {
        const waiting = `SELECT count(*) AS count FROM pg_stat_activity WHERE datname = '${database}'
        AND wait_event_type = 'Lock' AND clock_timestamp() - query_start > interval '0.2 s'`;
        await Promise.race([
          acting.then(() => Promise.reject(new Error('it did not wait'))),
          until('the wait', async () => Number((await cluster.primary.sql(waiting))[0]?.count) > 0),
        ]);
      } finally {
        await release();
      }
      await acting;
    },
  );

  test('a server with few free connections is read over those available', async () => {
    const { database } = await loaded();
    await cluster.primary.sql(
      'CREATE ROLE few LOGIN CONNECTION LIMIT 3; GRANT SELECT ON ALL TABLES IN SCHEMA public TO few',
      database,
    );
    const faults: string[] = [];
    const url = cluster.url(database, [cluster.primary], 'few');
    const reader = await openServed(url, ({ type, message }) => {
      if (type === 'data-fault') faults.push(message);
    });
    open.push(reader);
    const bodies = await Promise.all(
      Array.from({ length: 200 }, () => until('an answer', () => lookUp(reader))),
    );
    expect(new Set(bodies).size).toBe(1);
    expect(faults).toEqual([]);
  });

  test('lookups wait for the first import, even if it holds nothing', async () => {
    const url = cluster.url(await cluster.createDatabase());
    const warnings: string[] = [];
    await run(['migrate', '--database-url', url]);
    const reader = await openServed(url, ({ type, message }) => {
      if (type === 'data-warning') warnings.push(message);
    });
    open.push(reader);
    expect(await reader.fault()).toMatch(/^Nothing was imported/);
    expect(warnings).toContainEqual(expect.stringMatching(/^Nothing was imported .*run `vitrine import`/));
    await expect(reader.profile('microblog', 'user1')).rejects.toThrow(/^Nothing was imported/);
    const writer = await openWriter(url);
    const load = await writer.load({ replace: false, skipInvalid: false, onMisfit() {} });
    await load.finish();
    await writer.close();
    await until('ready', async () => (await reader.fault()) === undefined);
    expect(await reader.profile('microblog', 'user1')).toBeUndefined();
  });

  test('a poll whose connection was closed in between connects again, and no host is reported', async () => {
    const { database, url } = await loaded();
    const events: StoreEvent[] = [];
    const reader = await openServed(url, (event) => events.push(event));
    open.push(reader);
    const poller = `FROM pg_stat_activity WHERE datname = '${database}' AND state = 'idle' AND query LIKE '%has_table_privilege%pg_is_in_recovery%'`;
    const find = async () => (await cluster.primary.sql(`SELECT pid ${poller}`))[0]?.pid;
    // The connection is closed just after a poll. On a busy machine, the next one may be sent before its end is noticed.
    const terminate = `SELECT pid, pg_terminate_backend(pid) ${poller} AND clock_timestamp() - state_change < interval '50 ms'`;
    await until('a poll that connects again, and reports nothing', async () => {
      events.length = 0;
      const [ended] = await cluster.primary.sql(terminate);
      if (ended === undefined) return false;
      await until('another connection', async () => ![ended.pid, undefined].includes(await find()));
      return events.length === 0;
    });
  });

  test('a table that a dump has still to fill gives 503 until it is filled', async () => {
    const { database, url } = await loaded();
    const reader = await serve(url);
    expect(await generationOf(reader)).toBe(1);
    await cluster.primary.sql('CREATE TABLE kept AS TABLE vitrine; DELETE FROM vitrine', database);
    const lookup = async () => await reader.profile('microblog', 'user1');
    await expect(lookup()).rejects.toThrow(/has no row in its table vitrine/);
    await until('the poll', async () => /no row in its table vitrine/.test(await reasonOf(reader)));
    await expect(lookup()).rejects.toThrow(/has no row in its table vitrine/);
    for (const command of [['migrate'], ['check'], ['import', fixture('microblog.ndjson')]])
      expect((await run([...command, '--database-url', url])).stderr).toMatch(/no row in its table vitrine/);
    await cluster.primary.sql('INSERT INTO vitrine SELECT * FROM kept', database);
    await until('ready', async () => (await reader.fault()) === undefined);
    expect(await generationOf(reader)).toBe(1);
    await load(url, 2);
    await until('the import', async () => (await generationOf(reader)) === 2);
  });

  test('during an outage all lookups get the same error', async () => {
    const { proxy, url } = await behindProxy();
    const reader = await serve(url);
    proxy.close();
    await until('away', async () => (await reasonOf(reader)).includes('refuses connections'));
    const lookups = Array.from({ length: 50 }, async () => await reader.profile('microblog', 'user1'));
    const errors = (await Promise.allSettled(lookups)).map((result) => 'reason' in result && result.reason);
    expect([...new Set(errors.map(String))]).toEqual([
      `StoreError: The database at ${proxy.address} refuses connections.`,
    ]);
  });

  test('a restored backup is refused without asking the database, until its generation is new', async () => {
    const { database, proxy, url } = await behindProxy();
    const reader = await serve(url);
    await until('ready', async () => (await reader.fault()) === undefined);
    await cluster.primary.sql('UPDATE vitrine SET generation = 1', database);
    await until('behind', async () => (await reasonOf(reader)).includes('behind'));
    await expect(reader.profile('microblog', 'user1')).rejects.toThrow('behind');
    const asked = proxy.sent().split('user1').length;
    const refused = Array.from({ length: 200 }, async () => await reader.profile('microblog', 'user1'));
    expect((await Promise.allSettled(refused)).every(({ status }) => status === 'rejected')).toBe(true);
    expect(proxy.sent().split('user1').length).toBe(asked);
    await cluster.primary.sql(
      'UPDATE vitrine SET generation = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint',
      database,
    );
    await until('ready', async () => (await reader.fault()) === undefined);
    expect(await generationOf(reader)).toBe(1);
    proxy.close();
  });

  test('locked tables: lookups are refused, and the host is down until they are free', async () => {
    const { database, url } = await loaded();
    const events: StoreEvent[] = [];
    const reader = await openServed(url, (event) => events.push(event));
    open.push(reader);
    expect(await generationOf(reader)).toBe(1);
    const release = await cluster.primary.hold('LOCK TABLE profiles, lists', database);
    const fault = `The database at ${cluster.primary.address} took too long to answer.`;
    try {
      // More than there are connections.
      const lookups = Array.from(
        { length: 50 },
        async () => await reader.items('microblog', 'user1', 'posts'),
      );
      for (const result of await Promise.allSettled(lookups))
        expect(String('reason' in result && result.reason)).toContain(fault);
      await until('the host is down', async () => (await reader.fault()) === fault);
    } finally {
      await release();
    }
    await until('ready', async () => (await reader.fault()) === undefined);
    expect(await generationOf(reader)).toBe(1);
    expect(events.map(({ message }) => message)).toEqual([
      fault,
      `the database at ${cluster.primary.address} answers again`,
    ]);
  });

  test('a database with tables of another program is refused, and nothing is made there', async () => {
    const database = await cluster.createDatabase();
    await cluster.primary.sql('CREATE TABLE members (id int); CREATE VIEW works AS SELECT 1 AS id', database);
    const url = cluster.url(database);
    const tables = () =>
      cluster.primary.sql(
        "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace",
        database,
      );
    const before = await tables();
    for (const args of [['import', fixture('microblog.ndjson')], ['migrate']]) {
      const { code, stderr } = await run(args, { env: { DATABASE_URL: url } });
      const said = /has tables of another program \(members, works\): give Vitrine a database of its own/;
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(said) });
    }
    expect(await tables()).toEqual(before);
    // A role with a schema of its own does not mix with them.
    await cluster.primary.sql(
      'DROP ROLE IF EXISTS apart; CREATE ROLE apart LOGIN; CREATE SCHEMA apart AUTHORIZATION apart; ALTER ROLE apart SET search_path = apart',
      database,
    );
    await load(cluster.url(database, [cluster.primary], 'apart'), 1);
  });

  test('a role that may not use the schema is told so', async () => {
    const database = await cluster.createDatabase();
    await cluster.primary.sql(
      'CREATE SCHEMA app; CREATE ROLE locked_out LOGIN; ALTER ROLE locked_out SET search_path = app',
      database,
    );
    await load(`${cluster.url(database)}`, 1);
    await cluster.primary.sql(
      "DO $$ DECLARE t text; BEGIN FOR t IN SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' LOOP EXECUTE 'ALTER TABLE ' || quote_ident(t) || ' SET SCHEMA app'; END LOOP; END $$",
      database,
    );
    const url = cluster.url(database, [cluster.primary], 'locked_out');
    const said = /does not let this role use the schema app: GRANT USAGE ON SCHEMA app TO it\./;
    expect(await reasonOf(await serve(url))).toMatch(said);
    expect((await run(['count'], { env: { DATABASE_URL: url } })).stderr).toMatch(said);
    expect(
      (await run(['import', fixture('microblog.ndjson')], { env: { DATABASE_URL: url } })).stderr,
    ).toMatch(said);
  });

  test('a lookup that fails by a lock is no fault of the data', async () => {
    const { database, url } = await loaded();
    const node = await startServer({ DATABASE_URL: url, ADMIN_PORT: '0' });
    const release = await cluster.primary.hold('LOCK TABLE lists IN ACCESS EXCLUSIVE MODE', database);
    try {
      expect((await ask(node, addressOf('user1', true))).status).toBe(503);
    } finally {
      await release();
    }
    expect((await metricsOf(node)).get('vitrine_data_faults_total')).toBe(0);
    await until('ready', async () => (await ask(node, '/readyz')).status === 200);
    await node.stop();
    const damage = Object.assign(new Error('invalid page in block 7'), { code: 'XX001' });
    expect(isUnreadable(toStoreError('the host', damage))).toBe(true);
  });

  test('a page or feed has profile and items of one generation', async () => {
    const { database, url } = await loaded();
    const reader = await serve(url);
    let going = true;
    const change = async () => {
      for (let turn = 1; going; turn++)
        await cluster.primary.sql(
          `BEGIN; UPDATE profiles SET record = '[${turn}]'; UPDATE lists SET body = body_of('{"posts":[${turn}]}');
           UPDATE items SET record = '[${turn}]'; COMMIT`,
          database,
        );
    };
    const changes = change();
    const seen = new Set<string>();
    await until('ten versions', async () => {
      const history = await reader.history('microblog', 'user1', { limit: 1 });
      const profile = bodyOf(history?.profile);
      if (profile.length < 10) expect(history?.items[0]?.record).toBe(profile);
      return seen.add(profile).size > 10;
    });
    going = false;
    await changes;
  });

  test.each(['items', 'lists'])('a lost table is named, and the advice helps: %s', async (table) => {
    const { database, url } = await loaded();
    await done(['takedown', '--database-url', url, '--family', 'microblog', 'ada']);
    const reader = await serve(url);
    await cluster.primary.sql(`DROP TABLE ${table} CASCADE`, database);
    const advice = `has lost tables (${table}): wait if it is being restored; otherwise restore a backup and repeat the takedowns since, or make a new database by \`vitrine takedown --from\` this one and an import of everything.`;
    await until('not ready', async () => (await reasonOf(reader)).endsWith(advice));
    for (const args of [['import', fixture('microblog.ndjson')], ['check']]) {
      const { code, stderr } = await run(args, { env: { DATABASE_URL: url } });
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(advice) });
    }
    const anew = cluster.url(await cluster.createDatabase());
    await done(['takedown', '--database-url', anew, '--from', url]);
    await done(['import', '--database-url', anew, fixture('microblog.ndjson')]);
    const exported = await done(['export', '--database-url', anew, '-']);
    expect(exported).toContain('"username":"kasia"');
    expect(exported).not.toContain('"username":"ada"');
  });

  test.each([
    ['step by step', []],
    ['in one step, as the guide says', ['--if-exists', '--single-transaction']],
  ])('a command that writes does not break a restore %s', async (_, options) => {
    const { database, url } = await loaded();
    const before = await done(['export', '--database-url', url, '-']);
    const file = join(tempFolder(), 'site.dump');
    await cluster.dump(database, file);
    // It drops some tables, then waits.
    const release = await cluster.primary.hold('SELECT FROM profiles', database);
    const restored = cluster.restore(database, file, ...options);
    const waiting =
      "SELECT FROM pg_stat_activity WHERE application_name = 'pg_restore' AND wait_event_type = 'Lock'";
    await until('it waits', async () => (await cluster.primary.sql(waiting)).length > 0);
    const advice = `The database at ${cluster.primary.address} is being restored by pg_restore: try again when that is done.`;
    for (const args of [['import', fixture('portfolio.ndjson')], ['migrate']]) {
      const { code, stderr } = await run(args, { env: { DATABASE_URL: url } });
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(advice) });
    }
    await release();
    await restored;
    expect(await done(['export', '--database-url', url, '-'])).toBe(before);
    await done(['import', '--database-url', url, fixture('portfolio.ndjson')]);
  });

  test('a role without SELECT is reported', async () => {
    const { database } = await loaded();
    await cluster.primary.sql(
      'CREATE ROLE blind LOGIN; GRANT SELECT ON vitrine, profiles, items TO blind',
      database,
    );
    const reader = await serve(cluster.url(database, [cluster.primary], 'blind'));
    expect(await reasonOf(reader)).toMatch(/does not let this role read: GRANT SELECT/);
    await cluster.primary.sql('GRANT SELECT ON ALL TABLES IN SCHEMA public TO blind', database);
    await until('ready', async () => (await reader.fault()) === undefined);
  });

  test('a command whose pooler has no connection to spare ends with a sentence', async () => {
    const { proxy, url } = await behindProxy({ isFull: true });
    const env = { DATABASE_URL: `${url}?connect_timeout=1` };
    for (const args of [['import', fixture('microblog.ndjson')], ['count'], ['export']]) {
      const { code, stderr } = await run(args, { env });
      const sentence = `vitrine: The database at ${proxy.address} lets no query in: all connections of its pooler, such as PgBouncer, may be in use.`;
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(sentence) });
    }
    const reader = await serve(env.DATABASE_URL);
    expect(await reasonOf(reader)).toContain('lets no query in');
    proxy.close();
  });

  test('an import that loses its connection says so, and nothing of the driver', async () => {
    // So slow that parts of the import wait for others.
    const { proxy, url, database } = await behindProxy({ delay: 200 });
    const child = vitrine(['import', '-'], { DATABASE_URL: url });
    const stderr: Buffer[] = [];
    child.stderr?.on('data', (chunk) => stderr.push(chunk));
    const bio = 'x'.repeat(10_000);
    // More than is sent at once, and no end.
    for (let id = 1; id <= 100; id++)
      child.stdin?.write(`${JSON.stringify(folio(id, `new${id}`, { bio }))}\n`);
    await until('rows on their way', async () => proxy.sent().split('INSERT INTO staged').length > 2);
    await cluster.primary.sql(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}'`,
    );
    child.stdin?.end();
    const [code] = await once(child, 'close');
    proxy.close();
    expect([code, String(Buffer.concat(stderr))]).toEqual([
      1,
      expect.stringMatching(
        /^vitrine: The database at \S+ closed the connection\.[^\n]*\n(?:vitrine: [^\n]*\n)*$/,
      ),
    ]);
  });

  test('a host that accepts connections but never responds is abandoned after connect_timeout', async () => {
    const silent = createServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as { port: number };
    const { database } = await loaded();
    const one = await serve(`postgres://owner@127.0.0.1:${port}/${database}?connect_timeout=1`);
    expect(await one.fault()).toBe(`The database at 127.0.0.1:${port} does not answer.`);
    // With a second host that responds, it does not matter.
    const both = await serve(
      `postgres://owner@127.0.0.1:${port},${cluster.primary.address}/${database}?connect_timeout=999`,
    );
    expect(await generationOf(both)).toBe(1);
    // Nor if that one takes longer than the start waits for the others: it connects in 900 ms.
    const slow = await startProxy(cluster.primary.port, { delay: 150 });
    const late = await serve(
      `postgres://owner@127.0.0.1:${port},${slow.address}/${database}?connect_timeout=999`,
    );
    expect(generationIn(await until('an answer', () => lookUp(late)))).toBe(1);
    slow.close();
    silent.close();
  });

  test.each([
    ['directly', {}],
    ['through a pooler that drops the options of a session', { dropsOptions: true }],
  ])('no lookup can write, %s', async (_, options) => {
    const { database, proxy, url } = await behindProxy(options);
    const reader = await serve(url);
    expect(await generationOf(reader)).toBe(1);
    expect(bodyOf(await reader.items('microblog', 'user1', 'posts'))).toContain('"posts":[{');
    // Behind a pooler the next transaction may reach a server process that has not prepared the statement.
    expect(proxy.sent().includes('profile\0SELECT')).toBe(!('dropsOptions' in options));
    // A table that writes when it is read.
    await cluster.primary.sql(
      `CREATE TABLE trapped (n integer);
       ALTER TABLE profiles RENAME TO real_profiles;
       CREATE FUNCTION trap() RETURNS text LANGUAGE sql VOLATILE AS 'INSERT INTO trapped VALUES (1) RETURNING ''etag''';
       CREATE VIEW profiles AS SELECT family, user_key, id, trap() AS etag, record, served FROM real_profiles`,
      database,
    );
    await expect(reader.profile('microblog', 'user2')).rejects.toThrow(/read-only/);
    expect(await cluster.primary.sql('SELECT * FROM trapped', database)).toEqual([]);
    proxy.close();
  });

  describe('encrypted', () => {
    const folder = tempFolder();
    const certificate = join(folder, 'server.crt');

    /** `NAME.crt` and `NAME.key`, signed by itself. */
    function certify(name: string, subject: string) {
      const options = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=${subject}`;
      const files = ['-keyout', join(folder, `${name}.key`), '-out', join(folder, `${name}.crt`)];
      const more = ['-addext', 'subjectAltName=IP:127.0.0.1', ...files];
      execFileSync('openssl', [...options.split(' '), ...more], { stdio: 'ignore' });
    }

    beforeAll(async () => {
      certify('server', 'vitrine');
      certify('client', 'certified');
      certify('stranger', 'certified');
      await cluster.encrypt(join(folder, 'server.key'), certificate, join(folder, 'client.crt'));
    });

    test.each([
      ['its certificate', 'client', 0, ''],
      [
        'the certificate of another authority',
        'stranger',
        1,
        'does not accept the certificate of this client',
      ],
      ['none', undefined, 1, 'does not let this user in'],
    ])('a role that needs a certificate, with %s', async (_, name, code, words) => {
      const { database } = await loaded();
      await cluster.primary.sql(
        `DO 'BEGIN CREATE ROLE certified LOGIN; EXCEPTION WHEN duplicate_object THEN END';
         GRANT SELECT ON ALL TABLES IN SCHEMA public TO certified`,
        database,
      );
      const own = name && `&sslcert=${join(folder, `${name}.crt`)}&sslkey=${join(folder, `${name}.key`)}`;
      const secure = `?sslmode=verify-full&sslrootcert=${certificate}${own ?? ''}`;
      const env = { DATABASE_URL: `${cluster.url(database, undefined, 'certified')}${secure}` };
      const result = await run(['export'], { env });
      expect([result.code, result.stderr]).toEqual([code, expect.stringContaining(words)]);
      expect(result.stdout.split('\n')).toHaveLength(code === 0 ? 101 : 1);
    });

    test.each([
      [`&sslrootcert=${certificate}`, 0],
      ['', 1],
    ])('verify-ca takes any host name, and only a known authority: %s', async (more, code) => {
      const { url } = await loaded();
      const named = url.replace('127.0.0.1', 'localhost');
      const result = await run(['export'], { env: { DATABASE_URL: `${named}?sslmode=verify-ca${more}` } });
      expect([result.code, result.stderr]).toEqual([
        code,
        expect.stringContaining(code ? 'not trusted' : ''),
      ]);
    });

    test('verify-full with an IP address proves the host, without a warning', async () => {
      const { url } = await loaded();
      const env = { DATABASE_URL: `${url}?sslmode=verify-full&sslrootcert=${certificate}` };
      const { code, stdout, stderr } = await run(['export'], { env });
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout.split('\n')).toHaveLength(101);
      const server = await startServer(env);
      await server.stop();
      expect(server.log.join('')).not.toContain('Warning');
    });

    test('works with a round trip of 200 ms to the database', async () => {
      const { proxy, url } = await behindProxy({ delay: 100 });
      const secure = `${url}?sslmode=verify-full&sslrootcert=${certificate}`;
      const reader = await serve(secure);
      expect(generationIn(await until('an answer', () => lookUp(reader)))).toBe(1);
      const { stdout } = await run(['export'], { env: { DATABASE_URL: secure } });
      expect(stdout.split('\n')).toHaveLength(101);
      proxy.close();
    });

    test.each([
      ['an authority that is unknown', '127.0.0.1', '', /has a certificate that is not trusted: name its/],
      ['another name', 'localhost', `&sslrootcert=${certificate}`, /a certificate for another host name\./],
      [
        'no such file',
        '127.0.0.1',
        '&sslrootcert=/nowhere',
        /^vitrine: The file \/nowhere of sslrootcert cannot be read/,
      ],
    ])('verify-full refuses %s with one message', async (_, host, more, words) => {
      const url = `postgres://owner@${host}:${cluster.primary.port}/postgres?sslmode=verify-full${more}`;
      const { code, stderr } = await run(['export'], { env: { DATABASE_URL: url } });
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(words) });
      expect(stderr).toMatch(/^vitrine: [^\n]+\n$/);
    });
  });
});
