// `vitrine print prometheus-rules`: the alerts of the table of metrics.
import { METRICS } from '../../server/telemetry/metric-table.ts';

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
