// `vitrine print`
import { Argument } from 'commander';
import { givenSettings, readConfig, SETTING_NAMES } from '../config/config.ts';
import { TEXT_NAMES, type TextName } from '../print/names.ts';
import { createCommand, examples, type SettingFlags } from './options.ts';
import type { Surroundings } from './surroundings.ts';

export const printCommand = (around: Surroundings) =>
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
    .action((what: TextName, flags: SettingFlags) => runPrint(what, flags, around));

async function runPrint(what: TextName, flags: SettingFlags, around: Surroundings): Promise<void> {
  around.keepStdoutForData();
  const config = readConfig(flags, around.environment);
  const { deploymentOf } = await import('../print/deployment.ts');
  const { TEXTS } = await import('../print/texts.ts');
  around.stdout.write(TEXTS[what](deploymentOf(config, givenSettings(flags, around.environment))));
  around.report({ text: '', result: { what } });
}
