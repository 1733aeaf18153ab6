// `vitrine print`
import { Argument } from 'commander';
import { givenSettings, readConfig, SETTING_NAMES } from '../config/config.ts';
import type { TextName } from '../print/texts.ts';
import type { CommandContext } from './context.ts';
import { createCommand, examples, type SettingFlags } from './options.ts';

/** Not taken from the texts, which are loaded only when one is printed. */
const NAMES = Object.keys({
  nginx: 0,
  caddy: 0,
  haproxy: 0,
  varnish: 0,
  compose: 0,
  kubernetes: 0,
  'kubernetes-snapshots': 0,
  systemd: 0,
  'systemd-timers': 0,
  'prometheus-rules': 0,
  'grafana-dashboard': 0,
} satisfies Record<TextName, 0>);

export const printCommand = (context: CommandContext) =>
  createCommand(
    'print',
    'print a configuration of another program, made from the settings in force',
    SETTING_NAMES,
  )
    .addArgument(new Argument('<what>', 'the configuration').choices(NAMES))
    .addHelpText(
      'after',
      examples(
        'vitrine print nginx --base-url-b https://profiles.example.org/b',
        'vitrine print systemd --host /run/vitrine/vitrine.sock',
        'vitrine print prometheus-rules > vitrine.rules.yml',
      ),
    )
    .action(async (what: TextName, flags: SettingFlags) => {
      context.keepStdoutForData();
      const config = readConfig(flags, context.environment);
      const { createDeployment } = await import('../print/deployment.ts');
      const { TEXTS } = await import('../print/texts.ts');
      context.stdout.write(TEXTS[what](createDeployment(config, givenSettings(flags, context.environment))));
      context.report({ summary: '', result: { what } });
    });
