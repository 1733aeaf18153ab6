// Every metric, one row each. The metrics and the alert rules are made from this table. Rows without a reader come from
// Prometheus and its client.

import type { Registry } from '@prometheus-io/client';
import { VERSION } from '../../config/package-files.ts';
import type { Counts, HostState } from '../../stores/reader.ts';
import type { Metric, MetricsSources, Sample } from './metric.ts';
import { DURATION, durationSamples, requestSamples } from './request-samples.ts';

export const METRICS: readonly Metric[] = [
  {
    name: 'up',
    type: 'gauge',
    help: 'By Prometheus: 1 while the admin port answers.',
    alert: {
      name: 'VitrineDown',
      expr: 'up{job="vitrine"} == 0',
      for: '1m',
      severity: 'critical',
      symptom: 'The proxy answers 503, or serves from its cache.',
      cause: 'The process has ended or hangs.',
      command: 'journalctl -u vitrine, or docker logs vitrine',
    },
  },
  {
    name: 'vitrine_build_info',
    type: 'gauge',
    aggregator: 'first',
    help: '1; the label is the version of Vitrine.',
    read: () => [{ labels: { version: VERSION }, value: 1 }],
  },
  {
    name: 'vitrine_log_lines_dropped_total',
    type: 'counter',
    help: 'Log lines dropped because the log could not be written.',
    read: ({ droppedLines }) => droppedLines(),
    alert: {
      name: 'VitrineLogLost',
      expr: 'increase(vitrine_log_lines_dropped_total[10m]) > 0',
      for: '0m',
      severity: 'warning',
      symptom: 'The log has gaps; the server goes on.',
      cause: 'The disk of the log is full, or its reader is stuck.',
      command: 'df, and the program that reads the log',
    },
  },
  {
    name: 'process_start_time_seconds',
    type: 'gauge',
    help: 'When the process started; with several workers, their supervisor.',
    alert: {
      name: 'VitrineRestarts',
      expr: 'changes(process_start_time_seconds{job="vitrine"}[15m]) > 2 or increase(vitrine_worker_deaths_total[15m]) > 2',
      for: '0m',
      severity: 'critical',
      symptom:
        'The server or a worker was started anew more than twice in 15 minutes. Requests are lost meanwhile.',
      cause: 'It is killed for its memory, or ends by an error.',
      command: 'journalctl -u vitrine, or docker logs vitrine, and dmesg',
    },
  },
  {
    name: 'vitrine_worker_deaths_total',
    type: 'counter',
    help: 'Workers that ended and were replaced. 0 with one process.',
    // The supervisor counts them.
    read: () => 0,
  },
  {
    name: 'process_resident_memory_bytes',
    type: 'gauge',
    help: 'Memory of the process; of several workers together.',
  },
  {
    name: 'process_cpu_seconds_total',
    type: 'counter',
    help: 'CPU time; of several workers together.',
  },
  {
    name: 'nodejs_eventloop_lag_p99_seconds',
    type: 'gauge',
    help: 'How late the event loop runs its timers, 99th percentile.',
  },
  // Of the data that is served, and of the databases it comes from.
  {
    name: 'vitrine_ready',
    type: 'gauge',
    help: '1 while requests can be answered, as `/readyz` says; with several workers: while any of them can.',
    read: async ({ health }) => ((await health()).unready === undefined ? 1 : 0),
    alert: {
      name: 'VitrineNotReady',
      expr: 'vitrine_ready == 0',
      for: '1m',
      severity: 'critical',
      symptom: 'Lookups get 503 NOT_READY.',
      cause: 'Nothing was imported yet, the database cannot be read, or the server is stopping.',
      command: 'curl http://127.0.0.1:9090/readyz',
    },
  },
  {
    name: 'vitrine_last_import_timestamp_seconds',
    type: 'gauge',
    help: 'When the data that is served was last changed.',
    read: ({ store }) => store.lastImport(),
  },
  {
    name: 'vitrine_last_import_run_timestamp_seconds',
    type: 'gauge',
    help: 'When an import or a mirror came to its end, also one that changed nothing.',
    read: ({ store }) => ifKnown(async () => await store.lastImportRun()),
    alert: {
      name: 'VitrineImportOverdue',
      expr: 'time() - vitrine_last_import_run_timestamp_seconds > 36 * 3600',
      for: '1m',
      severity: 'warning',
      symptom: 'No import or mirror has run for 36 hours.',
      cause: 'The nightly run did not start, or failed. If there is none, remove this rule.',
      command: 'systemctl status vitrine-import, or the log of what starts it',
    },
  },
  {
    name: 'vitrine_records',
    type: 'gauge',
    aggregator: 'first',
    help: 'Records served, by kind: users (`… profile`) and items (`post`, `shot`).',
    read: ({ store }) => ifKnown(async () => recordSamples(await store.counts())),
    alert: {
      name: 'VitrineLostUsers',
      expr: 'sum by (job, instance) (vitrine_records{kind=~".* profile"}) < 0.5 * sum by (job, instance) (vitrine_records{kind=~".* profile"} offset 1h)',
      for: '5m',
      severity: 'warning',
      symptom: 'Half of the users of an hour ago are gone.',
      cause: 'An import with `--replace` of an incomplete file.',
      command: 'import the complete file, or vitrine restore FILE',
    },
  },
  {
    name: 'vitrine_store_waiting',
    type: 'gauge',
    help: '1 while the file that is served is not in its place: a newer one was refused, or it was removed.',
    read: ({ store }) => (store.waiting?.() === undefined ? 0 : 1),
    alert: {
      name: 'VitrineFileRefused',
      expr: 'vitrine_store_waiting == 1',
      for: '1m',
      severity: 'warning',
      symptom: 'The file in place is not the one that is served, or there is none.',
      cause: 'The new file is damaged, incomplete, or of another version; or the file was removed.',
      command: 'curl http://127.0.0.1:9090/readyz, then vitrine check on the file',
    },
  },
  {
    name: 'vitrine_postgres_up',
    type: 'gauge',
    aggregator: 'min',
    help: '1 while the PostgreSQL host answers and can be read from.',
    read: (sources) => hostSamples(sources, ({ up }) => (up ? 1 : 0)),
    alert: {
      name: 'VitrinePostgresDown',
      expr: 'vitrine_postgres_up == 0',
      for: '1m',
      severity: 'warning',
      symptom:
        'Fewer PostgreSQL hosts share the lookups; without any, they get 503, and without the primary imports fail.',
      cause: 'The host is down, cannot be reached, or refuses the role.',
      command: 'psql -h HOST, and the log, which names the reason',
    },
  },
  {
    name: 'vitrine_postgres_lag_seconds',
    type: 'gauge',
    help: 'How much older the data of the PostgreSQL host is than the newest, by the times of the imports.',
    read: (sources) => hostSamples(sources, ({ lag }) => lag),
    alert: {
      name: 'VitrinePostgresBehind',
      expr: 'vitrine_postgres_lag_seconds > 0 or vitrine_postgres_replay_lag_seconds > 60',
      for: '5m',
      severity: 'warning',
      symptom: 'A standby has older data. It gets no lookups, unless it is the only host.',
      cause: 'Replication is slow or has stopped.',
      command: 'SELECT * FROM pg_stat_replication on the primary',
    },
  },
  {
    name: 'vitrine_postgres_replay_lag_seconds',
    type: 'gauge',
    help: 'Of a standby: how old the newest change is that it shows, while it has received more. 0 if it shows all of it.',
    read: (sources) => hostSamples(sources, ({ replayLag }) => replayLag),
  },
  {
    name: 'vitrine_postgres_writable',
    type: 'gauge',
    help: '1 while the PostgreSQL host is a primary. With two of them, an old primary has returned after a failover.',
    read: (sources) => hostSamples(sources, ({ writable }) => (writable ? 1 : 0)),
    alert: {
      name: 'VitrineTwoPrimaries',
      expr: 'sum by (job, instance) (vitrine_postgres_writable) > 1',
      for: '1m',
      severity: 'critical',
      symptom: 'Two PostgreSQL hosts can be written; an import may go to the wrong one.',
      cause: 'An old primary has returned after a failover.',
      command: 'stop the old primary, and make it a standby with pg_rewind',
    },
  },
  // Of the disk.
  {
    name: 'vitrine_database_bytes',
    type: 'gauge',
    help: 'Size of the SQLite file and its log.',
    read: ({ storage }) => storage().databaseBytes,
  },
  {
    name: 'vitrine_disk_free_bytes',
    type: 'gauge',
    aggregator: 'min',
    help: 'Free space on the disk of the SQLite file.',
    read: ({ storage }) => storage().freeBytes,
    alert: {
      name: 'VitrineDiskFull',
      expr: 'vitrine_disk_free_bytes < vitrine_database_bytes',
      for: '1m',
      severity: 'warning',
      symptom: 'The disk has less free space than the database takes.',
      cause: 'An import that changes everything writes a log as large as the database.',
      command: 'df -h, then remove old snapshots, or use a larger disk',
    },
  },
  {
    name: 'vitrine_last_snapshot_timestamp_seconds',
    type: 'gauge',
    help: 'When the newest snapshot in `SNAPSHOT_DIR` was made; 0 if there is none.',
    read: ({ storage }) => storage().lastSnapshot,
    alert: {
      name: 'VitrineSnapshotOverdue',
      expr: 'time() - vitrine_last_snapshot_timestamp_seconds > 48 * 3600',
      for: '1m',
      severity: 'warning',
      symptom: 'No snapshot was made for two days.',
      cause: 'The nightly snapshot did not run, or failed.',
      command: 'systemctl status vitrine-snapshot, or the log of what starts it',
    },
  },
  // Of requests and connections.
  {
    name: 'vitrine_requests_total',
    type: 'counter',
    help: 'Requests, by variant, operation and status.',
    read: ({ counts }) => requestSamples(counts),
    alert: {
      name: 'VitrineErrors',
      expr: 'sum by (job, instance) (rate(vitrine_requests_total{status=~"5..",operation!="probe"}[5m])) > 0.01 * sum by (job, instance) (rate(vitrine_requests_total{operation!="probe"}[5m]))',
      for: '5m',
      severity: 'critical',
      symptom: 'More than 1% of the requests get a 5xx.',
      cause: 'The data cannot be read, the server is overloaded, or there is a fault in Vitrine.',
      command: 'grep \'"msg":"request failed"\' in the log',
    },
  },
  {
    name: 'vitrine_data_faults_total',
    type: 'counter',
    help: 'Responses that failed because the data could not be read.',
    read: ({ counts }) => counts.totals().dataFaults,
    alert: {
      name: 'VitrineDataFaults',
      expr: 'increase(vitrine_data_faults_total[10m]) > 0',
      for: '0m',
      severity: 'critical',
      symptom: 'Some lookups get 503 NOT_READY, although the server is ready.',
      cause:
        'The database file is damaged, its disk fails, or PostgreSQL cannot be read. The log names the lookups.',
      command: 'vitrine check, then vitrine restore FILE',
    },
  },
  {
    name: DURATION,
    type: 'histogram',
    help: 'From the arrival of a request to its answer being handed to Node.',
    read: ({ counts }) => durationSamples(counts),
    alert: {
      name: 'VitrineSlow',
      expr: `histogram_quantile(0.99, sum by (job, instance, le) (rate(${DURATION}_bucket{operation=~"profile|items"}[5m]))) > 0.25`,
      for: '10m',
      severity: 'warning',
      symptom: '1% of the lookups take longer than 250 ms.',
      cause: 'A slow disk, a slow PostgreSQL, or too little CPU.',
      command: 'grep \'"msg":"slow request"\' in the log',
    },
  },
  {
    name: 'vitrine_refused_requests_total',
    type: 'counter',
    help: 'Requests refused, by reason: overload (503) or rate (429, RATE_LIMIT).',
    read: ({ counts }) =>
      Object.entries(counts.refused).map(([reason, value]) => ({ labels: { reason }, value })),
    alert: {
      name: 'VitrineOverloaded',
      expr: 'rate(vitrine_refused_requests_total{reason="overload"}[5m]) > 0',
      for: '5m',
      severity: 'warning',
      symptom: 'Clients get 503 OVERLOADED.',
      cause: 'More requests than the CPU can take, or another program on the same cores.',
      command: 'set WORKERS, add a node, or cache in the proxy',
    },
  },
  {
    name: 'vitrine_connections',
    type: 'gauge',
    aggregator: 'sum',
    help: 'Open connections.',
    read: ({ openConnections }) => openConnections(),
  },
  {
    name: 'vitrine_connections_refused_total',
    type: 'counter',
    help: 'Connections closed because too many were open: the one idle longest, or else the new one.',
    read: ({ counts }) => counts.refusedConnections(),
    alert: {
      name: 'VitrineConnectionsRefused',
      expr: 'increase(vitrine_connections_refused_total[5m]) > 0',
      for: '0m',
      severity: 'warning',
      symptom: 'Connections are closed to make room.',
      cause: 'Too many are open: a flood, or a proxy that does not keep its connections.',
      command: 'ss -tn, then MAX_CONNECTIONS and ulimit -n',
    },
  },
];

/** Undefined, which is no sample, while the data cannot be read: zero would be a number that an alert believes. */
const ifKnown = <T>(read: () => Promise<T>): Promise<T | undefined> => read().catch(() => undefined);

const recordSamples = (counts: Counts): Sample[] =>
  Object.entries(counts).map(([kind, value]) => ({ labels: { kind }, value }));

const hostSamples = ({ store }: MetricsSources, of: (state: HostState) => number): Sample[] =>
  (store.hosts?.() ?? []).map((state) => ({ labels: { host: state.name }, value: of(state) }));

/** As Prometheus reads it. Its client takes long to load, so that comes with the first question. */
export async function createRegistry(sources: MetricsSources): Promise<Registry> {
  const { collectDefaultMetrics, Registry } = await import('@prometheus-io/client');
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const metric of METRICS) {
    const { name, type, help, read } = metric;
    const { aggregator = type === 'gauge' ? 'max' : 'sum' } = metric;
    if (read === undefined) continue;
    const get = async () => ({ name, type, help, aggregator, values: await readSamples(read, sources) });
    // biome-ignore lint/suspicious/noExplicitAny: a metric is anything that has `get`, but its type is a class
    registry.registerMetric({ name, type, help, aggregator, get } as any);
  }
  return registry;
}

async function readSamples(read: NonNullable<Metric['read']>, sources: MetricsSources) {
  const value = await read(sources);
  if (value === undefined) return [];
  return typeof value === 'number' ? [{ labels: {}, value }] : value;
}
