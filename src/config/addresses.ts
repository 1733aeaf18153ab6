// The addresses of this server, as far as the settings tell them.
import { type Config, listMounts, SETTINGS } from './settings.ts';

/** Scheme and host of the first base URL that names a host. */
export const publicOrigin = (config: Config): string | undefined =>
  listMounts(config).find(({ base }) => base.origin !== undefined)?.base.origin;

/** The URL of the sample users' pictures, as their records name them, with a slash at its end. */
export const findSamplesUrl = (config: Config) => `${serverUrl(config)}/samples/`;

/** The URL of the pictures in the folder of served files, with a slash at its end. */
export const findFilesUrl = (config: Config) => `${serverUrl(config)}/files/`;

/**
 * The address of this server, without a slash at its end, as far as the settings tell it. A port that the system is yet to
 * choose counts as the default.
 */
export function serverUrl(config: Config): string {
  const port = config.port || SETTINGS.port.defaultText;
  return publicOrigin(config) ?? new URL(`http://${hostName(config)}:${port}`).origin;
}

function hostName({ host }: Config): string {
  if (host.startsWith('/') || host === '::' || host === '0.0.0.0') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}

/** Where published files say that they are such, and for which host. A server has nothing there. */
export const PUBLISHED = '/published.json';
