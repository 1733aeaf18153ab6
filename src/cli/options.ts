// Options and arguments that several commands take.

import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { readConfig } from '../config/config.ts';
import { lookalikes } from '../config/lookalikes.ts';
import { findMediaFolder } from '../config/media.ts';
import { ConfigError, Mistake } from '../config/setting-values.ts';
import { flagName, SETTING_NAMES, SETTINGS, type SettingName, variableName } from '../config/settings.ts';
import { FAMILIES, KIND_NAMES, KINDS } from '../records/kinds.ts';
import type { MendingCounts } from '../records/mending.ts';
import { errorMessage } from '../records/thrown.ts';
import { UsageError } from '../stores/command-errors.ts';
import type { Counts } from '../stores/reader.ts';
import { type RemovalLimit, USUAL_LIMIT } from '../stores/sql/load.ts';
import { readBase } from '../tools/remote/base-url.ts';
import type { UserSource } from '../tools/remote/user-list.ts';
import { VARIANT_NAMES } from '../variants.ts';
import { type CommandContext, SETTINGS_GROUP } from './context.ts';

export type SettingFlags = Partial<Record<SettingName, string>>;

/**
 * A command that takes these settings as flags. `result` says what its report has. Its description is in the table of
 * commands. The guide lists the settings, so the help of a command that takes all of them does not.
 */
export function createCommand(
  name: string,
  result: string,
  settings: readonly SettingName[] = ['databaseUrl', 'databaseUrlFile'],
): Command {
  const command = new Command(name);
  const takesAll = settings.length === SETTING_NAMES.length;
  for (const setting of settings) {
    const { meaning, defaultText } = SETTINGS[setting];
    const standard = defaultText === '' ? '' : ` (default: ${defaultText})`;
    const text = `${meaning}${standard} [${variableName(setting)}]`;
    command.addOption(
      new Option(`${flagName(setting)} <value>`, text).helpGroup(SETTINGS_GROUP).hideHelp(takesAll),
    );
  }
  if (takesAll) command.addHelpText('after', ALL_SETTINGS);
  const report = new Option('--json', 'report in one line of JSON, whose members are in the guide Commands');
  return command.addOption(Object.assign(report, { result })).option('--quiet', 'print nothing but errors');
}

const ALL_SETTINGS = `
Settings:
  Each setting is an option as well, such as --port 80 for PORT=80. The guide Settings lists them, with their defaults, and
  \`vitrine config\` shows those in force.`;

/** The database that a command works on, from its flag or the environment. */
export function chooseDatabase(
  { databaseUrl, databaseUrlFile }: SettingFlags,
  { environment }: CommandContext,
): string {
  const { DATABASE_URL, DATABASE_URL_FILE } = environment;
  const config = readConfig({ databaseUrl, databaseUrlFile }, { DATABASE_URL, DATABASE_URL_FILE });
  if (config.databaseUrl !== undefined) return config.databaseUrl;
  const sentence = 'name the database: set DATABASE_URL or give --database-url';
  throw new ConfigError([sentence, ...lookalikes(environment)]);
}

/** The folder of copies of pictures that belongs to a database; undefined with PostgreSQL if none is set. */
export function chooseMediaDir(
  database: string,
  { mediaDir }: SettingFlags,
  { environment }: CommandContext,
): string | undefined {
  const config = readConfig({ mediaDir }, { MEDIA_DIR: environment.MEDIA_DIR });
  return findMediaFolder({ databaseUrl: database, mediaDir: config.mediaDir });
}

export const familyOption = (meaning: string) => new Option('--family <family>', meaning).choices(FAMILIES);

/** `option` removes records. */
export const maxRemovedOption = (option: string) =>
  new Option(
    '--max-removed <amount>',
    `with ${option}: the most that may be removed of a family's users or items, as 50% or a number`,
  )
    .argParser(removalLimitArgument)
    .default(USUAL_LIMIT, '20%');

function removalLimitArgument(text: string): RemovalLimit {
  const [, digits, percent] = /^(\d+)(%?)$/.exec(text) ?? [];
  const amount = Number(digits);
  if (digits === undefined || (percent !== '' && amount > 100))
    throw new InvalidArgumentError('It must be a share from 0% to 100%, or a number.');
  return percent === '' ? { count: amount } : { share: amount / 100 };
}

export const lenientOption = () =>
  new Option('--lenient', 'leave optional fields empty that are not valid, and count them').default(false);

export const unescapeOption = () =>
  new Option('--unescape', 'read texts as HTML, and count those that change: &amp; is &').default(false);

/** What was mended, for programs. */
export const forReport = ({ emptied, escaped, isUnescaped }: MendingCounts) => ({
  emptied,
  unescaped: isUnescaped ? escaped : 0,
});

export const variantOption = () =>
  new Option('--variant <variant>', "the site's variant").choices(VARIANT_NAMES);

/** Reads a value as settings are read. Commander's own error would quote the text, with whatever password is in it. */
export const settingArgument =
  <T>(name: string, parse: (text: string) => T) =>
  (text: string): T => {
    try {
      return parse(text);
    } catch (error) {
      throw new UsageError(`${name} ${errorMessage(error)}`);
    }
  };

/** Reads each value of an option that takes several. */
export const settingArguments =
  <T>(name: string, parse: (text: string) => T) =>
  (text: string, before: readonly T[] = []): T[] => [...before, settingArgument(name, parse)(text)];

export const baseUrlArgument = settingArgument('the base URL', readBase);

export const numberArgument = (least: number, most: number) => (text: string) => {
  const number = Number(text);
  if (!(number >= least && number <= most) || text.trim() === '')
    throw new InvalidArgumentError(`It must be a number from ${least} to ${most}.`);
  return number;
};

export const wholeNumberArgument =
  (least: number, most = Number.MAX_SAFE_INTEGER) =>
  (text: string) => {
    const number = Number(text);
    const range = most === Number.MAX_SAFE_INTEGER ? `${least} on` : `${least} to ${most}`;
    if (!/^\d+$/.test(text) || number < least || number > most)
      throw new InvalidArgumentError(`It must be a whole number from ${range}.`);
    return number;
  };

export function host(text: string): string {
  const [http, https] = ['http', 'https'].map((scheme) =>
    /^[^/?#@\\]+$/.test(text) ? URL.parse(`${scheme}://${text}`) : null,
  );
  if (!http || !https) throw new Mistake('takes HOST or HOST:PORT');
  // A URL leaves out the usual port of its scheme, which was given all the same.
  return http.port === '' ? https.host : http.host;
}

/** How hard a live site is asked, for commands that ask many times. */
export const addPaceOptions = (command: Command) =>
  command
    .option('--concurrency <number>', 'requests at a time', wholeNumberArgument(1, 64), 8)
    .option('--rate <number>', 'most requests per second', numberArgument(0.01, 10_000), 100)
    .addOption(
      new Option(
        '--timeout <seconds>',
        'how long a site may send nothing; a whole response may take four times that',
      )
        .argParser((seconds) => 1000 * numberArgument(0.1, 600)(seconds))
        .default(30_000, '30'),
    )
    .option('--retries <number>', 'how often a failed request is repeated', wholeNumberArgument(0, 20), 4);

/** The file that a command writes; undefined for standard output. */
export const outputArgument = () =>
  new Argument(
    '[file]',
    'the file to write, compressed if it ends in .gz; none or -: standard output',
  ).argParser((file) => (file === '-' ? undefined : file));

/** Elsewhere `-` is standard output, which can be neither a folder nor a database. */
export function requireName(path: string, what: string): void {
  if (path === '-') throw new UsageError(`${what} needs a name: standard output cannot be one`);
}

export interface UserFlags {
  readonly user?: string[];
  readonly users?: string;
}

/** The users that --user or --users names. */
export function chooseUsers({ user, users }: UserFlags, { stdin }: CommandContext): UserSource {
  if ((user === undefined) === (users === undefined))
    throw new UsageError('specify users with --user NAME… or --users FILE');
  return users === undefined ? { names: user ?? [] } : { file: users, stdin };
}

export const countLines = (counts: Counts) =>
  KIND_NAMES.map((kind) => `${KINDS[kind].plural}: ${counts[kind]}`);

export const examples = (...lines: string[]) => `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`;
