// Metrics of requests and connections.
import type { Operation } from '../http/observations.ts';
import { BUCKETS, type Metric, type RequestCounts, type Sample } from './metric.ts';

const DURATION = 'vitrine_request_duration_seconds';

export const REQUEST_METRICS: readonly Metric[] = [
  {
    name: 'vitrine_requests_total',
    type: 'counter',
    help: 'Requests, by variant, operation and status.',
    read: ({ counts }) => requestSamples(counts),
    alert: {
      name: 'VitrineErrors',
      expr: 'sum by (job, instance) (rate(vitrine_requests_total{status=~"5..",operation!="probe"}[5m])) > 0.01 * sum by (job, instance) (rate(vitrine_requests_total{operation!="probe"}[5m]))',
      for: '5m',
      severity: 'critical',
      symptom: 'More than 1% of the requests get a 5xx.',
      cause: 'The data cannot be read, the server is overloaded, or there is a fault in Vitrine.',
      command: 'grep \'"msg":"request failed"\' in the log',
    },
  },
  {
    name: DURATION,
    type: 'histogram',
    help: 'From the arrival of a request to its answer being handed to Node.',
    read: ({ counts }) => durationSamples(counts),
    alert: {
      name: 'VitrineSlow',
      expr: `histogram_quantile(0.99, sum by (job, instance, le) (rate(${DURATION}_bucket{operation=~"profile|items"}[5m]))) > 0.25`,
      for: '10m',
      severity: 'warning',
      symptom: '1% of the lookups take longer than 250 ms.',
      cause: 'A slow disk, a slow PostgreSQL, or too little CPU.',
      command: 'grep \'"msg":"slow request"\' in the log',
    },
  },
  {
    name: 'vitrine_refused_requests_total',
    type: 'counter',
    help: 'Requests refused, by reason: overload (503) or rate (429, RATE_LIMIT).',
    read: ({ counts }) =>
      Object.entries(counts.refused).map(([reason, value]) => ({ labels: { reason }, value })),
    alert: {
      name: 'VitrineOverloaded',
      expr: 'rate(vitrine_refused_requests_total{reason="overload"}[5m]) > 0',
      for: '5m',
      severity: 'warning',
      symptom: 'Clients get 503 OVERLOADED.',
      cause: 'More requests than the CPU can take, or another program on the same cores.',
      command: 'set WORKERS, add a node, or cache in the proxy',
    },
  },
  {
    name: 'vitrine_connections',
    type: 'gauge',
    aggregator: 'sum',
    help: 'Open connections.',
    read: ({ openConnections }) => openConnections(),
  },
  {
    name: 'vitrine_connections_refused_total',
    type: 'counter',
    help: 'Connections closed because too many were open: the one idle longest, or else the new one.',
    read: ({ counts }) => counts.refusedConnections(),
    alert: {
      name: 'VitrineConnectionsRefused',
      expr: 'increase(vitrine_connections_refused_total[5m]) > 0',
      for: '0m',
      severity: 'warning',
      symptom: 'Connections are closed to make room.',
      cause: 'Too many are open: a flood, or a proxy that does not keep its connections.',
      command: 'ss -tn, then MAX_CONNECTIONS and ulimit -n',
    },
  },
];

const operationLabels = ({ variant, name }: Operation) => ({ variant, operation: name });

const requestSamples = ({ tallies }: RequestCounts): Sample[] =>
  [...tallies].flatMap(([operation, { statuses }]) =>
    [...statuses].map(([status, value]) => ({
      labels: { ...operationLabels(operation), status: String(status) },
      value,
    })),
  );

/** The client's own histogram observes each request one by one, which costs more than counting in arrays. */
function durationSamples({ tallies }: RequestCounts): Sample[] {
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
