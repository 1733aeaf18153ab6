// Where a site can be published: web servers, and services that run a small program.
import { caddy } from './caddy.ts';
import type { PlatformName } from './choices.ts';
import { nginx } from './nginx.ts';
import { cloudflare, netlify } from './program.ts';
import type { ConfigInput } from './tables.ts';

export interface Limits {
  readonly files: number;
  readonly bytesOfFile: number;
}

interface Platform {
  /** The texts of its configuration's files, by their names; they lie beside the site's. */
  readonly write: (input: ConfigInput) => Readonly<Record<string, string>>;
  /** Whether it compresses answers itself. */
  readonly compresses: boolean;
  /** What it takes at most. */
  readonly limits?: Limits;
}

export const PLATFORMS: Readonly<Record<PlatformName, Platform>> = {
  nginx: { write: (input) => ({ 'nginx.conf': nginx(input) }), compresses: false },
  caddy: { write: (input) => ({ Caddyfile: caddy(input) }), compresses: false },
  // developers.cloudflare.com/workers/platform/limits, "Static Assets": of one version of a Worker, on a paid plan.
  cloudflare: {
    write: cloudflare,
    compresses: true,
    limits: { files: 100_000, bytesOfFile: 25 * 2 ** 20 },
  },
  netlify: { write: netlify, compresses: true },
};
