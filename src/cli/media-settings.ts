// The settings of copies, as the commands take them.
import { ConfigError, readConfig, type SettingName } from '../config/config.ts';
import { mediaUrlOf } from '../config/media.ts';
import { openForExport } from '../stores/open.ts';
import type { CommandContext } from './context.ts';
import { databaseOf, mediaDirFor, type SettingFlags } from './options.ts';

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

export function mediaPlaceOf(flags: SettingFlags, context: CommandContext): MediaPlace {
  const database = databaseOf(flags, context);
  const mediaDir = mediaDirFor(database, flags, context);
  if (mediaDir === undefined)
    throw new ConfigError(['with PostgreSQL, name the folder of copies: set MEDIA_DIR or give --media-dir']);
  const config = readConfig({ mediaUrl: flags.mediaUrl }, context.environment);
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
