// The settings of copies, as the commands take them.
import { ConfigError, readConfig, type SettingName } from '../config/config.ts';
import { mediaDirOf, mediaUrlOf } from '../config/media.ts';
import { openForExport } from '../stores/open.ts';
import { databaseOf, type SettingFlags } from './options.ts';
import type { Surroundings } from './surroundings.ts';

export const MEDIA_SETTINGS: readonly SettingName[] = [
  'databaseUrl',
  'databaseUrlFile',
  'mediaDir',
  'mediaUrl',
];

export interface MediaPlace {
  readonly database: string;
  readonly mediaDir: string;
  /** What MEDIA_URL or its default says. */
  readonly mediaUrl: string;
  /** Whether MEDIA_URL is set. */
  readonly isUrlSet: boolean;
}

export function mediaPlaceOf(
  { databaseUrl, databaseUrlFile, mediaDir: dir, mediaUrl: url }: SettingFlags,
  around: Surroundings,
): MediaPlace {
  const flags = { databaseUrl, databaseUrlFile, mediaDir: dir, mediaUrl: url };
  const database = databaseOf(flags, around);
  const config = readConfig(flags, around.environment);
  const mediaDir = mediaDirOf(config);
  if (mediaDir === undefined)
    throw new ConfigError(['with PostgreSQL, name the folder of copies: set MEDIA_DIR or give --media-dir']);
  return { database, mediaDir, mediaUrl: mediaUrlOf(config), isUrlSet: config.mediaUrl !== undefined };
}

/** The URL to link with: unless one is set, that of the last time, which may have been set elsewhere. */
export async function linkingUrl({ database, mediaUrl, isUrlSet }: MediaPlace): Promise<string> {
  if (isUrlSet) return mediaUrl;
  const archive = await openForExport(database);
  try {
    return (await archive.mediaUrl()) ?? mediaUrl;
  } finally {
    await archive.close();
  }
}
