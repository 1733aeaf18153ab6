// Everything that `vitrine print` can print.
import { METRICS } from '../telemetry/metric-table.ts';
import { caddy } from './caddy.ts';
import { compose } from './compose.ts';
import type { Deployment } from './deployment.ts';
import { grafanaDashboard } from './grafana-dashboard.ts';
import { haproxy } from './haproxy.ts';
import { kubernetes } from './kubernetes.ts';
import type { TextName } from './names.ts';
import { nginx } from './nginx.ts';
import { prometheusRules } from './prometheus-rules.ts';
import { systemd } from './systemd.ts';
import { varnish } from './varnish.ts';

export const TEXTS: Record<TextName, (deployment: Deployment) => string> = {
  nginx,
  caddy,
  haproxy,
  varnish,
  compose,
  kubernetes,
  systemd,
  'prometheus-rules': () => prometheusRules(METRICS),
  'grafana-dashboard': () => grafanaDashboard(METRICS),
};
