// `vitrine snapshot`
import { snapshotDatabase } from '../stores/open.ts';
import type { CommandContext } from './context.ts';
import { createCommand, databaseOf, examples, type SettingFlags } from './options.ts';

interface SnapshotFlags extends SettingFlags {
  readonly forgetTakedowns: boolean;
}

export const snapshotCommand = (context: CommandContext) =>
  createCommand('snapshot', 'write a compact copy of the database that can be served from read-only media')
    .argument('<file>', 'the file to write; an existing one is replaced at once')
    .option(
      '--forget-takedowns',
      'leave takedowns out; the copy may be served in the place of a file with takedowns',
      false,
    )
    .addHelpText('after', examples('vitrine snapshot /backup/site.db'))
    .action(async (file: string, { forgetTakedowns, ...flags }: SnapshotFlags) => {
      await snapshotDatabase(databaseOf(flags, context), file, { forgetTakedowns });
      context.report({ text: `snapshot written to ${file}`, result: { file } });
    });
