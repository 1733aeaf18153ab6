// `vitrine print`: the configurations that it can print.
import { Argument } from 'commander';
import { givenSettings, readConfig, SETTING_NAMES } from '../config/config.ts';
import { caddy } from '../print/caddy.ts';
import { compose } from '../print/compose.ts';
import { createDeployment, type Deployment } from '../print/deployment.ts';
import { haproxy } from '../print/haproxy.ts';
import { kubernetes, kubernetesSnapshots } from '../print/kubernetes.ts';
import { grafanaDashboard, prometheusRules } from '../print/monitoring.ts';
import { nginx } from '../print/nginx.ts';
import { systemd, systemdTimers } from '../print/systemd.ts';
import { varnish } from '../print/varnish.ts';
import type { CommandContext } from './context.ts';
import { createCommand, examples, type SettingFlags } from './options.ts';

export const TEXTS = {
  nginx,
  caddy,
  haproxy,
  varnish,
  compose,
  kubernetes,
  'kubernetes-snapshots': kubernetesSnapshots,
  systemd,
  'systemd-timers': systemdTimers,
  'prometheus-rules': prometheusRules,
  'grafana-dashboard': grafanaDashboard,
} satisfies Record<string, (deployment: Deployment) => string>;

export type TextName = keyof typeof TEXTS;
export const TEXT_NAMES = Object.keys(TEXTS) as TextName[];

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
