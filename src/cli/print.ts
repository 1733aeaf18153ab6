// `vitrine print`
import { Argument } from 'commander';
import { givenSettings, readConfig, SETTING_NAMES } from '../config/config.ts';
import { TEXT_NAMES, type TextName } from '../print/names.ts';
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
    .action((what: TextName, flags: SettingFlags) => runPrint(what, flags, context));

async function runPrint(what: TextName, flags: SettingFlags, context: CommandContext): Promise<void> {
  context.keepStdoutForData();
  const config = readConfig(flags, context.environment);
  const { deploymentOf } = await import('../print/deployment.ts');
  const { TEXTS } = await import('../print/texts.ts');
  context.stdout.write(TEXTS[what](deploymentOf(config, givenSettings(flags, context.environment))));
  context.report({ text: '', result: { what } });
}
