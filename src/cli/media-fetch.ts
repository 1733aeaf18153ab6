// `vitrine media fetch`, and what it shares with the other commands for copies of pictures.
import { type Command, Option } from 'commander';
import { readConfig } from '../config/config.ts';
import { findMediaUrl } from '../config/media.ts';
import { bytes, ConfigError } from '../config/setting-values.ts';
import type { Config, SettingName } from '../config/settings.ts';
import { openArchive } from '../stores/open.ts';
import type { Writer } from '../stores/writer.ts';
import type { FetchOptions } from '../tools/media/fetch.ts';
import { openNotifying } from '../tools/notify/notifying.ts';
import type { HostFlags } from '../tools/remote/host.ts';
import type { CommandContext } from './context.ts';
import {
  addPaceOptions,
  chooseDatabase,
  chooseMediaDir,
  createCommand,
  examples,
  host,
  type SettingFlags,
  settingArgument,
  settingArguments,
} from './options.ts';

export const MEDIA_SETTINGS: readonly SettingName[] = [
  'databaseUrl',
  'databaseUrlFile',
  'mediaDir',
  'mediaUrl',
];

interface MediaPlace {
  readonly database: string;
  readonly mediaDir: string;
  readonly config: Config;
}

export function findMediaPlace(flags: SettingFlags, context: CommandContext): MediaPlace {
  const database = chooseDatabase(flags, context);
  const mediaDir = chooseMediaDir(database, flags, context);
  if (mediaDir === undefined)
    throw new ConfigError(['with PostgreSQL, name the folder of copies: set MEDIA_DIR or give --media-dir']);
  const config = readConfig({ mediaUrl: flags.mediaUrl }, context.environment, ['notify']);
  return { database, mediaDir, config };
}

/** The URL to link with: unless one is set, that of the last time, which may have been set elsewhere. */
export async function linkingUrl({ database, config }: MediaPlace): Promise<string> {
  await using archive = await openArchive(database);
  return config.mediaUrl ?? (await archive.mediaUrl()) ?? findMediaUrl(config);
}

/** The flags as they are given. */
export interface MediaFlags
  extends HostFlags,
    Pick<FetchOptions, 'files' | 'mediaQuota'>,
    Partial<Pick<FetchOptions, 'mediaHosts' | 'maxFile' | 'check'>> {}

const MEGABYTE = 2 ** 20;
const GIGABYTE = 2 ** 30;
const MAX_FILE = 20 * MEGABYTE;
/** Audio and attachments are longer than pictures. */
const MAX_FILE_OF_ANY_KIND = 200 * MEGABYTE;

const HELP = `
Records keep the original addresses. Responses name the copy, under MEDIA_URL, where there is one. If MEDIA_URL is not
set, copies keep the address that they had last. Only hosts that --media-hosts names are asked, also after a redirect.
They must have public IP addresses. To allow a private host, name its IP address. A file must be a picture by its
content (JPEG, PNG, GIF, WebP, AVIF or SVG). With --files it may also be MP3, MP4 or PDF.
The same command resumes an interrupted run, and tries again what failed before. It looks only at users that changed
since the last run. Use --check after files were lost, or if \`vitrine media check\` found some missing. The exit code
is 1 if the run stopped early, or if no host may be asked. It is also 1 if a picture failed for another reason than
status 404 or 410, or a host that is not named.
${examples('vitrine media fetch --media-hosts old.example.org cdn.example.org', 'vitrine media fetch --media-hosts old.example.org --files --media-quota 50G --rate 5')}`;

const RESULT =
  '`originals` (`fetched`, `present`, `gone`, `notNamed`, `failed`), `total`, `mediaUrl`, `relinked`, `shrunk` (pictures that got small ones), and `stopped` (why it stopped early)';

export const mediaFetchCommand = (context: CommandContext): Command =>
  addMediaOptions(
    addPaceOptions(
      createCommand('fetch', RESULT, MEDIA_SETTINGS).description('copy the pictures that records name'),
    ),
  )
    .option('--check', 'look at all records and files again, and fetch lost copies', false)
    .addHelpText('after', HELP)
    .action(async (flags: MediaFlags & SettingFlags) => {
      const place = findMediaPlace(flags, context);
      await using writer = await openNotifying(place.database, context, { mustExist: true });
      const run = { sites: [], writer, signal: context.stopSignal() };
      context.report(await fetchMedia(place, flags, run, context));
    });

/** What is copied, for commands that fetch copies. */
export const addMediaOptions = (command: Command) =>
  command
    .option(
      '--media-hosts <host...>',
      'hosts that pictures may be fetched from, as HOST or HOST:PORT',
      settingArguments('--media-hosts', host),
    )
    .option('--files', 'copy attachments and audio as well', false)
    .option(
      '--max-file <bytes>',
      'largest file to copy (default: 20M, with --files 200M)',
      settingArgument('--max-file', bytes),
    )
    .addOption(
      new Option('--media-quota <bytes>', 'how much the folder may hold')
        .argParser(settingArgument('--media-quota', bytes))
        .default(10 * GIGABYTE, '10G'),
    );

/** Fetches copies with the flags of a command. */
export async function fetchMedia(
  place: MediaPlace,
  flags: MediaFlags,
  run: Pick<FetchOptions, 'sites' | 'signal'> & { readonly writer: Writer },
  { stderr, endBySignal }: CommandContext,
) {
  const { runFetch } = await import('../tools/media/fetch.ts');
  return await runFetch({
    ...flags,
    ...run,
    check: flags.check ?? false,
    mediaHosts: flags.mediaHosts ?? [],
    maxFile: flags.maxFile ?? (flags.files ? MAX_FILE_OF_ANY_KIND : MAX_FILE),
    mediaDir: place.mediaDir,
    mediaUrl: await linkingUrl(place),
    database: place.database,
    out: stderr,
    onLinking: endBySignal,
  });
}
