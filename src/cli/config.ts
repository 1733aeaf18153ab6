// `vitrine config`: the settings in force, and where each of them comes from.

import {
  type Environment,
  explicitSettings,
  type Flags,
  readConfig,
  withoutEffect,
} from '../config/config.ts';
import { servesSamples, shownDatabase } from '../config/database-url.ts';
import { lookalikes } from '../config/lookalikes.ts';
import { findMediaFolder, findMediaUrl } from '../config/media.ts';
import { readToken, SECRETS } from '../config/secrets.ts';
import {
  type Config,
  flagName,
  SETTING_FILES,
  SETTING_NAMES,
  SETTINGS,
  type SettingName,
  variableName,
} from '../config/settings.ts';
import { UsageError } from '../stores/command-errors.ts';
import type { CommandContext } from './context.ts';
import { createCommand, examples, type SettingFlags } from './options.ts';

interface SettingRow {
  readonly name: string;
  /** Null if there is none. */
  readonly value: string | null;
  /** A flag, `environment`, `default`, or what implies the value. */
  readonly from: string;
}

const HELP = `
Give it the flags, files and environment of \`vitrine serve\`. Passwords and tokens are hidden.
${examples('vitrine config', 'vitrine config --samples --port 80', 'vitrine config --json')}`;

const RESULT = '`settings`, each with `name`, `value` (a text, or null) and `from`';

export const command = (context: CommandContext) =>
  createCommand('config', RESULT, SETTING_NAMES)
    .argument('[file...]', 'files that are served instead of a database')
    .option('--samples', 'sample users are served if no database is named', false)
    .addHelpText('after', HELP)
    .action((files: string[], { samples, ...flags }: SettingFlags & { samples: boolean }) => {
      if (files.length > 0 && (flags.databaseUrl ?? flags.databaseUrlFile) !== undefined)
        throw new UsageError('name files to serve or a database, not both');
      const { environment: all } = context;
      const hasFiles = files.length > 0;
      const environment = hasFiles ? { ...all, DATABASE_URL: undefined, DATABASE_URL_FILE: undefined } : all;
      const config = readConfig(flags, environment);
      const settings = listSettings({ config, flags, environment, hasFiles, samples });
      const warnings = [...lookalikes(environment), ...withoutEffect(config)];
      for (const line of warnings) context.stderr.write(`${line}\n`);
      context.report({ summary: drawTable(settings), result: { settings } });
    });

/** What decides settings in place of the environment, if something does. */
function findSource(config: Config, hasFiles: boolean, samples: boolean) {
  if (hasFiles) return 'files';
  return samples && servesSamples(config) ? '--samples' : undefined;
}

interface Sources {
  readonly config: Config;
  readonly flags: Flags;
  readonly environment: Environment;
  readonly hasFiles: boolean;
  readonly samples: boolean;
}

function listSettings({ config, flags, environment, hasFiles, samples }: Sources): SettingRow[] {
  const source = findSource(config, hasFiles, samples);
  const rows = SETTING_NAMES.map(
    (name) =>
      (hasFiles && overruledByFiles(name)) ||
      findGiven(name, config, flags, environment) ||
      findImplied(name, config, source) || {
        name: variableName(name),
        value: SETTINGS[name].defaultText || null,
        from: 'default',
      },
  );
  return [...rows, ...SECRETS.flatMap((name) => findSecret(name, environment))];
}

/** What `serve FILE` does not take from the settings. */
function overruledByFiles(name: SettingName): SettingRow | undefined {
  const values: Partial<Record<SettingName, string | null>> = {
    databaseUrl: null,
    purge: null,
    notify: null,
    notifyFile: null,
    workers: '1',
  };
  const value = values[name];
  return value === undefined ? undefined : { name: variableName(name), value, from: 'files' };
}

function findGiven(
  name: SettingName,
  config: Config,
  flags: Flags,
  environment: Environment,
): SettingRow | undefined {
  const variable = variableName(name);
  const [setting, file] = findPair(name);
  const hasFlag = file !== undefined && Boolean(flags[setting] ?? flags[file]);
  const others = hasFlag ? {} : environment;
  const given = explicitSettings(flags, others);
  const isFlag = variable in explicitSettings(flags, {});
  const from = isFlag ? flagName(name) : 'environment';
  const text = given[variable];
  if (text !== undefined) return { name: variable, value: hideSecrets(name, config) ?? text, from };
  if (name !== setting || file === undefined || given[variableName(file)] === undefined) return undefined;
  return { name: variable, value: hideSecrets(name, config) ?? null, from: variableName(file) };
}

/** The setting itself, or the one that it holds the file of, and the setting of that file if there is one. */
function findPair(name: SettingName): [setting: SettingName, file: SettingName | undefined] {
  const setting = SETTING_NAMES.find((each) => SETTING_FILES[each] === name) ?? name;
  return [setting, SETTING_FILES[setting]];
}

/** A value without its secret parts; undefined if it has none. */
function hideSecrets(name: SettingName, { databaseUrl, notify, purge }: Config): string | undefined {
  if (name === 'databaseUrl' && databaseUrl !== undefined) return shownDatabase(databaseUrl);
  if (name === 'notify') return notify.map(({ origin }) => `${origin}/…`).join(',');
  if (name !== 'purge') return undefined;
  return purge.map(({ shown }) => shown).join(',');
}

function findImplied(name: SettingName, config: Config, source: string | undefined): SettingRow | undefined {
  if (name === 'cacheControl' && source !== undefined)
    return { name: 'CACHE_CONTROL', value: 'no-cache', from: source };
  if (name === 'mediaUrl') {
    const value = findMediaUrl(config);
    return { name: 'MEDIA_URL', value, from: value.startsWith('http://localhost') ? 'PORT' : 'base URLs' };
  }
  const folder = name === 'mediaDir' ? findMediaFolder(config) : undefined;
  return folder === undefined ? undefined : { name: 'MEDIA_DIR', value: folder, from: 'DATABASE_URL' };
}

/** Throws if a file that holds the secret cannot be read. */
function findSecret(name: string, environment: Environment): SettingRow[] {
  if (readToken(name, environment) === undefined) return [];
  const from = environment[name]?.trim() ? 'environment' : `${name}_FILE`;
  return [{ name, value: 'hidden', from }];
}

function drawTable(settings: readonly SettingRow[]): string {
  const rows = settings.map(({ name, value, from }) => [name, from, value || 'none'] as const);
  const width = (column: 0 | 1) => Math.max(...rows.map((row) => row[column].length));
  return rows
    .map(([name, from, value]) => `${name.padEnd(width(0))}  ${from.padEnd(width(1))}  ${value}`)
    .join('\n');
}
