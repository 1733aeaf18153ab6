// What is counted of requests, as Prometheus wants it.

import type { Operation } from '../../api/http/observations.ts';
import type { Sample } from './metric.ts';
import { BUCKETS, type RequestCounts } from './request-counts.ts';

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
