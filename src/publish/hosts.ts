// The hosts that a site can be published for.
import { apache } from './apache.ts';
import { caddy } from './caddy.ts';
import { nginx } from './nginx.ts';
import { cloudflare, netlify, vercel } from './program.ts';
import { s3 } from './s3.ts';
import type { Site } from './tables.ts';

interface Host {
  /** The names of its configuration's files, which lie beside the site's. */
  readonly files: readonly string[];
  /** The texts of these files. */
  readonly write: (site: Site) => readonly string[];
  /** Whether it compresses answers itself. */
  readonly compresses: boolean;
}

export const HOSTS = {
  nginx: { files: ['nginx.conf'], write: (site) => [nginx(site)], compresses: false },
  caddy: { files: ['Caddyfile'], write: (site) => [caddy(site)], compresses: false },
  apache: { files: ['apache.conf'], write: (site) => [apache(site)], compresses: false },
  cloudflare: { files: ['wrangler.json', 'worker.js'], write: cloudflare, compresses: true },
  netlify: { files: ['netlify.toml', 'edge-functions/vitrine.js'], write: netlify, compresses: true },
  vercel: { files: ['vercel.json', 'middleware.js'], write: vercel, compresses: true },
  s3: { files: ['request.js', 'response.js', 'upload.sh'], write: s3, compresses: true },
} as const satisfies Record<string, Host>;

export type HostName = keyof typeof HOSTS;
