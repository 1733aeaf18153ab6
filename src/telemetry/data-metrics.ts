// Metrics of the data that is served, and of the databases it comes from.
import type { HostState } from '../stores/reader.ts';
import type { Metric, MetricsSources, Sample } from './metric.ts';

export const DATA_METRICS: readonly Metric[] = [
  {
    name: 'vitrine_ready',
    type: 'gauge',
    help: '1 while requests can be answered, as `/readyz` says; with several workers: while any of them can.',
    read: async ({ unready }) => ((await unready()) === undefined ? 1 : 0),
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
    read: ({ store }) => store.lastImportRun(),
    alert: {
      name: 'VitrineImportOverdue',
      expr: 'time() - vitrine_last_import_run_timestamp_seconds > 36 * 3600',
      for: '10m',
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
    read: async ({ store }) =>
      Object.entries(await store.counts()).map(([kind, value]) => ({ labels: { kind }, value })),
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
      expr: 'vitrine_postgres_lag_seconds > 0',
      for: '5m',
      severity: 'warning',
      symptom: 'A standby gets no lookups, since its data is older.',
      cause: 'Replication is slow or has stopped.',
      command: 'SELECT * FROM pg_stat_replication on the primary',
    },
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
];

const hostSamples = ({ store }: MetricsSources, of: (state: HostState) => number): Sample[] =>
  (store.hosts?.() ?? []).map((state) => ({ labels: { host: state.name }, value: of(state) }));
