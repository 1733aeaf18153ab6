// `vitrine serve`
import { readConfig, SETTING_NAMES } from '../config/config.ts';
import { createCommand, examples, type SettingFlags } from './options.ts';
import type { Surroundings } from './surroundings.ts';

export const serveCommand = (around: Surroundings) =>
  createCommand(
    'serve',
    'answer HTTP requests from the database or, without one, from sample users',
    SETTING_NAMES,
  )
    .addHelpText(
      'after',
      examples('vitrine serve', 'vitrine serve --database-url site.db --port 80 --base-url-a /'),
    )
    .action((flags: SettingFlags) => around.serve(readConfig(flags, around.environment)));
