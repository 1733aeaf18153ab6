// Where copies of pictures are: their folder, and the URL that they are served under.
import { type Config, publicOrigin, SETTINGS } from './config.ts';
import { isPostgresUrl } from './database-url.ts';

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

/** The URL of the sample users' pictures, as their records name them, with a slash at its end. */
export const findSamplesUrl = (config: Config) => `${serverUrl(config)}/samples/`;

/** The URL of the pictures in the folder of served files, with a slash at its end. */
export const findFilesUrl = (config: Config) => `${serverUrl(config)}/files/`;

/**
 * The address of this server, without a slash at its end, as far as the settings tell it. A port that the system is yet to
 * choose counts as the default.
 */
export function serverUrl(config: Config): string {
  const { host } = config;
  const port = config.port || SETTINGS.port.fallback;
  const isAddress = !host.startsWith('/') && host !== '::' && host !== '0.0.0.0';
  const name = isAddress ? (host.includes(':') ? `[${host}]` : host) : 'localhost';
  return publicOrigin(config) ?? new URL(`http://${name}:${port}`).origin;
}
