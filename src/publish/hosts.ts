// The hosts that a site can be published for.
import { apache } from './apache.ts';
import { caddy } from './caddy.ts';
import { nginx } from './nginx.ts';
import type { Site } from './tables.ts';

interface Host {
  /** The name of its configuration, which lies beside the files. */
  readonly file: string;
  readonly write: (site: Site) => string;
}

export const HOSTS = {
  nginx: { file: 'nginx.conf', write: nginx },
  caddy: { file: 'Caddyfile', write: caddy },
  apache: { file: 'apache.conf', write: apache },
} as const satisfies Record<string, Host>;

export type HostName = keyof typeof HOSTS;
