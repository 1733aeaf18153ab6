// The types of the package's Fastify plugin; the build copies them beside it.

import type { FastifyPluginAsync } from 'fastify';

export interface VitrineOptions {
  /** The database, as in DATABASE_URL: a SQLite file or a postgres:// address. Vitrine's commands load it. */
  database: string;
  variant: 'a' | 'b' | 'c';
  /** Where the API is: what stands in place of the specification's `/api`, which is used without a prefix. */
  prefix?: string;
  /** Of answers; as in CACHE_CONTROL. */
  cacheControl?: string;
  /** Who may read from a browser; as in CORS_ORIGIN. */
  corsOrigin?: string;
  /** What takes the place of users who were taken down. */
  takedownStatus?: '404' | '410';
}

declare const vitrine: FastifyPluginAsync<VitrineOptions>;

export { vitrine };
