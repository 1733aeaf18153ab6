// Every metric, one row each: those of the process stand here. The metrics, the guide's lists and the alert rules
// are made from this table. Rows without a reader come from Prometheus and its client.
import { VERSION } from '../package-files.ts';
import { DATA_METRICS } from './data-metrics.ts';
import type { Metric } from './metric.ts';
import { REQUEST_METRICS } from './request-metrics.ts';

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
  ...DATA_METRICS,
  ...REQUEST_METRICS,
];
