// The admin port: metrics with bounded label values, and probes that give the reason.

import { readFileSync, truncateSync } from 'node:fs';
import { IncomingMessage, METHODS } from 'node:http';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { VERSION } from '../../../src/config/package-files.ts';
import { createRegistry, METRICS } from '../../../src/server/telemetry/metric-table.ts';
import { createCounts } from '../../../src/server/telemetry/request-counts.ts';
import { durationSamples } from '../../../src/server/telemetry/request-samples.ts';
import { readStorage } from '../../../src/server/telemetry/storage.ts';
import { NO_COUNTS } from '../../../src/stores/sql/counts.ts';
import { beyondLimits, ITEMS, portfolioName, USERS } from '../../support/beyond-limits.ts';
import { databaseOf } from '../../support/database.ts';
import { fixture, ROOT, readRecords, tempFolder } from '../../support/files.ts';
import { ask, json, sendRaw } from '../../support/http.ts';
import { done } from '../../support/run.ts';
import { serveHere } from '../../support/serve-here.ts';
import { type LocalServer, startServer } from '../../support/server.ts';
import { adminOf, askMetrics, metricsOf, until } from '../../support/stress.ts';

const ADA = '/a/api/?user=ada';
const FILES = [fixture('microblog.ndjson'), fixture('portfolio.ndjson')];

let path: string;
let server: LocalServer;
beforeAll(async () => {
  path = await databaseOf(...FILES);
  server = await serveHere({ DATABASE_URL: path, ADMIN_PORT: '0' });
});

const requestsOf = async () => {
  const metrics = await metricsOf(server);
  return (variant: string, operation: string, status: number) =>
    metrics.get(`vitrine_requests_total{variant="${variant}",operation="${operation}",status="${status}"}`) ??
    0;
};

describe('requests', () => {
  // One test, since a server prints new figures at most once a second.
  test('are counted by variant, operation and status', async () => {
    const items = `${ADA}&post=true`;
    const preflight = { origin: 'https://x.example', 'access-control-request-method': 'GET' };
    const rows: [
      variant: string,
      operation: string,
      status: number,
      url: string,
      options: Parameters<typeof ask>[2],
    ][] = [
      ['a', 'profile', 200, ADA, {}],
      ['a', 'profile', 304, ADA, { headers: { 'if-none-match': '*' } }],
      ['a', 'profile', 404, '/a/api/?user=nobody', {}],
      ['a', 'items', 200, items, {}],
      ['b', 'items', 200, '/b/api/username/ada/shots', {}],
      ['none', 'other', 405, '/b/api/username/ada/shots', { method: 'DELETE' }],
      ['c', 'profile', 414, `/c/api/username/${'x'.repeat(300)}`, {}],
      ['none', 'probe', 200, '/healthz', {}],
      ['none', 'other', 404, '/nothing', {}],
      ['none', 'other', 414, `/${'x'.repeat(9000)}`, {}],
      ['none', 'preflight', 204, ADA, { method: 'OPTIONS', headers: preflight }],
    ];
    const before = await requestsOf();
    // Each row so many times that no two rows are counted alike.
    for (const [nr, [, , status, url, options]] of rows.entries())
      for (let turn = 0; turn <= nr; turn++) expect((await ask(server, url, options)).status).toBe(status);
    const after = await requestsOf();
    const counted = rows.map(([variant, operation, status]) => [
      variant,
      operation,
      status,
      after(variant, operation, status) - before(variant, operation, status),
    ]);
    // Reading the metrics counts as a probe, too, and is repeated until they are new.
    const isProbe = ([, operation]: readonly unknown[]) => operation === 'probe';
    const asked = rows.map(([variant, operation, status], nr) => [variant, operation, status, nr + 1]);
    expect(counted.filter((row) => !isProbe(row))).toEqual(asked.filter((row) => !isProbe(row)));
    expect(counted.find(isProbe)?.[3]).toBeGreaterThan(asked.find(isProbe)?.[3] as number);
  });

  test('label values are bounded, whatever clients send', async () => {
    for (const method of METHODS.filter((name) => name !== 'CONNECT')) await ask(server, ADA, { method });
    for (let nr = 0; nr < 100; nr++) {
      const urls = [
        `/a/api/?user=u${nr}`,
        `/b/api/username/u${nr}/shots`,
        `/${nr}`,
        `/metrics/${nr}`,
        `/a/api/?post=${nr}`,
      ];
      await Promise.all(
        urls.map((url) => ask(server, url, { headers: { host: `h${nr}.example`, 'user-agent': `a${nr}` } })),
      );
    }
    await sendRaw(server, 'ODD / HTTP/1.1\r\n\r\n');
    const labels = new Map<string, Set<string>>();
    const counted = [...(await metricsOf(server)).keys()].filter((name) => name.startsWith('vitrine_'));
    for (const name of counted)
      for (const [, label, value] of name.matchAll(/(\w+)="([^"]*)"/g))
        labels.set(label as string, (labels.get(label as string) ?? new Set()).add(value as string));
    expect([...labels.keys()].sort().join(' ')).toBe('kind le operation reason status variant version');
    expect([...(labels.get('variant') ?? [])].sort()).toEqual(['a', 'b', 'c', 'none']);
    const operations = ['items', 'other', 'page', 'preflight', 'probe', 'profile'];
    expect(operations).toEqual(expect.arrayContaining([...(labels.get('operation') ?? [])]));
    for (const status of labels.get('status') ?? []) expect(status).toMatch(/^[2345]\d\d$/);
    expect(counted.length).toBeLessThan(400);
  });

  test('every request is counted in the histogram of durations, with its labels', async () => {
    await ask(adminOf(server), '/healthz');
    const metrics = await metricsOf(server);
    const totals = new Map<string, number>();
    for (const [name, value] of metrics) {
      const labels = /^vitrine_requests_total\{(.*),status=/.exec(name)?.[1];
      if (labels !== undefined) totals.set(labels, (totals.get(labels) ?? 0) + value);
    }
    expect(totals.size).toBeGreaterThan(5);
    for (const [labels, total] of totals) {
      const of = (name: string) =>
        metrics.get(`vitrine_request_duration_seconds_${name}{${labels}}`) as number;
      expect([labels, of('count')]).toEqual([labels, total]);
      expect([labels, of('sum') > 0, of('sum') / total < 10]).toEqual([labels, true, true]);
    }
  });
});

describe('the data', () => {
  const recordsOf = async (of = server) => {
    const metrics = await metricsOf(of);
    const kinds = ['microblog profile', 'post', 'portfolio profile', 'shot'];
    return kinds.map((kind) => metrics.get(`vitrine_records{kind="${kind}"}`));
  };
  test('records by kind', async () => {
    const linesWith = (file: string, member: string) =>
      readRecords(fixture(file)).filter((record) => member in record).length;
    const [people = 0, ...others] = ['microblog.ndjson', 'portfolio.ndjson'].flatMap((file) => [
      linesWith(file, 'username'),
      linesWith(file, file === 'microblog.ndjson' ? 'user' : 'user_id'),
    ]);
    expect(await recordsOf()).toEqual([people, ...others]);
    await done(['import', '--database-url', path, '-'], {
      input: '{"totalPost":"0","id":"777","username":"one more"}',
    });
    await expect.poll(() => recordsOf()).toEqual([people + 1, ...others]);
  });

  test('records by kind, of more users and items than are read at a time', async () => {
    const database = await databaseOf(...beyondLimits());
    const larger = await serveHere({ DATABASE_URL: database, ADMIN_PORT: '0' });
    const items = ITEMS + USERS - 1;
    expect(await recordsOf(larger)).toEqual([USERS, items, USERS, items]);
    await done([
      'takedown',
      '--database-url',
      database,
      '--family',
      'portfolio',
      portfolioName(1),
      portfolioName(2),
    ]);
    await expect.poll(() => recordsOf(larger)).toEqual([USERS, items, USERS - 2, USERS - 2]);
    await larger.stop();
  });

  test('the times of the last change and of the last import without a change', async () => {
    const times = async () => {
      const metrics = await metricsOf(server);
      return ['import', 'import_run'].map(
        (name) => metrics.get(`vitrine_last_${name}_timestamp_seconds`) as number,
      );
    };
    const run = () =>
      done(['import', '--database-url', path, '-'], {
        input: '{"totalPost":"0","id":"778","username":"the latest"}',
      });
    const [changed = 0, ran = 0] = await times();
    for (const time of [changed, ran]) expect(Math.abs(time - Date.now() / 1000)).toBeLessThan(600);
    await run();
    const [changedThen = 0, ranThen = 0] = await times();
    expect([changedThen > changed, ranThen > ran]).toEqual([true, true]);
    await run();
    const [changedLast = 0, ranLast = 0] = await times();
    expect([changedLast, ranLast > ranThen]).toEqual([changedThen, true]);
  });
});

test('a request that takes as long as the limit of a bucket is in it, as Prometheus reads `le`', () => {
  const counts = createCounts();
  const operation = { variant: 'a', name: 'items' } as const;
  const request = new IncomingMessage(new Socket());
  for (const seconds of [0.25, 0.25, 0.2500001, 3])
    counts.add({ type: 'response', operation, request, status: 200, bytes: 0 }, seconds);
  const within = (le: string) => durationSamples(counts).find(({ labels }) => labels.le === le)?.value;
  expect(['0.1', '0.25', '0.5', '2.5', '+Inf'].map(within)).toEqual([0, 2, 3, 3, 4]);
});

test('each PostgreSQL host has its samples', async () => {
  const host = (name: string, more: object) => ({
    name,
    up: true,
    lag: 0,
    writable: false,
    replayLag: 0,
    ...more,
  });
  const store = {
    lastImport: () => 0,
    lastImportRun: () => 0,
    counts: () => NO_COUNTS,
    hosts: () => [host('db:1', { writable: true }), host('db:2', { up: false, lag: 7, replayLag: 3 })],
  };
  const registry = await createRegistry({
    counts: createCounts(),
    openConnections: () => 0,
    store,
    droppedLines: () => 0,
    storage: () => readStorage({ databaseUrl: undefined, snapshotDir: undefined }),
    health: () => ({}),
  });
  const lines = (await registry.metrics()).split('\n');
  expect(lines.filter((line) => line.startsWith('vitrine_postgres_'))).toEqual([
    'vitrine_postgres_up{host="db:1"} 1',
    'vitrine_postgres_up{host="db:2"} 0',
    'vitrine_postgres_lag_seconds{host="db:1"} 0',
    'vitrine_postgres_lag_seconds{host="db:2"} 7',
    'vitrine_postgres_replay_lag_seconds{host="db:1"} 0',
    'vitrine_postgres_replay_lag_seconds{host="db:2"} 3',
    'vitrine_postgres_writable{host="db:1"} 1',
    'vitrine_postgres_writable{host="db:2"} 0',
  ]);
});

test('refused requests, by reason', async () => {
  const limited = await serveHere({ ADMIN_PORT: '0', RATE_LIMIT: '1/1h' });
  for (const status of [200, 429, 429]) expect((await ask(limited, ADA)).status).toBe(status);
  const metrics = await metricsOf(limited);
  expect(metrics.get('vitrine_refused_requests_total{reason="rate"}')).toBe(2);
  expect(metrics.get('vitrine_refused_requests_total{reason="overload"}')).toBe(0);
});

test('every row of the table is a metric with its type and help', async () => {
  const { body } = await askMetrics(adminOf(server));
  for (const { name, type, help } of METRICS.filter(({ read }) => read !== undefined))
    expect(body).toContain(`# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`);
  for (const name of METRICS.map(({ name }) => name).filter((name) => /^(process|nodejs)_/.test(name)))
    expect(body).toContain(`\n${name} `);
  expect(body).toContain(`\nvitrine_ready 1\n`);
  expect(body).toContain(`vitrine_build_info{version="${VERSION}"} 1\n`);
});

describe('the names that alerts and dashboards use', () => {
  let exported: string[];
  beforeAll(async () => {
    const settings = { ADMIN_PORT: '0', SNAPSHOT_DIR: tempFolder() };
    const full = await serveHere({ ...settings, DATABASE_URL: path });
    for (const url of [ADA, `${ADA}&post=true`, '/healthz']) await ask(full, url);
    const empty = await serveHere({ ...settings, DATABASE_URL: join(tempFolder(), 'site.db') });
    expect((await ask(empty, ADA)).status).toBe(503);
    exported = [...(await metricsOf(full)).keys(), ...(await metricsOf(empty)).keys()];
  });

  /** The labels of each series of a name; undefined if a server does not export the name. */
  const seriesOf = (name: string) =>
    exported
      .filter((series) => series.split('{')[0] === name)
      .map(
        (series) =>
          new Map([...series.matchAll(/(\w+)="([^"]*)"/g)].map(([, label, value]) => [label, value])),
      );

  const alerts = METRICS.flatMap(({ alert }) =>
    // A server that serves a file has no series of PostgreSQL hosts.
    alert === undefined || alert.expr.includes('_postgres_') ? [] : [[alert.name, alert.expr] as const],
  );

  /** The panels of the guide. */
  const { panels }: { panels: { title: string; targets: { expr: string }[] }[] } = JSON.parse(
    /```json\n(\{\n {2}"title": "Vitrine",[\s\S]*?)```/.exec(
      readFileSync(join(ROOT, 'src/guides/running.md'), 'utf8'),
    )?.[1] ?? '',
  );
  const shown = panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const));

  test('the dashboard has six panels, of an expression each', () => {
    expect(shown.length).toBe(6);
  });

  test.each([...alerts, ...shown])('%s asks for series, labels and values that are exported', (_, expr) => {
    const selectors = [...expr.matchAll(/\b((?:vitrine|process|nodejs)_\w+)(?:\{(.*?)\})?/g)];
    for (const [, name = '', matchers = ''] of selectors) {
      const series = seriesOf(name);
      expect([name, series.length > 0]).toEqual([name, true]);
      for (const [matcher, label, value] of matchers.matchAll(/(\w+)(?:=|!=|=~)"(.*?)"/g)) {
        // Prometheus adds it.
        if (label === 'job') continue;
        const isMet = series.some((labels) => new RegExp(`^(?:${value})$`).test(labels.get(label) ?? ''));
        expect([name, matcher, isMet]).toEqual([name, matcher, true]);
      }
    }
    // Prometheus adds `job` and `instance`.
    const grouping = [...expr.matchAll(/by \((.*?)\)/g)].flatMap(([, labels = '']) => labels.split(', '));
    for (const label of grouping.filter((name) => name !== 'job' && name !== 'instance'))
      expect([label, selectors.some(([, name = '']) => seriesOf(name)[0]?.has(label))]).toEqual([
        label,
        true,
      ]);
  });

  test('of a server with SQLite stay, since they are promised', () => {
    const labelled = exported.map((series) => series.replaceAll(/="[^"]*"/g, ''));
    const own = labelled.filter((name) => name.startsWith('vitrine_'));
    expect([...new Set(own)].sort()).toEqual([
      'vitrine_build_info{version}',
      'vitrine_connections',
      'vitrine_connections_refused_total',
      'vitrine_data_faults_total',
      'vitrine_database_bytes',
      'vitrine_disk_free_bytes',
      'vitrine_last_import_run_timestamp_seconds',
      'vitrine_last_import_timestamp_seconds',
      'vitrine_last_snapshot_timestamp_seconds',
      'vitrine_log_lines_dropped_total',
      'vitrine_ready',
      'vitrine_records{kind}',
      'vitrine_refused_requests_total{reason}',
      'vitrine_request_duration_seconds_bucket{variant,operation,le}',
      'vitrine_request_duration_seconds_count{variant,operation}',
      'vitrine_request_duration_seconds_sum{variant,operation}',
      'vitrine_requests_total{variant,operation,status}',
      'vitrine_store_waiting',
      'vitrine_worker_deaths_total',
    ]);
  });
});

describe('ports', () => {
  test('the main port has no metrics; both ports have probes, for GET and HEAD only', async () => {
    expect((await ask(server, '/metrics')).status).toBe(404);
    for (const port of [server, adminOf(server)]) {
      expect(json(await ask(port, '/healthz'))).toEqual({ status: 'ok' });
      expect(json(await ask(port, '/readyz'))).toEqual({ status: 'ready' });
      for (const url of ['/healthz', '/readyz']) {
        const head = await ask(port, url, { method: 'HEAD' });
        expect([head.status, head.body, head.headers['cache-control']]).toEqual([200, '', 'no-store']);
        expect((await ask(port, url, { method: 'POST' })).status).toBe(405);
      }
    }
  });

  test('the admin port has metrics in the Prometheus format, and no profiles', async () => {
    const { status, headers, body } = await askMetrics(adminOf(server));
    expect([status, headers['content-type']]).toEqual([
      200,
      expect.stringMatching(/^text\/plain; version=[\d.]+/),
    ]);
    for (const line of body.split('\n').filter(Boolean))
      expect(line).toMatch(/^(# (HELP|TYPE) \w+ .+|\w+(\{[^}]*\})? \S+)$/);
    for (const url of [ADA, '/b/api/username/ada', '/', '/metrics/x']) {
      const reply = await ask(adminOf(server), url);
      expect({ status: reply.status, code: json(reply).code }).toEqual({
        status: 404,
        code: 'ROUTE_NOT_FOUND',
      });
    }
    expect((await ask(adminOf(server), '/metrics', { method: 'DELETE' })).status).toBe(405);
    const bytes = ['rubbish\r\n\r\n', 'GET /readyz HTTP/1.0\r\n\r\n'];
    const replies = await Promise.all(bytes.map((one) => sendRaw(adminOf(server), one)));
    expect(replies.flat().map(({ status }) => status)).toEqual([400, 200]);
  });

  test.each([
    ['127.0.0.1:9090', 200],
    ['[::1]:9090', 200],
    ['localhost:9090', 200],
    // A container's name.
    ['vitrine:9090', 200],
    ['evil.example', 421],
    ['127.0.0.1.evil.example:9090', 421],
    ['localhost.evil.example', 421],
  ])('the admin port answers %s with %i, so that no web page can read it', async (host, status) => {
    for (const url of ['/healthz', '/readyz', '/metrics'])
      expect((await ask(adminOf(server), url, { headers: { host } })).status).toBe(status);
  });

  test('requests to the admin port are not logged', () => {
    expect(server.log.filter((line) => /"(slow )?request"/.test(line))).toEqual([]);
  });
});

test('readyz gives the reason: unreadable data, or stopping', async () => {
  const file = `${path}.apart`;
  await done(['snapshot', '--database-url', path, file]);
  const apart = await startServer({ DATABASE_URL: file, ADMIN_PORT: '0', SHUTDOWN_DELAY: '1h' });
  truncateSync(file, 0);
  for (const port of [apart, adminOf(apart)]) {
    const reply = await until('not being ready', async () => {
      const answer = await ask(port, '/readyz');
      return answer.status === 503 && answer;
    });
    // The reason names files and hosts, so only the admin port shows it.
    const reason = port === apart ? {} : { reason: expect.stringContaining(file) };
    expect(json(reply)).toEqual({ status: 'not ready', ...reason });
    expect((await ask(port, '/healthz')).status).toBe(200);
  }
  expect((await metricsOf(apart)).get('vitrine_ready')).toBe(0);
  apart.child.kill('SIGTERM');
  await until(
    'its stopping',
    async () => json(await ask(adminOf(apart), '/readyz')).reason === 'The server is stopping.',
  );
  expect((await ask(apart, '/readyz')).status).toBe(503);
});
