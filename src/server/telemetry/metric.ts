// What a metric is: its samples for Prometheus, and its alert.

import type { Aggregator } from '@prometheus-io/client';
import type { Awaitable, Reader } from '../../stores/reader.ts';
import type { RequestCounts } from './request-counts.ts';
import type { Storage } from './storage.ts';

export interface MetricsSources {
  readonly counts: RequestCounts;
  readonly openConnections: () => number;
  readonly store: Pick<Reader, 'lastImport' | 'lastImportRun' | 'counts' | 'waiting' | 'hosts'>;
  readonly droppedLines: () => number;
  readonly storage: () => Storage;
  /** Why requests cannot be answered; undefined when they can. */
  readonly health: () => Awaitable<{ readonly unready?: string | undefined }>;
}

export interface Sample {
  /** Of a part of a histogram. */
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** When to wake an operator, and what they need to know. */
interface Alert {
  readonly name: string;
  readonly expr: string;
  /** How long it must last. */
  readonly for: string;
  readonly severity: 'critical' | 'warning';
  readonly symptom: string;
  readonly cause: string;
  readonly command: string;
}

export interface Metric {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /** How the values of several workers become one. By default the highest of gauges counts; others are added up. */
  readonly aggregator?: Aggregator;
  /** The value; undefined where there is none. Absent when Prometheus or its client makes the metric. */
  readonly read?: (sources: MetricsSources) => Awaitable<number | undefined | readonly Sample[]>;
  readonly alert?: Alert;
}
