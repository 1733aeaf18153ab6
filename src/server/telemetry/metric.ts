// What a metric is: its samples for Prometheus, and its alert.

import type { Aggregator } from '@prometheus-io/client';
import { type Observation, type Operation, PROBE, type ResponseEvent } from '../../api/http/observations.ts';
import { isUnreadable } from '../../stores/errors.ts';
import type { Awaitable, Reader } from '../../stores/reader.ts';
import type { ResponseTotals } from './data-faults.ts';
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

// Counts what is observed, in plain numbers and arrays, since every request pays for it.

/** Seconds. A lookup takes tens of microseconds, on a cold disk milliseconds. */
const BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

export type RequestCounts = ReturnType<typeof createCounts>;

/** Requests by operation and status, and how long they took; refused requests and connections. */
export function createCounts() {
  const tallies = new Map<Operation, { statuses: Map<number, number>; buckets: Float64Array; sum: number }>();
  const refused = { overload: 0, rate: 0 };
  let refusedConnections = 0;
  let dataFaults = 0;

  function add({ operation, status }: ResponseEvent, seconds: number): void {
    let tally = tallies.get(operation);
    if (tally === undefined) {
      tally = { statuses: new Map(), buckets: new Float64Array(BUCKETS.length + 1), sum: 0 };
      tallies.set(operation, tally);
    }
    tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1);
    tally.sum += seconds;
    let bucket = 0;
    for (const limit of BUCKETS) {
      if (seconds <= limit) break;
      bucket++;
    }
    // There is one more than limits.
    (tally.buckets[bucket] as number)++;
  }

  return {
    tallies,
    refused,
    refusedConnections: () => refusedConnections,
    /** All but probes, and those that failed because the data could not be read. */
    totals(): ResponseTotals {
      let responses = 0;
      for (const [operation, { statuses }] of tallies)
        if (operation !== PROBE) for (const count of statuses.values()) responses += count;
      return { responses, dataFaults };
    },
    add,
    observe(event: Exclude<Observation, ResponseEvent>): void {
      if (event.type === 'request-failed' && isUnreadable(event.error)) dataFaults++;
      else if (event.type === 'request-refused') refused[event.reason]++;
      else if (event.type === 'connection-refused') refusedConnections++;
    },
  };
}

export const DURATION = 'vitrine_request_duration_seconds';

const operationLabels = ({ variant, name }: Operation) => ({ variant, operation: name });

export const requestSamples = ({ tallies }: RequestCounts): Sample[] =>
  [...tallies].flatMap(([operation, { statuses }]) =>
    [...statuses].map(([status, value]) => ({
      labels: { ...operationLabels(operation), status: String(status) },
      value,
    })),
  );

/** The client's own histogram observes each request one by one, which costs more than counting in arrays. */
export function durationSamples({ tallies }: RequestCounts): Sample[] {
  return [...tallies].flatMap(([operation, { buckets, sum }]) => {
    const labels = operationLabels(operation);
    let count = 0;
    const cumulated = [...buckets].map((value, index) => {
      count += value;
      const le = String(BUCKETS[index] ?? '+Inf');
      return { metricName: `${DURATION}_bucket`, labels: { ...labels, le }, value: count };
    });
    return [
      ...cumulated,
      { metricName: `${DURATION}_sum`, labels, value: sum },
      { metricName: `${DURATION}_count`, labels, value: count },
    ];
  });
}
