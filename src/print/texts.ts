// Everything that `vitrine print` can print.
import { caddy } from './caddy.ts';
import { compose } from './compose.ts';
import type { Deployment } from './deployment.ts';
import { haproxy } from './haproxy.ts';
import { kubernetes, kubernetesSnapshots } from './kubernetes.ts';
import { grafanaDashboard, prometheusRules } from './monitoring.ts';
import { nginx } from './nginx.ts';
import { systemd, systemdTimers } from './systemd.ts';
import { varnish } from './varnish.ts';

export const TEXTS = {
  nginx,
  caddy,
  haproxy,
  varnish,
  compose,
  kubernetes,
  'kubernetes-snapshots': kubernetesSnapshots,
  systemd,
  'systemd-timers': systemdTimers,
  'prometheus-rules': prometheusRules,
  'grafana-dashboard': grafanaDashboard,
} satisfies Record<string, (deployment: Deployment) => string>;

export type TextName = keyof typeof TEXTS;
export const TEXT_NAMES = Object.keys(TEXTS) as TextName[];
