// Every metric, one row each. The metrics, the guide's lists, the alert rules and the dashboard are made from this table.
import { DATA_METRICS } from './data-metrics.ts';
import type { Metric } from './metric.ts';
import { PROCESS_METRICS } from './process-metrics.ts';
import { REQUEST_METRICS } from './request-metrics.ts';

export const METRICS: readonly Metric[] = [...PROCESS_METRICS, ...DATA_METRICS, ...REQUEST_METRICS];
