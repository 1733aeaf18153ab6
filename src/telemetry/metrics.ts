// What happened, in numbers, put into Prometheus' words when it asks.
import { collectDefaultMetrics, Registry } from '@prometheus-io/client';
import type { Answers } from '../http/answer-cache.ts';
import type { Reader } from '../stores/store.ts';
import type { Operation } from './operations.ts';
import { BUCKETS, type RequestCounts } from './request-counts.ts';

export interface MetricsSources {
  readonly requests: RequestCounts;
  readonly answers: Answers<Operation>;
  readonly store: Pick<Reader, 'version' | 'counts' | 'events'>;
}

interface Sample {
  readonly labels?: Record<string, string>;
  readonly value: number;
  readonly metricName?: string;
}

export function createRegistry({ requests, answers, store }: MetricsSources): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const add = (
    name: string,
    type: 'counter' | 'gauge' | 'histogram',
    help: string,
    get: () => Sample[] | Promise<Sample[]>,
    aggregator = 'sum',
  ) => {
    // The client asks a metric for its values when it is scraped, and wants no more of it than this.
    const metric = {
      name,
      type,
      help,
      aggregator,
      get: async () => ({ name, type, help, aggregator, values: await get() }),
    };
    registry.registerMetric(metric as never);
  };
  const figure = (value: () => number) => () => [{ labels: {}, value: value() }];
  const { figures } = answers;

  add('vitrine_requests_total', 'counter', 'Requests, by variant, operation and status.', () =>
    requestSamples(requests),
  );
  add(
    'vitrine_request_duration_seconds',
    'histogram',
    "From a request's headers to its answer being handed over.",
    () => durationSamples(requests),
  );
  add('vitrine_answers', 'gauge', 'Ready answers kept.', figure(answers.count));
  add(
    'vitrine_answers_bytes',
    'gauge',
    'Memory that ready answers take.',
    figure(() => figures.bytes),
  );
  add(
    'vitrine_answers_hits_total',
    'counter',
    'Answers that were ready.',
    figure(() => figures.hits),
  );
  add(
    'vitrine_answers_misses_total',
    'counter',
    'Answers that had to be read.',
    figure(() => figures.misses),
  );
  add(
    'vitrine_answers_evictions_total',
    'counter',
    'Answers that made room for others.',
    figure(() => figures.evictions),
  );
  add('vitrine_store_version', 'gauge', 'Moves when the data does.', figure(store.version), 'max');
  add(
    'vitrine_store_swaps_total',
    'counter',
    'Database files put in place of the one before.',
    figure(() => store.events.swaps),
    'max',
  );
  add(
    'vitrine_store_refusals_total',
    'counter',
    'Database files refused because they are not fit to be served.',
    figure(() => store.events.refusals),
    'max',
  );
  add(
    'vitrine_records',
    'gauge',
    'Records, by kind.',
    async () => recordSamples(await store.counts()),
    'first',
  );
  return registry;
}

const labelsOf = ({ variant, name }: Operation) => ({ variant, operation: name });

function requestSamples({ tallies }: RequestCounts): Sample[] {
  return [...tallies].flatMap(([operation, { statuses }]) =>
    [...statuses].map(([status, value]) => ({
      labels: { ...labelsOf(operation), status: String(status) },
      value,
    })),
  );
}

function durationSamples({ tallies }: RequestCounts): Sample[] {
  const name = 'vitrine_request_duration_seconds';
  return [...tallies].flatMap(([operation, { buckets, sum }]) => {
    const labels = labelsOf(operation);
    let count = 0;
    const cumulated = [...buckets].map((value, index) => {
      count += value;
      return {
        metricName: `${name}_bucket`,
        labels: { ...labels, le: String(BUCKETS[index] ?? '+Inf') },
        value: count,
      };
    });
    return [
      ...cumulated,
      { metricName: `${name}_sum`, labels, value: sum },
      { metricName: `${name}_count`, labels, value: count },
    ];
  });
}

const recordSamples = (counts: Record<string, number>): Sample[] =>
  Object.entries(counts).map(([kind, value]) => ({ labels: { kind }, value }));
