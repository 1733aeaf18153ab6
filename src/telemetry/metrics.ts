// The metrics as Prometheus reads them: the table's rows, and those of the client itself.
import { collectDefaultMetrics, Registry } from '@prometheus-io/client';
import type { Metric, MetricsSources } from './metric.ts';
import { METRICS } from './metric-table.ts';

export function createRegistry(sources: MetricsSources): Registry {
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
