// Reads the settings from flags and environment, and says what is wrong with them.
import { isPostgresUrl } from './database-url.ts';
import type { BaseUrl, Mount } from './mount.ts';
import { chooseSecret, type SettingText } from './secrets.ts';
import { ConfigError, Mistake, type Setting } from './setting-values.ts';
import {
  baseUrlSetting,
  type Config,
  flagName,
  listMounts,
  SETTING_FILES,
  SETTING_NAMES,
  SETTINGS,
  type SettingName,
  variableName,
} from './settings.ts';

export type Flags = Partial<Record<SettingName, string>>;
export type Environment = Record<string, string | undefined>;

/**
 * Reads the settings from flags and environment, flags first; throws one error that lists every mistake. Files of settings that
 * are not needed are not read: the user who runs the command may not be allowed to.
 */
export function readConfig(
  flags: Flags = {},
  environment: Environment = {},
  notNeeded: readonly SettingName[] = [],
): Config {
  const mistakes: string[] = [];
  const values = SETTING_NAMES.map((name) => {
    try {
      return [name, parseSetting(name, flags, environment, notNeeded)];
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      mistakes.push(...error.mistakes);
      return [name, undefined];
    }
  });
  // Each value has the type that its setting's parser gives.
  const config = Object.fromEntries(values) as Config;
  if (mistakes.length === 0) mistakes.push(...clashes(config));
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  return config;
}

const findText = (flags: Flags, environment: Environment, name: SettingName): SettingText =>
  flags[name] === undefined
    ? { text: environment[variableName(name)], label: variableName(name) }
    : { text: flags[name], label: flagName(name) };

/** Of a setting and its file, those of the environment count unless there is a flag for one. */
function findSecret(
  name: SettingName,
  file: SettingName,
  flags: Flags,
  environment: Environment,
): SettingText {
  const hasFlag = flags[name] !== undefined || Boolean(flags[file]?.trim());
  const find = (one: SettingName) => (hasFlag ? findText(flags, {}, one) : findText({}, environment, one));
  return chooseSecret(variableName(name), find(name), find(file));
}

function parseSetting(
  name: SettingName,
  flags: Flags,
  environment: Environment,
  notNeeded: readonly SettingName[],
): unknown {
  const { parse, mayHoldSecret }: Setting<unknown> = SETTINGS[name];
  const file = SETTING_FILES[name];
  const given =
    file === undefined || notNeeded.includes(name)
      ? findText(flags, environment, name)
      : findSecret(name, file, flags, environment);
  const text = rawText(name, given) ?? SETTINGS[name].defaultText;
  try {
    // Settings are copied into log lines, headers and printed configurations.
    if (/\p{Cc}/u.test(text)) throw new Mistake('must not contain control characters');
    return parse(text);
  } catch (error) {
    if (!(error instanceof Mistake)) throw error;
    const shown = mayHoldSecret ? '' : `, not ${JSON.stringify(text)}`;
    throw new ConfigError([`${given.label} ${error.message}${shown}`]);
  }
}

/** Undefined where the default counts. */
function rawText(name: SettingName, { text }: SettingText): string | undefined {
  const { emptyIsValue }: Setting<unknown> = SETTINGS[name];
  return text?.trim() === '' && !emptyIsValue ? undefined : text?.trim();
}

/** The settings that were given, by variable, as they were written. */
export function explicitSettings(flags: Flags, environment: Environment): Record<string, string> {
  const given = SETTING_NAMES.flatMap((name) => {
    const text = rawText(name, findText(flags, environment, name));
    return text === undefined ? [] : [[variableName(name), text]];
  });
  return Object.fromEntries(given);
}

/** Settings that exclude each other. Of two variants at one base address, one would hide users of the other. */
function clashes(config: Config): string[] {
  const mounts = listMounts(config);
  const settingName = ({ variant }: Mount) => variableName(baseUrlSetting(variant));
  const found = mounts.flatMap((one, index) =>
    mounts
      .slice(index + 1)
      .filter(({ base }) => overlaps(base, one.base))
      .map((two) => `${settingName(one)} and ${settingName(two)} claim the same address: give each its own`),
  );
  if (config.directory && !config.explorer) found.push('DIRECTORY=on needs the pages of EXPLORER=on');
  return found;
}

/** Whether the log has lines that are no warnings. */
export const logsInformation = ({ logLevel }: Pick<Config, 'logLevel'>) =>
  ['trace', 'debug', 'info'].includes(logLevel);

/** A sentence for each setting that does nothing beside the others. */
export function withoutEffect(config: Config): string[] {
  const { accessLog, logLevel, rateLimit, rateLimitExempt, snapshotDir, databaseUrl = '' } = config;
  const found: string[] = [];
  if (accessLog && logLevel === 'warn')
    found.push('LOG_LEVEL=warn leaves out requests unless they are slow: ACCESS_LOG=on needs LOG_LEVEL=info');
  else if (accessLog && !logsInformation(config))
    found.push(`LOG_LEVEL=${logLevel} leaves out requests: ACCESS_LOG=on has no effect`);
  if (rateLimit === undefined && rateLimitExempt.length > 0)
    found.push('no client is limited without RATE_LIMIT: RATE_LIMIT_EXEMPT has no effect');
  if (snapshotDir !== undefined && isPostgresUrl(databaseUrl))
    found.push('`vitrine snapshot` copies SQLite files only: SNAPSHOT_DIR has no effect');
  return found;
}

/** A base address without a host is served on every host. */
const overlaps = (one: BaseUrl, two: BaseUrl) =>
  one.path === two.path && (one.host === undefined || two.host === undefined || one.host === two.host);
