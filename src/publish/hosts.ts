// The hosts that a site can be published for.
import { apache } from './apache.ts';
import { caddy } from './caddy.ts';
import { nginx } from './nginx.ts';
import { cloudflare, netlify, vercel } from './program.ts';
import { s3 } from './s3.ts';
import type { Site } from './tables.ts';

interface Host {
  /** The texts of its configuration's files, by their names; they lie beside the site's. */
  readonly write: (site: Site) => Readonly<Record<string, string>>;
  /** Whether it compresses answers itself. */
  readonly compresses: boolean;
}

export const HOSTS = {
  nginx: { write: (site) => ({ 'nginx.conf': nginx(site) }), compresses: false },
  caddy: { write: (site) => ({ Caddyfile: caddy(site) }), compresses: false },
  apache: { write: (site) => ({ 'apache.conf': apache(site) }), compresses: false },
  cloudflare: { write: cloudflare, compresses: true },
  netlify: { write: netlify, compresses: true },
  vercel: { write: vercel, compresses: true },
  s3: { write: s3, compresses: true },
} as const satisfies Record<string, Host>;

export type HostName = keyof typeof HOSTS;
