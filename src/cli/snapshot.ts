// `vitrine snapshot`
import { snapshotDatabase } from '../stores/open.ts';
import { createCommand, databaseOf, examples, type SettingFlags } from './options.ts';
import type { Surroundings } from './surroundings.ts';

export const snapshotCommand = (around: Surroundings) =>
  createCommand('snapshot', 'write a compact copy of the database that can be served from read-only media')
    .argument('<file>', 'the file to write; an existing one is replaced at once')
    .addHelpText('after', examples('vitrine snapshot /backup/site.db'))
    .action(async (file: string, flags: SettingFlags) => {
      await snapshotDatabase(databaseOf(flags, around), file);
      around.report({ text: `snapshot written to ${file}`, result: { file } });
    });
