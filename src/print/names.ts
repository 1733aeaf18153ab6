// The names of everything that `vitrine print` can print.
export const TEXT_NAMES = [
  'nginx',
  'caddy',
  'haproxy',
  'varnish',
  'compose',
  'kubernetes',
  'systemd',
  'prometheus-rules',
  'grafana-dashboard',
] as const;

export type TextName = (typeof TEXT_NAMES)[number];
