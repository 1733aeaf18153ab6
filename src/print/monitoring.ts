// `vitrine print prometheus-rules` and `vitrine print grafana-dashboard`: the alerts and panels of the table of metrics.
import type { Metric } from '../telemetry/metric.ts';
import { METRICS } from '../telemetry/metric-table.ts';

export function prometheusRules(): string {
  const rules = METRICS.flatMap(({ alert }) => (alert === undefined ? [] : [alert]));
  return `# Alerts for Vitrine. Save it as /etc/prometheus/vitrine.rules.yml, name it under \`rule_files\`, and scrape ADMIN_PORT as a
# job named vitrine:
#   scrape_configs:
#     - job_name: vitrine
#       static_configs: [{ targets: ["127.0.0.1:9090"] }]

groups:
  - name: vitrine
    rules:
${rules
  .map(
    ({ name, expr, for: lasting, severity, symptom, cause, command }) => `      - alert: ${name}
        expr: ${JSON.stringify(expr)}
        for: ${lasting}
        labels:
          severity: ${severity}
        annotations:
          summary: ${JSON.stringify(symptom)}
          description: ${JSON.stringify(`${cause} Next: ${command}.`)}
`,
  )
  .join('')}`;
}

const DATASOURCE = { type: 'prometheus', uid: `\${datasource}` };
/** Of Grafana's grid of 24 columns. */
const [WIDTH, HEIGHT, COLUMNS] = [8, 8, 3];

export function grafanaDashboard(): string {
  const panels = METRICS.filter(({ panel }) => panel !== undefined).map((metric, index) =>
    createPanel(metric, index),
  );
  const dashboard = {
    uid: 'vitrine',
    title: 'Vitrine',
    tags: ['vitrine'],
    schemaVersion: 39,
    editable: true,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    templating: {
      list: [{ name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' }],
    },
    panels,
  };
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}

function createPanel({ help, panel }: Metric, index: number) {
  return {
    id: index + 1,
    type: 'timeseries',
    title: panel?.title,
    description: help,
    datasource: DATASOURCE,
    gridPos: {
      x: (index % COLUMNS) * WIDTH,
      y: Math.floor(index / COLUMNS) * HEIGHT,
      w: WIDTH,
      h: HEIGHT,
    },
    fieldConfig: { defaults: { unit: panel?.unit ?? 'short', min: 0 }, overrides: [] },
    options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi' } },
    targets: [
      { refId: 'A', datasource: DATASOURCE, expr: panel?.expr, legendFormat: panel?.legend ?? panel?.title },
    ],
  };
}
