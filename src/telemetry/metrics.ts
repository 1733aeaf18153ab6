// The metrics, read when Prometheus asks for them.
import { type Aggregator, Counter, collectDefaultMetrics, Gauge, Registry } from '@prometheus-io/client';
import type { AnswerCache } from '../http/answer-cache.ts';
import type { Operation } from '../http/operations.ts';
import type { Reader } from '../stores/store.ts';
import type { ConnectionLog } from './connection-log.ts';
import { BUCKETS, type RequestCounts } from './request-counts.ts';

export interface MetricsSources {
  readonly counts: RequestCounts;
  readonly connections: ConnectionLog;
  readonly cache: Pick<AnswerCache<{ body: Buffer }>, 'figures' | 'count' | 'bytes'>;
  readonly store: Pick<Reader, 'version' | 'counts' | 'events' | 'waiting'>;
  readonly droppedLines: () => number;
}

export function createRegistry(sources: MetricsSources): Registry {
  const { counts, connections, cache, store, droppedLines } = sources;
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const counter = (name: string, help: string, read: () => number, aggregator: Aggregator = 'sum') =>
    new Counter({
      ...{ name, help, aggregator, registers: [registry] },
      collect() {
        this.reset();
        this.inc(read());
      },
    });
  const gauge = (name: string, help: string, read: () => number, aggregator: Aggregator = 'sum') =>
    new Gauge({
      ...{ name, help, aggregator, registers: [registry] },
      collect() {
        this.set(read());
      },
    });

  addRequestMetrics(registry, counts);
  counter(
    'vitrine_connections_refused_total',
    'Connections closed at once because too many were open.',
    connections.refused.total,
  );
  counter(
    'vitrine_connections_stalled_total',
    'Connections ended because the client did not read.',
    connections.stalled.total,
  );
  gauge('vitrine_answers', 'Answers in memory.', cache.count);
  gauge('vitrine_answers_bytes', 'Memory that they take.', cache.bytes);
  counter('vitrine_answers_hits_total', 'Answers found in memory.', () => cache.figures.hits);
  counter('vitrine_answers_misses_total', 'Answers read from the store.', () => cache.figures.misses);
  counter('vitrine_answers_evictions_total', 'Answers evicted for others.', () => cache.figures.evictions);
  gauge('vitrine_store_version', 'Changes when the data does.', store.version, 'max');
  counter('vitrine_store_swaps_total', 'Database files put into service.', () => store.events.swaps, 'max');
  counter(
    'vitrine_store_refusals_total',
    'Database files refused because they cannot be served.',
    () => store.events.refusals,
    'max',
  );
  gauge(
    'vitrine_store_waiting',
    '1 while a newer database file waits because it was refused.',
    () => (store.waiting?.() === undefined ? 0 : 1),
    'max',
  );
  counter(
    'vitrine_log_lines_dropped_total',
    'Log lines dropped because the log could not be written.',
    droppedLines,
  );
  new Gauge({
    ...{ name: 'vitrine_records', help: 'Records, by kind.', labelNames: ['kind'] },
    ...{ aggregator: 'first', registers: [registry] },
    async collect() {
      for (const [kind, count] of Object.entries(await store.counts())) this.set({ kind }, count);
    },
  });
  return registry;
}

const labelsOf = ({ variant, name }: Operation) => ({ variant, operation: name });

function addRequestMetrics(registry: Registry, { tallies }: RequestCounts): void {
  new Counter({
    name: 'vitrine_requests_total',
    help: 'Requests, by variant, operation and status.',
    labelNames: ['variant', 'operation', 'status'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [operation, { statuses }] of tallies)
        for (const [status, count] of statuses)
          this.inc({ ...labelsOf(operation), status: String(status) }, count);
    },
  });
  // The client's own histogram observes each request one by one, which costs more than counting in arrays.
  const [name, type] = ['vitrine_request_duration_seconds', 'histogram'];
  const help = 'From the arrival of a request to its answer being handed to Node.';
  const aggregator = 'sum';
  const get = async () => ({ name, type, help, aggregator, values: durationSamples(name, tallies) });
  // biome-ignore lint/suspicious/noExplicitAny: a metric is anything that has `get`, but its type is a class
  registry.registerMetric({ name, type, help, aggregator, get } as any);
}

function durationSamples(name: string, tallies: RequestCounts['tallies']) {
  return [...tallies].flatMap(([operation, { buckets, sum }]) => {
    const labels = labelsOf(operation);
    let count = 0;
    const cumulated = [...buckets].map((value, index) => {
      count += value;
      const le = String(BUCKETS[index] ?? '+Inf');
      return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: count };
    });
    return [
      ...cumulated,
      { metricName: `${name}_sum`, labels, value: sum },
      { metricName: `${name}_count`, labels, value: count },
    ];
  });
}
