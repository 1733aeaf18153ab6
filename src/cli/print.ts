// `vitrine print`
import { Argument } from 'commander';
import { givenSettings, readConfig, SETTING_NAMES } from '../config/config.ts';
import { createDeployment } from '../print/deployment.ts';
import { TEXT_NAMES, TEXTS, type TextName } from '../print/texts.ts';
import type { CommandContext } from './context.ts';
import { createCommand, examples, type SettingFlags } from './options.ts';

export const printCommand = (context: CommandContext) =>
  createCommand(
    'print',
    'print a configuration of another program, made from the settings in force',
    SETTING_NAMES,
  )
    .addArgument(new Argument('<what>', 'the configuration').choices(TEXT_NAMES))
    .addHelpText(
      'after',
      examples(
        'vitrine print nginx --base-url-b https://profiles.example.org/b',
        'vitrine print systemd --host /run/vitrine/vitrine.sock',
        'vitrine print prometheus-rules > vitrine.rules.yml',
      ),
    )
    .action((what: TextName, flags: SettingFlags) => {
      context.keepStdoutForData();
      const config = readConfig(flags, context.environment);
      context.stdout.write(TEXTS[what](createDeployment(config, givenSettings(flags, context.environment))));
      context.report({ summary: '', result: { what } });
    });
