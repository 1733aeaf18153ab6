// `vitrine media`: the copies of pictures. The command that fetches them has a file of its own.
import { Readable } from 'node:stream';
import { Command } from 'commander';
import { openShown } from '../import/open-shown.ts';
import { megabytes, showSteps } from '../import/terminal.ts';
import { counted, joinReasons } from '../records/printable.ts';
import { CommandFailed } from '../stores/command-errors.ts';
import { openArchive } from '../stores/open.ts';
import { writeToStdout } from '../stores/output.ts';
import type { Archive, MediaSummary } from '../stores/sql/archive.ts';
import { openNotifying } from '../tools/notify/notifying.ts';
import type { CommandContext } from './context.ts';
import { findMediaPlace, linkingUrl, MEDIA_SETTINGS, mediaFetchCommand } from './media-fetch.ts';
import { chooseDatabase, createCommand, examples, numberArgument, type SettingFlags } from './options.ts';

export function command(context: CommandContext): Command {
  const group = new Command('media');
  const commands = [createRelink, createStatus, createCheck, createPrune];
  group.addCommand(mediaFetchCommand(context));
  for (const create of commands) group.addCommand(create(context));
  return group;
}

const RELINK_HELP = `
Profiles and lists are rebuilt in one transaction, so no response mixes two addresses. Without MEDIA_URL, copies keep
the address that they had last. Then only copies that have no address yet get one.
${examples('vitrine media relink --media-url https://pictures.example.org')}`;

const RELINK_RESULT = '`mediaUrl`, `relinked` (profiles and lists)';

const createRelink = (context: CommandContext): Command =>
  createCommand('relink', RELINK_RESULT, MEDIA_SETTINGS)
    .description('serve the addresses of the copies under MEDIA_URL')
    .addHelpText('after', RELINK_HELP)
    .action(async (flags: SettingFlags) => {
      const place = findMediaPlace(flags, context);
      await using writer = await openNotifying(place.database, context, { mustExist: true });
      const mediaUrl = await linkingUrl(place);
      const relinked = await showSteps(context.stderr, (onStep) => {
        onStep('linking the copies');
        return writer.relink(mediaUrl);
      });
      const summary = `copies are named under ${mediaUrl}\nprofiles and lists rebuilt: ${relinked}`;
      context.report({ summary, result: { mediaUrl, relinked } });
    });

const STATUS_RESULT = '`mediaUrl`, `copies`, `files`, `bytes`, `missing` by reason';

const createStatus = (context: CommandContext): Command =>
  createCommand('status', STATUS_RESULT)
    .description('say how many pictures have copies, and why others have none')
    .option('--missing', 'write each picture without a copy as a line of JSON', false)
    .addHelpText('after', examples('vitrine media status', 'vitrine media status --missing > missing.ndjson'))
    .action(async ({ missing, ...flags }: SettingFlags & { missing: boolean }) => {
      if (missing) context.keepStdoutForData();
      await using archive = await openArchive(chooseDatabase(flags, context));
      const reasons = new Map<string, number>();
      const lines = missingLines(archive, reasons);
      if (missing) {
        await writeToStdout(Readable.from(lines), context.stdout);
      } else for await (const _ of lines);
      const copies = await archive.mediaSummary();
      const mediaUrl = (await archive.mediaUrl()) ?? null;
      context.report({
        summary: describeStatus(copies, mediaUrl, reasons),
        result: { mediaUrl, ...copies, missing: Object.fromEntries(reasons) },
      });
    });

const NOT_TRIED = 'not fetched yet';

/** Each picture without a copy, as a line. Counts them by reason. */
async function* missingLines(archive: Archive, reasons: Map<string, number>): AsyncGenerator<string> {
  for await (const one of archive.missing()) {
    const reason = one.reason ?? NOT_TRIED;
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    yield `${JSON.stringify(one)}\n`;
  }
}

function describeStatus(
  { copies, files, bytes }: MediaSummary,
  mediaUrl: string | null,
  reasons: ReadonlyMap<string, number>,
): string {
  const without = [...reasons].toSorted(([, one], [, other]) => other - one);
  const address = mediaUrl === null ? 'not linked yet' : `served under ${mediaUrl}`;
  return [
    `pictures with a copy: ${copies}; ${counted(files, 'file')}, ${megabytes(bytes)}, ${address}`,
    ...(without.length === 0 ? [] : ['places in records without a copy:']),
    ...without.map(([reason, count]) => `${String(count).padStart(8)}  ${reason}`),
  ].join('\n');
}

const CHECK_HELP = `
Each file is read. The name of a copy is the SHA-256 of its bytes, and the database has the SHA-256 of a small picture.
\`vitrine media fetch --check\` brings missing files again, and damaged files once they are removed, as long as their
originals exist. Others come back only from a backup of the folder. The exit code is 1 if a file is missing or damaged.
${examples('vitrine media check', 'vitrine media check --remove-damaged')}`;

/** What is removed cannot be had back where the original is gone. */
const REMEDY =
  'put them back from a backup of the folder, or run `vitrine media check --remove-damaged`, then `vitrine media fetch --check`, which fetches those whose originals still exist';

type MediaCheckFlags = SettingFlags & { removeDamaged: boolean };

const CHECK_RESULT =
  '`files`, `sound`, `missing`, `damaged`, `removed`, `unmeasured` (without small pictures yet)';

const createCheck = (context: CommandContext): Command =>
  createCommand('check', CHECK_RESULT, ['databaseUrl', 'databaseUrlFile', 'mediaDir'])
    .description('say which copies are missing or damaged')
    .option('--remove-damaged', 'remove damaged files', false)
    .addHelpText('after', CHECK_HELP)
    .action(async ({ removeDamaged, ...flags }: MediaCheckFlags) => {
      const { database, mediaDir } = findMediaPlace(flags, context);
      const { runCheck } = await import('../tools/media/upkeep.ts');
      const counts = await runCheck({
        mediaDir,
        database,
        removeDamaged,
        out: context.stderr,
        signal: context.stopSignal(),
      });
      const { files, sound, missing, damaged, removed, unmeasured } = counts;
      const wrong = missing + damaged;
      const left = files - sound - wrong;
      const states = `copies: ${sound} sound, ${missing} missing, ${damaged} damaged${removed > 0 ? ' and removed' : ''}`;
      const due = `\nwithout small pictures yet: ${unmeasured}. Run \`vitrine media fetch\`.`;
      context.report({
        summary: unmeasured > 0 ? states + due : states,
        result: counts,
        failure: joinReasons(
          left > 0 && `stopped: ${left} of ${files} copies were not checked`,
          wrong > 0 && `${wrong} of ${files} copies are missing or damaged: ${REMEDY}`,
        ),
      });
    });

const PRUNE_HELP = `
A copy stays for the hours of --grace after the last record that named it. So an import that is under way may name it
again. The folder must belong to this database alone.
${examples('vitrine media prune', 'vitrine media prune --grace 0')}`;

const PRUNE_RESULT = '`files`, `bytes`, `forgotten` addresses, `waiting` files, `isStopped` (true or false)';

const createPrune = (context: CommandContext): Command =>
  createCommand('prune', PRUNE_RESULT, MEDIA_SETTINGS)
    .description('remove copies that no record names any more')
    .option('--grace <hours>', 'how long no record must have named them', numberArgument(0, 10_000), 24)
    .addHelpText('after', PRUNE_HELP)
    .action(async ({ grace, ...flags }: SettingFlags & { grace: number }) => {
      const place = findMediaPlace(flags, context);
      const { database, mediaDir } = place;
      await refuseForeign(database, mediaDir);
      const mediaUrl = await linkingUrl(place);
      const { runPrune } = await import('../tools/media/upkeep.ts');
      await using writer = await openShown(database, context, { mustExist: true });
      const signal = context.stopSignal();
      const seconds = Math.round(grace * 3600);
      const out = context.stderr;
      const result = await runPrune({ mediaDir, mediaUrl, grace: seconds, writer, out, signal });
      const { files, bytes, waiting, isStopped } = result;
      const removed = `removed ${counted(files, 'file')}, ${megabytes(bytes)}`;
      const failure = isStopped ? 'stopped: the same command removes the others' : undefined;
      const later = `; ${waiting} will be once no record has named them for ${grace} hours`;
      context.report({ summary: waiting === 0 ? removed : removed + later, result, failure });
    });

/** A database without a single copy has no folder: this one must be another's. */
async function refuseForeign(database: string, mediaDir: string): Promise<void> {
  await using archive = await openArchive(database);
  for await (const { file } of archive.media()) if (file !== null) return;
  throw new CommandFailed(`the database knows of no copies, so nothing in ${mediaDir} is removed`);
}
