// `vitrine takedown`
import { Option } from 'commander';
import { databaseUrl } from '../config/database-url.ts';
import { FAMILIES, type Family } from '../records/kinds.ts';
import { counted } from '../records/printable.ts';
import { UsageError } from '../stores/command-errors.ts';
import { openArchive } from '../stores/open.ts';
import type { TakedownList, TakedownState, TakedownSubject } from '../stores/sql/takedowns.ts';
import type { Writer } from '../stores/writer.ts';
import { openNotifying, readNotifyConfig } from '../tools/notify/notifying.ts';
import type { CommandContext, CommandResult } from './context.ts';
import {
  chooseDatabase,
  chooseMediaDir,
  createCommand,
  examples,
  familyOption,
  type SettingFlags,
  settingArgument,
} from './options.ts';

interface TakedownFlags extends SettingFlags {
  readonly family?: Family;
  readonly users?: string;
  readonly item: string[];
  readonly undo: boolean;
  readonly list: boolean;
  readonly from?: string;
}

/** A subject as the operator wrote it. */
interface NamedSubject extends TakedownSubject {
  readonly shown: string;
}

const HELP = `
The data is deleted, and imports and mirrors do not bring it back: the database keeps a salted hash of each name and id.
For a list of users, standard output has the addresses that caches may still answer, one a line, unless PURGE or NOTIFY is set.
${examples('vitrine takedown --family portfolio ada', 'vitrine takedown --family portfolio --item 4711', 'vitrine takedown --family portfolio --users gone.txt >> addresses.txt', 'vitrine takedown --family portfolio --undo ada', 'vitrine takedown --database-url staging.db --from site.db')}`;

const RESULT =
  '`users`, `items`, `pictures`, the `states` of what was named, `addresses` to purge, `behind`, the hosts of PostgreSQL that do not have it yet, `undone` or `takedowns`. Of a list, the users that were `removed`, `unknown` and `known`, and the `invalid` lines';

export const command = (context: CommandContext) =>
  createCommand('takedown', RESULT, ['databaseUrl', 'databaseUrlFile', 'mediaDir'])
    .argument('[user...]', 'user names; letter case does not matter; - reads a list from standard input')
    .addOption(familyOption('the family of the users or items'))
    .option('--users <file>', 'a file of user names, one a line; - is standard input')
    .option('--item <id...>', 'ids of posts or shots', [])
    .option('--undo', 'let imports bring them again', false)
    .option('--list', 'list the takedowns: day, family, kind and the start of the hash', false)
    .addOption(
      new Option(
        '--from <database>',
        'take over the takedowns of another database, and remove what they name',
      ).argParser(settingArgument('--from', databaseUrl)),
    )
    .addHelpText('after', HELP)
    .action((users: string[], flags: TakedownFlags) => runTakedown(users, flags, context));

async function runTakedown(args: string[], flags: TakedownFlags, context: CommandContext): Promise<void> {
  const { family, item, undo, list, from, ...settings } = flags;
  const { file, names } = splitUsers(args, flags.users);
  const isNamed = names.length + item.length > 0;
  if ([isNamed, file !== undefined, list, from !== undefined].filter(Boolean).length !== 1)
    throw new UsageError('name users, --users FILE, items by --item ID, --list, or --from DATABASE');
  if (undo && !isNamed && file === undefined)
    throw new UsageError('--undo needs the users or items to allow again');
  const subjects = isNamed ? await namedSubjects(family, names, item) : [];
  const database = chooseDatabase(settings, context);
  if (list) return context.report(listed(await readTakedowns(database)));
  const adopted = from === undefined ? undefined : await readTakedowns(from);
  await using writer = await openNotifying(database, context, { mustExist: true });
  if (undo && isNamed) return context.report(await undoTakedowns(writer, subjects));

  const { createTakedownRun, removedLine, takeDownList } = await import('../tools/takedown/take-down.ts');
  const mediaDir = chooseMediaDir(database, settings, context);
  const run = { writer, database, mediaDir, config: readNotifyConfig(context), ...context };
  if (file !== undefined) {
    context.keepStdoutForData();
    context.handleOutputErrors();
    return context.report(await takeDownList({ ...run, family: requireFamily(family), file, undo }));
  }
  const removal = createTakedownRun(run);
  const removed =
    adopted === undefined ? await removal.takeDown(subjects) : await removal.adoptTakedowns(adopted);
  const addresses = removed.addresses;
  if (addresses.length > 0 && !context.json) context.stderr.write(describeAddresses(addresses));
  const { states = [], users, items } = removed;
  // There is a state for each subject.
  const lines = subjects.map(({ shown }, index) => STATES[states[index] as TakedownState](shown));
  if (adopted !== undefined) lines.push(`took over ${counted(withoutIds(adopted).length, 'takedown')}`);
  const { pictures, behind, notes, failure } = await removal.cleanUp();
  const result = {
    ...(adopted === undefined ? { states } : { takedowns: withoutIds(adopted).length }),
    users,
    items,
    pictures,
    addresses,
    behind,
  };
  context.report({ summary: [...lines, removedLine(result), ...notes].join('\n'), result, failure });
}

/** A list comes from a file. `-` is standard input, and never a name. */
function splitUsers(names: readonly string[], users?: string): { file?: string; names: readonly string[] } {
  const file = names.includes('-') ? '-' : users;
  if (file === undefined) return { names };
  if (names.length > (file === '-' && users === undefined ? 1 : 0))
    throw new UsageError('name users, or give a list of them, not both');
  return { file, names: [] };
}

/** All of them, since the next run does not know them. */
const describeAddresses = (addresses: readonly string[]) =>
  `caches may still answer:\n${addresses.map((address) => `  ${address}\n`).join('')}`;

async function namedSubjects(
  family: Family | undefined,
  users: readonly string[],
  items: readonly string[],
): Promise<NamedSubject[]> {
  const of = requireFamily(family);
  const { isId } = await import('../records/schemas.ts');
  const { userKey, userNameFault } = await import('../records/user-name.ts');
  const wrong = items.find((id) => !isId(id));
  if (wrong !== undefined)
    throw new UsageError(`--item takes the id of a post or shot, not ${JSON.stringify(wrong)}`);
  const fault = users.map(userNameFault).find((reason) => reason !== undefined);
  if (fault !== undefined) throw new UsageError(`a user name ${fault}`);
  return [
    ...users.map(
      (name) => ({ family: of, kind: 'user', value: userKey(name), shown: JSON.stringify(name) }) as const,
    ),
    ...items.map((id) => ({ family: of, kind: 'item', value: id, shown: `item ${id}` }) as const),
  ];
}

function requireFamily(family: Family | undefined): Family {
  if (family === undefined) throw new UsageError(`name the family: --family ${FAMILIES.join(' or ')}`);
  return family;
}

const STATES: Record<TakedownState, (shown: string) => string> = {
  removed: (shown) => `took down ${shown}`,
  unknown: (shown) => `${shown} is not here; imports will skip it`,
  known: (shown) => `${shown} was taken down before`,
};

async function undoTakedowns(writer: Writer, subjects: NamedSubject[]): Promise<CommandResult> {
  const undone = await writer.undoTakedowns(subjects);
  const allowed = subjects.filter((_, index) => undone[index]);
  const others = subjects.filter((_, index) => !undone[index]);
  const names = others.map(({ family, shown }) => `${shown} of ${family}`);
  return {
    summary: allowed.map(({ shown }) => `the next import may bring ${shown} again`).join('\n'),
    result: { undone },
    failure: others.length === 0 ? undefined : `not taken down: ${names.join(', ')}`,
  };
}

/** One entry for each takedown: users have another one for their id. */
const withoutIds = ({ entries }: TakedownList) => entries.filter(({ hash, entry }) => hash === entry);

const SHOWN_DIGITS = 12;

function listed(list: TakedownList): CommandResult {
  const takedowns = withoutIds(list).map(({ since, family, kind, hash }) => ({ since, family, kind, hash }));
  const lines = takedowns.map(
    ({ since, family, kind, hash }) =>
      `${since}  ${family.padEnd(9)}  ${kind}  ${hash.slice(0, SHOWN_DIGITS)}`,
  );
  return { summary: lines.join('\n'), result: { takedowns } };
}

async function readTakedowns(database: string): Promise<TakedownList> {
  await using archive = await openArchive(database);
  return await archive.takedowns();
}
