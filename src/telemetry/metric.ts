// What a metric is: its samples for Prometheus, its panel on the dashboard, its alert, its row in the guide.
import type { Aggregator } from '@prometheus-io/client';
import type { Awaitable, Reader } from '../stores/reader.ts';
import type { RequestCounts } from './counts.ts';

/** Where the values come from. */
export interface MetricsSources {
  readonly counts: RequestCounts;
  readonly openConnections: () => Promise<number>;
  readonly store: Pick<Reader, 'lastImport' | 'lastImportRun' | 'counts' | 'waiting' | 'hosts'>;
  /** Log lines that could not be written. */
  readonly droppedLines: () => number;
  /** Why requests cannot be answered; undefined when they can. */
  readonly unready: () => Awaitable<string | undefined>;
}

export interface Sample {
  /** Of a part of a histogram. */
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

interface Panel {
  readonly title: string;
  readonly expr: string;
  /** Grafana's name of the unit; a plain number without one. */
  readonly unit?: string;
  /** Grafana's template for the name of a line. */
  readonly legend?: string;
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
  readonly panel?: Panel;
  readonly alert?: Alert;
}
