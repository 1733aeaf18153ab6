// The commands about a whole database: `vitrine migrate`, `check`, `snapshot`, `restore`, `export` and
// `remove`.
import { shownDatabase } from '../config/database-url.ts';
import { type Family, KIND_NAMES, KINDS } from '../records/kinds.ts';
import { counted } from '../records/printable.ts';
import { userKey } from '../records/user-name.ts';
import {
  checkDatabase,
  migrateDatabase,
  openExisting,
  openForExport,
  repairDatabase,
  restoreDatabase,
  snapshotDatabase,
} from '../stores/open.ts';
import type { Counts } from '../stores/reader.ts';
import { type CommandContext, CommandFailed } from './context.ts';
import {
  chooseDatabase,
  createCommand,
  examples,
  familyOption,
  type SettingFlags,
  wholeNumberArgument,
} from './options.ts';
import { openTelling, tellChanges } from './telling.ts';

export const migrateCommand = (context: CommandContext) =>
  createCommand('migrate', 'bring the database to the schema of this version')
    .addHelpText('after', examples('vitrine migrate', 'vitrine migrate --database-url site.db'))
    .action(async (flags: SettingFlags) => {
      const url = chooseDatabase(flags, context);
      const result = await migrateDatabase(url);
      const { from, to } = result;
      const what =
        from === to ? `has schema ${to} already` : `was migrated from schema ${from} to schema ${to}`;
      context.report({ summary: `${shownDatabase(url)} ${what}`, result });
    });

export const checkCommand = (context: CommandContext) =>
  createCommand('check', 'read the whole database and say whether it is sound, and what it holds')
    .option('--repair', 'rebuild lists and ETags that do not match the items and records', false)
    .addHelpText('after', examples('vitrine check', 'vitrine check --repair'))
    .action(async ({ repair, ...flags }: SettingFlags & { repair: boolean }) => {
      const url = chooseDatabase(flags, context);
      const shown = shownDatabase(url);
      const repaired = repair ? await repairDatabase(url) : undefined;
      if (repair) await tellChanges(url, context);
      const { faults, counts } = await checkDatabase(url);
      const sound = faults.length === 0;
      const lines = repaired === undefined ? [] : [`repaired ${repaired} of the lists and ETags`];
      if (sound && counts !== undefined) lines.push(`${shown} is sound`, ...countLines(counts));
      const failure = `${shown} is not sound: ${faults.join('; ').replace(/\s*\n\s*/g, ' ')}`;
      context.report({
        summary: lines.join('\n'),
        result: { sound, repaired, faults, counts },
        failure: sound ? undefined : failure,
      });
    });

export const snapshotCommand = (context: CommandContext) =>
  createCommand('snapshot', 'write a compact copy of the database that can be served from read-only media')
    .argument('<file>', 'the file to write; an existing one is replaced at once; with --keep a folder')
    .option('--keep <number>', 'name the copy for the time, and keep so many of them', wholeNumberArgument(1))
    .option(
      '--forget-takedowns',
      'leave takedowns out; the copy may be served in the place of a file with takedowns',
      false,
    )
    .addHelpText('after', examples('vitrine snapshot /backup/site.db', 'vitrine snapshot --keep 7 /backup'))
    .action(async (target: string, flags: SettingFlags & { forgetTakedowns: boolean; keep?: number }) => {
      const { file, removed } = await snapshotDatabase(chooseDatabase(flags, context), target, flags);
      const lines = [`snapshot written to ${file}`, ...removed.map((old) => `removed ${old}`)];
      context.report({ summary: lines.join('\n'), result: { file, removed } });
    });

const RESTORE_HELP = `
A running server answers with the restored data from its next lookup on, and loses no request. The snapshot is checked
first, and migrated if it is older: one that is damaged changes nothing. Takedowns since the snapshot stay in force.
${examples('vitrine restore /backup/site.db', 'vitrine restore --check /backup/site.db')}`;

export const restoreCommand = (context: CommandContext) =>
  createCommand('restore', 'put what a snapshot holds in the place of what the database holds, at once')
    .argument('<file>', 'the snapshot')
    .option('--check', 'only say whether it can be restored, and what it holds', false)
    .addHelpText('after', RESTORE_HELP)
    .action(async (file: string, { check, ...flags }: SettingFlags & { check: boolean }) => {
      const url = chooseDatabase(flags, context);
      const signal = context.stopSignal();
      const { counts, takenDown, warning } = await restoreDatabase(url, file, { check, signal }).catch(
        (error) => {
          throw signal.aborted ? new CommandFailed('stopped: nothing was restored') : error;
        },
      );
      if (!check) await tellChanges(url, context);
      if (warning !== undefined) context.stderr.write(`${warning}\n`);
      const { users, items } = takenDown;
      const isAll = users + items === 0;
      const without = `without what was taken down since: ${counted(users, 'user')}, ${counted(items, 'item')}`;
      const done = check ? `${file} can be restored` : `${shownDatabase(url)} was restored from ${file}`;
      const lines = [done, ...countLines(counts), ...(isAll ? [] : [without])];
      context.report({ summary: lines.join('\n'), result: { file, check, counts, takenDown } });
    });

const countLines = (counts: Counts) => KIND_NAMES.map((kind) => `${KINDS[kind].plural}: ${counts[kind]}`);

export const exportCommand = (context: CommandContext) =>
  createCommand('export', 'write every record as NDJSON; importing that elsewhere gives the same answers')
    .argument('[file]', 'the file to write, compressed if it ends in .gz; none or -: standard output')
    .option('--media-urls', 'name pictures by the addresses of their copies, as they are served', false)
    .addHelpText('after', examples('vitrine export backup.ndjson.gz', 'vitrine export | wc -l'))
    .action(async (file: string | undefined, flags: SettingFlags & { mediaUrls: boolean }) => {
      const isStdout = file === undefined || file === '-';
      if (isStdout) context.keepStdoutForData();
      await using archive = await openForExport(chooseDatabase(flags, context));
      const { writeExport } = await import('../import/export.ts');
      const signal = context.stopSignal();
      const run = { file, withCopies: flags.mediaUrls, stdout: context.stdout, signal };
      await writeExport(archive, run).catch((error) => {
        const left = isStdout ? 'the output is not complete' : `${file} was not written`;
        throw signal.aborted ? new CommandFailed(`stopped: ${left}`) : error;
      });
      context.report({ summary: '', result: { file: isStdout ? null : file } });
    });

export const removeCommand = (context: CommandContext) =>
  createCommand('remove', 'remove one user and all their items from the database')
    .argument('<user>', 'the user name; letter case does not matter')
    .addOption(familyOption('the family of the user').makeOptionMandatory())
    .addHelpText('after', examples('vitrine remove --family portfolio ada'))
    .action(async (user: string, { family, ...flags }: SettingFlags & { family: Family }) => {
      await using writer = await openTelling(chooseDatabase(flags, context), context, openExisting);
      const removed = await writer.remove(family, userKey(user));
      const name = JSON.stringify(user);
      if (removed === undefined) throw new CommandFailed(`the ${family} family has no user ${name}`);
      context.report({
        summary: `removed ${name} and ${counted(removed.items, 'item')}`,
        result: { user, family, ...removed },
      });
    });
