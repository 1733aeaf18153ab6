// `vitrine mirror`
import { type Command, Option } from 'commander';
import { isPostgresUrl } from '../config/database-url.ts';
import { joinReasons, shellWord } from '../records/printable.ts';
import { CommandFailed, explain, UsageError } from '../stores/command-errors.ts';
import { openArchive, openReader } from '../stores/open.ts';
import type { MirrorOptions } from '../tools/mirror/context.ts';
import { openNotifying } from '../tools/notify/notifying.ts';
import type { CommandContext } from './context.ts';
import {
  addMediaOptions,
  fetchMedia,
  findMediaPlace,
  MEDIA_SETTINGS,
  type MediaFlags,
} from './media-fetch.ts';
import {
  addPaceOptions,
  baseUrlArgument,
  chooseDatabase,
  chooseUsers,
  createCommand,
  examples,
  forReport,
  lenientOption,
  maxRemovedOption,
  type SettingFlags,
  type UserFlags,
  unescapeOption,
  variantOption,
} from './options.ts';

const HELP = `
A site lists the newest 15 items of a user, so older items cannot be copied. Import them from its database.

Each user is copied completely or left unchanged. Items that the site no longer lists are kept. The rate rises up to
--rate while the site responds. It halves when requests time out or get 429, 502, 503 or 504.
The mirror refuses users and items that are here, but that it did not import. Give a second site its own database
(--database-url). After the state file was lost, take over users of this site with --adopt. The next run asks for
changes only. An interrupted run is resumed. The exit code is 1 if a user failed or was refused, or if the site knows
none of the users.

With --media, the pictures of all records are copied as well, as \`vitrine media fetch\` does. They come from the site's
own host, and from hosts that --media-hosts names. Without --media, the options about copies have no effect.
${examples('vitrine mirror --variant b --from https://example.org/b --user ada nikos', 'vitrine mirror --variant b --from https://example.org/b --users names.txt --media --media-hosts cdn.example.org', 'vitrine mirror --variant a --from https://example.org --users names.txt --prune')}`;

const RESULT =
  '`users` (`found`, `unchanged`, `unknown`, `failed`, `refused`, `takenDown`, `skipped`, `pruned`, `fullLists`), `emptied`, `unescaped`, `imported`, `media`, as of `media fetch`';

export const command = (context: CommandContext): Command =>
  addMediaOptions(
    addPaceOptions(
      createCommand('mirror', RESULT, MEDIA_SETTINGS)
        .addOption(variantOption().makeOptionMandatory())
        .addOption(
          new Option('--from <url>', "the variant's base URL there")
            .argParser(baseUrlArgument)
            .makeOptionMandatory(),
        )
        .option('--user <name...>', 'users to copy')
        .option('--users <file>', 'a file of user names, one a line; - is standard input')
        .option(
          '--prune',
          'remove users that this mirror imported and the site does not know any more',
          false,
        )
        .addOption(maxRemovedOption('--prune'))
        .option('--adopt', 'take over users who are here under the same name and id', false)
        .option(
          '--state <file>',
          'file that remembers which users were imported (default: beside the database)',
        )
        .option(
          '--failed <file>',
          'write the users that failed or were refused to another file, to be used as --users later',
        )
        .addOption(lenientOption())
        .addOption(unescapeOption()),
    ).option('--media', 'copy the pictures that records name as well', false),
  )
    .addHelpText('after', HELP)
    .action((flags: MirrorFlags) => runMirror(flags, context));

/** The compare command to offer after a complete run. */
function offerComparison(
  { from, variant, media, mediaHosts = [] }: Omit<MirrorFlags, keyof UserFlags>,
  { user = [], users }: UserFlags,
): string {
  const who = users === undefined ? ['--user', ...user] : ['--users', users];
  // The originals are compared with the copies.
  const hosts = media && mediaHosts.length > 0 ? ['--picture-hosts', ...mediaHosts] : [];
  const words = ['vitrine', 'compare', from.href, 'NEW', '--variant', variant, ...who, ...hosts];
  return `\nto compare both sites once NEW serves: ${words.map(shellWord).join(' ')}`;
}

/** What a run has besides the flags of the command. */
type RunParts = 'users' | 'state' | 'openReader' | 'openArchive' | 'writer' | 'out' | 'signal';

interface MirrorFlags extends Omit<MirrorOptions, RunParts>, UserFlags, MediaFlags, SettingFlags {
  readonly state?: string;
  readonly media: boolean;
}

async function runMirror({ user, users, ...flags }: MirrorFlags, context: CommandContext): Promise<void> {
  const source = chooseUsers({ user, users }, context);
  const database = chooseDatabase(flags, context);
  const state = flags.state ?? (isPostgresUrl(database) ? undefined : `${database}.mirror`);
  if (state === undefined) throw new UsageError('with PostgreSQL, name a file by --state');
  const signal = context.stopSignal();
  const copies = flags.media ? findMediaPlace(flags, context) : undefined;
  const mirror = await import('../tools/mirror/mirror.ts');
  await using writer = await openNotifying(database, context);
  const { summary, result, failure, isComplete } = await mirror.runMirror({
    ...flags,
    users: source,
    state,
    writer,
    openReader: () => openReader(database),
    openArchive: () => openArchive(database),
    out: context.stderr,
    signal,
  });
  const offer = isComplete ? offerComparison(flags, { user, users }) : '';
  const { tallies, mended } = result;
  const mirrored = { users: result.users, ...forReport(mended), imported: tallies };
  if (copies === undefined || signal.aborted)
    return context.report({ summary: summary + offer, result: mirrored, failure });
  // The users are here whatever becomes of their pictures.
  context.report({ summary, result: mirrored });
  const run = { sites: [flags.from], writer, signal };
  const fetched = await fetchMedia(copies, flags, run, context).catch((error) => {
    throw new CommandFailed(joinReasons(failure, ...explain(error)) ?? '');
  });
  context.report({
    summary: fetched.summary + offer,
    result: { ...mirrored, media: fetched.result },
    failure: joinReasons(failure, fetched.failure),
  });
}
