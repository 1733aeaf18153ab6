// Where copies of pictures are: their folder, and the URL that they are served under.
import { publicOrigin } from './addresses.ts';
import { isPostgresUrl } from './database-url.ts';
import type { Config } from './settings.ts';

/** The folder; undefined with PostgreSQL if none is set, and for the sample users. */
export function findMediaFolder({ databaseUrl, mediaDir }: Pick<Config, 'databaseUrl' | 'mediaDir'>) {
  if (databaseUrl === undefined) return undefined;
  return mediaDir ?? (isPostgresUrl(databaseUrl) ? undefined : `${databaseUrl}.media`);
}

/** Origins of pictures on our pages: what IMAGE_HOSTS allows, and where copies are. The sample users have none. */
export function listPictureOrigins(config: Config): Config['imageHosts'] {
  const { imageHosts, databaseUrl } = config;
  if (imageHosts === '*' || databaseUrl === undefined) return imageHosts;
  return [...new Set([...imageHosts, new URL(findMediaUrl(config)).origin])];
}

/** The URL, without a slash at its end. */
export function findMediaUrl(config: Config): string {
  if (config.mediaUrl !== undefined) return config.mediaUrl;
  return new URL('/media', publicOrigin(config) ?? `http://localhost:${config.port}`).href;
}
