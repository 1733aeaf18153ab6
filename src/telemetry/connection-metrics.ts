// Metrics of connections.
import type { Metric } from './metric.ts';

export const CONNECTION_METRICS: readonly Metric[] = [
  {
    name: 'vitrine_connections',
    type: 'gauge',
    help: 'Open connections.',
    read: ({ openConnections }) => openConnections(),
    panel: {
      title: 'Open connections',
      expr: 'sum by (instance) (vitrine_connections)',
      unit: 'short',
      legend: '{{instance}}',
    },
  },
  {
    name: 'vitrine_connections_refused_total',
    type: 'counter',
    help: 'Connections closed because too many were open: the one idle longest, or else the new one.',
    read: ({ counts }) => counts.connections.refused,
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
  {
    name: 'vitrine_connections_stalled_total',
    type: 'counter',
    help: 'Connections ended because the client did not read.',
    read: ({ counts }) => counts.connections.stalled,
  },
];
