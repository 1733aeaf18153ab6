// `vitrine publish`
import { resolve } from 'node:path';
import { Option } from 'commander';
import { readConfig } from '../config/config.ts';
import { ConfigError } from '../config/setting-values.ts';
import { SETTING_NAMES } from '../config/settings.ts';
import { UsageError } from '../stores/command-errors.ts';
import { PLATFORM_NAMES, type PlatformName, SITE_PARTS, type SitePart } from '../tools/publish/targets.ts';
import type { CommandContext } from './context.ts';
import { chooseDatabase, createCommand, examples, requireName, type SettingFlags } from './options.ts';

interface PublishFlags extends SettingFlags {
  readonly for: PlatformName;
  readonly without?: string;
  readonly check: boolean;
}

const HELP = `
Every answer of the server becomes a file below <folder>. The configuration of the platform says which file answers which
address. Run it again after each import. It writes only what changed, and all of it appears at once. --without leaves out
parts that take long for many users. The parts are ${SITE_PARTS.join(', ')}.
${examples('vitrine publish /srv/site --for nginx', 'vitrine publish /srv/site --for cloudflare --without cards,feeds')}`;

const RESULT =
  '`files`, `bytes`, `written`, `unchanged`, `removed`, `tooLong` (users left out), `incomplete` (files without their picture, which the next run writes again), `folder`, `platform`, `warning` (what failed when the new files were served already)';

const isPart = (text: string): text is SitePart => SITE_PARTS.some((part) => part === text);

export const command = (context: CommandContext) =>
  createCommand('publish', RESULT, SETTING_NAMES)
    .argument('<folder>', 'the folder to publish to')
    .addOption(
      new Option('--for <platform>', 'where the files are served')
        .choices(PLATFORM_NAMES)
        .makeOptionMandatory(),
    )
    .option('--without <parts>', 'parts to leave out, separated by commas')
    .option('--check', 'read the files of all users, and write lost and damaged ones again', false)
    .addHelpText('after', HELP)
    .action(async (folder: string, { for: platform, without = '', check, ...flags }: PublishFlags) => {
      const parts = without.split(',').filter(Boolean);
      const unknown = parts.find((part) => !isPart(part));
      if (unknown !== undefined)
        throw new UsageError(`--without takes ${SITE_PARTS.join(', ')}, not ${unknown}`);
      requireName(folder, 'a published site');
      // It stands in the platform's configuration, where other characters have meanings.
      if (!/^[\w./@+-]+$/.test(resolve(folder)))
        throw new UsageError('the path of the folder must be of letters, digits and ._@+-');
      const config = readConfig(flags, context.environment, ['notify']);
      const databaseUrl = chooseDatabase(flags, context);
      if (config.directory)
        throw new ConfigError(['DIRECTORY must be off: lists of all users are not published']);
      if (config.corsOrigin !== '*' && config.corsOrigin.length > 0)
        throw new ConfigError(['CORS_ORIGIN must be * or none: files are the same for every origin']);
      const { runPublish } = await import('../tools/publish/publish.ts');
      const run = { folder: resolve(folder), platform, check, without: new Set(parts.filter(isPart)) };
      const { stderr: out } = context;
      context.report(
        await runPublish({ ...run, config: { ...config, databaseUrl }, out, signal: context.stopSignal() }),
      );
    });
