// `vitrine print`: the configurations that it can print.

import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Argument } from 'commander';
import { explicitSettings, readConfig } from '../config/config.ts';
import { SETTING_NAMES } from '../config/settings.ts';
import { shellWord } from '../records/printable.ts';
import { keysOf } from '../records/tables.ts';
import { CommandFailed, UsageError } from '../stores/command-errors.ts';
import { makeFolder } from '../stores/output.ts';
import { caddy } from '../tools/print/caddy.ts';
import { compose } from '../tools/print/compose.ts';
import { createPrintInput, type PrintInput } from '../tools/print/input.ts';
import { prometheusRules } from '../tools/print/monitoring.ts';
import { nginx } from '../tools/print/nginx.ts';
import { SYSTEMD_STEPS, systemd, systemdUnits } from '../tools/print/systemd.ts';
import type { CommandContext } from './context.ts';
import { createCommand, examples, requireName, type SettingFlags } from './options.ts';

export const TEXTS = {
  nginx,
  caddy,
  compose,
  systemd,
  'prometheus-rules': prometheusRules,
} satisfies Record<string, (input: PrintInput) => string>;

export type TextName = keyof typeof TEXTS;
export const TEXT_NAMES = keysOf(TEXTS);

const HELP = examples(
  'vitrine print nginx --base-url-b https://profiles.example.org/b',
  'vitrine print systemd --host /run/vitrine/vitrine.sock --to /etc/systemd/system',
  'vitrine print prometheus-rules > vitrine.rules.yml',
);

const RESULT = '`what`, `files`';

export const command = (context: CommandContext) =>
  createCommand('print', RESULT, SETTING_NAMES)
    .addArgument(new Argument('<what>', 'the configuration').choices(TEXT_NAMES))
    .option('--to <folder>', 'with systemd: write each unit to a file in this folder')
    .addHelpText('after', HELP)
    .action((what: TextName, { to, ...flags }: SettingFlags & { to?: string }) => {
      const config = readConfig(flags, context.environment, ['notify']);
      const input = createPrintInput(config, explicitSettings(flags, context.environment));
      if (to !== undefined) return writeUnits(what, input, to, context);
      context.keepStdoutForData();
      context.stdout.write(TEXTS[what](input));
      context.report({ summary: '', result: { what } });
    });

/** A unit that the operator may have changed is not replaced. */
function writeUnits(what: TextName, input: PrintInput, folder: string, context: CommandContext): void {
  requireName(folder, 'a folder of units');
  if (what !== 'systemd') throw new UsageError('--to goes with systemd, whose units are several files');
  const units = systemdUnits(input).map(({ name, text }) => ({ path: join(folder, name), text }));
  const existing = units.find(({ path }) => existsSync(path));
  if (existing !== undefined)
    throw new CommandFailed(
      `${existing.path} exists, and may have changes of yours: write the new units to an empty folder by --to NEW, and compare them by \`diff -u ${shellWord(folder)} NEW\``,
    );
  makeFolder(folder);
  for (const { path, text } of units) writeFileSync(path, text);
  const files = units.map(({ path }) => path);
  const summary = [
    ...files.map((file) => `wrote ${file}`),
    'then:',
    ...SYSTEMD_STEPS.map((step) => `  ${step}`),
  ];
  context.report({ summary: summary.join('\n'), result: { what, files } });
}
