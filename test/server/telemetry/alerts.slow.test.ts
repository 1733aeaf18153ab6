// Each alert fires, by Prometheus' own engine, in the time that it promises; and one does with a real server and Prometheus.
import { execFile, spawn } from 'node:child_process';
import { openSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { METRICS } from '../../../src/server/telemetry/metric-table.ts';
import { endWithTests } from '../../support/at-end.ts';
import { databaseOf } from '../../support/database.ts';
import { fixture, tempFolder } from '../../support/files.ts';
import { freePort } from '../../support/free-port.ts';
import { ask } from '../../support/http.ts';
import { printed } from '../../support/printed.ts';
import { pathOf, skipWithout } from '../../support/programs.ts';
import { startServer } from '../../support/server.ts';
import { until } from '../../support/stress.ts';

interface Outage {
  /** The samples of each series, every 15 seconds, as promtool writes them. */
  readonly series: Readonly<Record<string, string>>;
  /** When the alert has to fire. */
  readonly within: string;
}

const SERVER = 'job="vitrine",instance="one"';
const single = (name: string, values: string, within = '2m', labels = ''): Outage => ({
  series: { [`${name}{${SERVER}${labels}}`]: values },
  within,
});

/** What happens, by the alert that it must bring. */
const OUTAGES: Readonly<Record<string, Outage>> = {
  VitrineDown: single('up', '0x20'),
  // Killed four times.
  VitrineRestarts: single('process_start_time_seconds', '100 100 200 200 300 300 400 400 500x20'),
  VitrineLogLost: single('vitrine_log_lines_dropped_total', '0 0 5x20'),
  VitrineNotReady: single('vitrine_ready', '0x20'),
  // The clock of promtool begins at 0.
  VitrineImportOverdue: single('vitrine_last_import_run_timestamp_seconds', '-130000x20'),
  VitrineSnapshotOverdue: single('vitrine_last_snapshot_timestamp_seconds', '-180000x20'),
  VitrineLostUsers: single('vitrine_records', '1000x240 400x40', '68m', ',kind="microblog profile"'),
  VitrineFileRefused: single('vitrine_store_waiting', '1x20'),
  VitrinePostgresDown: single('vitrine_postgres_up', '0x20', '2m', ',host="db1"'),
  VitrinePostgresBehind: single('vitrine_postgres_lag_seconds', '9x40', '6m', ',host="db1"'),
  VitrineTwoPrimaries: {
    series: {
      [`vitrine_postgres_writable{${SERVER},host="db1"}`]: '1x20',
      [`vitrine_postgres_writable{${SERVER},host="db2"}`]: '1x20',
    },
    within: '2m',
  },
  VitrineErrors: {
    series: {
      [`vitrine_requests_total{${SERVER},variant="b",operation="items",status="200"}`]: '0+100x60',
      [`vitrine_requests_total{${SERVER},variant="b",operation="items",status="503"}`]: '0+10x60',
    },
    within: '6m',
  },
  // 17 of 4,143 responses.
  VitrineDataFaults: single('vitrine_data_faults_total', '0 0 17x20'),
  VitrineSlow: {
    series: {
      [`vitrine_request_duration_seconds_bucket{${SERVER},operation="items",le="0.25"}`]: '0+90x80',
      [`vitrine_request_duration_seconds_bucket{${SERVER},operation="items",le="1"}`]: '0+100x80',
      [`vitrine_request_duration_seconds_bucket{${SERVER},operation="items",le="+Inf"}`]: '0+100x80',
    },
    within: '12m',
  },
  VitrineOverloaded: single('vitrine_refused_requests_total', '0+9x40', '6m', ',reason="overload"'),
  VitrineConnectionsRefused: single('vitrine_connections_refused_total', '0 0 3x20'),
  VitrineDiskFull: {
    series: {
      [`vitrine_disk_free_bytes{${SERVER}}`]: '1000x20',
      [`vitrine_database_bytes{${SERVER}}`]: '2000x20',
    },
    within: '2m',
  },
};

const alerts = METRICS.flatMap(({ alert }) => (alert === undefined ? [] : [alert.name]));

test('every alert has an outage here', () => {
  expect(Object.keys(OUTAGES).sort()).toEqual(alerts.toSorted());
});

const exec = promisify(execFile);

describe.skipIf(skipWithout('promtool'))('by promtool', () => {
  test.each(alerts)('%s fires in time, and not before', async (name) => {
    const { series, within } = OUTAGES[name] as Outage;
    const folder = tempFolder();
    writeFileSync(join(folder, 'rules.yml'), printed('prometheus-rules'));
    const firing = `count(ALERTS{alertname="${name}",alertstate="firing"})`;
    const file = {
      rule_files: ['rules.yml'],
      evaluation_interval: '15s',
      tests: [
        {
          interval: '15s',
          input_series: Object.entries(series).map(([key, values]) => ({ series: key, values })),
          promql_expr_test: [
            { expr: firing, eval_time: '0s', exp_samples: [] },
            { expr: firing, eval_time: within, exp_samples: [{ labels: '{}', value: 1 }] },
          ],
        },
      ],
    };
    writeFileSync(join(folder, 'test.yml'), JSON.stringify(file));
    await exec(pathOf('promtool'), ['test', 'rules', 'test.yml'], { cwd: folder });
  });
});

test.skipIf(skipWithout('prometheus'))('a damaged file rings within two minutes', async () => {
  const path = await databaseOf(fixture('microblog.ndjson'), fixture('portfolio.ndjson'));
  const adminPort = await freePort();
  const server = await startServer({ DATABASE_URL: path, ADMIN_PORT: String(adminPort) });
  const folder = tempFolder();
  const port = await freePort();
  writeFileSync(join(folder, 'rules.yml'), printed('prometheus-rules'));
  const config = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: ['rules.yml'],
    scrape_configs: [{ job_name: 'vitrine', static_configs: [{ targets: [`127.0.0.1:${adminPort}`] }] }],
  };
  writeFileSync(join(folder, 'prometheus.yml'), JSON.stringify(config));
  const flags = [
    '--config.file=prometheus.yml',
    `--web.listen-address=127.0.0.1:${port}`,
    '--storage.tsdb.path=data',
  ];
  endWithTests(spawn(pathOf('prometheus'), flags, { cwd: folder, stdio: 'ignore' }));
  const query = async (expr: string) => {
    const { body } = await ask({ port }, `/api/v1/query?query=${encodeURIComponent(expr)}`);
    return JSON.parse(body).data.result as object[];
  };
  await until(
    'a scrape',
    async () => (await query('vitrine_data_faults_total == 0').catch(() => [])).length > 0,
    60,
  );
  const file = openSync(path, 'r+');
  for (let at = 4096 * 30; at < statSync(path).size; at += 4096)
    writeSync(file, Buffer.alloc(4096, 0xff), 0, 4096, at);
  const faults = ['ada', 'pekka', 'zoe', 'elodie'].map((name) =>
    ask(server, `/b/api/username/${name}/shots`),
  );
  expect((await Promise.all(faults)).some(({ status }) => status === 503)).toBe(true);
  const firing = 'ALERTS{alertname="VitrineDataFaults",alertstate="firing"}';
  await until('the alert', async () => (await query(firing)).length > 0, 120);
});
