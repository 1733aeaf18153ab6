// `vitrine takedown`
import { Option } from 'commander';
import { databaseUrl } from '../config/database-url.ts';
import { FAMILIES, type Family } from '../records/kinds.ts';
import { counted } from '../records/printable.ts';
import { UsageError } from '../stores/explain.ts';
import { openArchive } from '../stores/open.ts';
import type { Change } from '../stores/sql/changes.ts';
import type { TakedownList, TakedownState, TakedownSubject } from '../stores/sql/takedowns.ts';
import type { Writer } from '../stores/writer.ts';
import { createRemoval } from '../tools/media/removal.ts';
import { changedAddresses } from '../tools/notify/addresses.ts';
import { openNotifying, readNotifyConfig } from '../tools/notify/notifying.ts';
import type { CommandContext, CommandResult } from './context.ts';
import {
  chooseDatabase,
  chooseMediaDir,
  createCommand,
  examples,
  familyOption,
  read,
  type SettingFlags,
} from './options.ts';

interface TakedownFlags extends SettingFlags {
  readonly family?: Family;
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
${examples('vitrine takedown --family portfolio ada', 'vitrine takedown --family portfolio --item 4711', 'vitrine takedown --family portfolio --undo ada', 'vitrine takedown --database-url staging.db --from site.db')}`;

export const command = (context: CommandContext) =>
  createCommand('takedown', ['databaseUrl', 'databaseUrlFile', 'mediaDir'])
    .argument('[user...]', 'user names; letter case does not matter')
    .addOption(familyOption('the family of the users or items'))
    .option('--item <id...>', 'ids of posts or shots', [])
    .option('--undo', 'let imports bring them again', false)
    .option('--list', 'list the takedowns: day, family, kind and the start of the hash', false)
    .addOption(
      new Option(
        '--from <database>',
        'take over the takedowns of another database, and remove what they name',
      ).argParser(read('--from', databaseUrl)),
    )
    .addHelpText('after', HELP)
    .action((users: string[], flags: TakedownFlags) => runTakedown(users, flags, context));

async function runTakedown(users: string[], flags: TakedownFlags, context: CommandContext): Promise<void> {
  const { family, item, undo, list, from, ...settings } = flags;
  const isNamed = users.length + item.length > 0;
  if (Number(isNamed) + Number(list) + Number(from !== undefined) !== 1)
    throw new UsageError('name users, items by --item ID, --list, or --from DATABASE');
  if (undo && !isNamed) throw new UsageError('--undo goes with the users or items to allow again');
  const subjects = isNamed ? await namedSubjects(family, users, item) : [];
  const database = chooseDatabase(settings, context);
  if (list) return context.report(listed(await readTakedowns(database)));
  const adopted = from === undefined ? undefined : await readTakedowns(from);
  await using writer = await openNotifying(database, context, { mustExist: true });
  if (undo) return context.report(await undoTakedowns(writer, subjects));

  const copies = createRemoval(chooseMediaDir(database, settings, context));
  const keepNames = writer.hasSubscribers;
  /** Reports what was removed, and the addresses that caches may still answer, if none is purged. */
  const report = (lines: readonly string[], { changes, unerased, ...removed }: Removed) => {
    const config = readNotifyConfig(context);
    const addresses = keepNames ? [] : changes.flatMap((change) => changedAddresses(config, change));
    if (addresses.length > 0) context.stderr.write(describeAddresses(addresses));
    const result = { ...removed, pictures: copies.count(), addresses };
    context.report({
      summary: [...lines, removedLine(result)].join('\n'),
      result,
      failure:
        unerased && `the takedown is done, but ${unerased} Run the command again when that has changed.`,
    });
  };

  if (adopted !== undefined) {
    const removed = await writer.adoptTakedowns(adopted, copies.remove, { keepNames });
    const takedowns = withoutIds(adopted).length;
    return report([`took over ${counted(takedowns, 'takedown')}`], { takedowns, ...removed });
  }
  const removed = await writer.takeDown(subjects, copies.remove, { keepNames });
  const lines = subjects.map(({ shown }, index) => STATES[removed.states[index] as TakedownState](shown));
  report(lines, removed);
}

const MOST_SHOWN = 4;

/** The first addresses: the whole list has one for each spelling, variant and feed. */
function describeAddresses(addresses: readonly string[]): string {
  const shown = addresses.slice(0, MOST_SHOWN).map((address) => `  ${address}\n`);
  const rest = addresses.length - shown.length;
  return `caches may still answer:\n${shown.join('')}${rest > 0 ? `  and ${rest} others, which --json lists\n` : ''}`;
}

/** What a store says that it removed. The database does not know the names any more. */
interface Removed {
  readonly users: number;
  readonly items: number;
  readonly takedowns?: number;
  readonly changes: readonly Change[];
  /** What of it could not be erased. */
  readonly unerased: string | undefined;
}

async function namedSubjects(
  family: Family | undefined,
  users: string[],
  items: string[],
): Promise<NamedSubject[]> {
  if (family === undefined) throw new UsageError(`name the family: --family ${FAMILIES.join(' or ')}`);
  const { isId } = await import('../records/schemas.ts');
  const { userKey, userNameFault } = await import('../records/user-name.ts');
  const wrong = items.find((id) => !isId(id));
  if (wrong !== undefined)
    throw new UsageError(`--item takes the id of a post or shot, not ${JSON.stringify(wrong)}`);
  const fault = users.map(userNameFault).find((reason) => reason !== undefined);
  if (fault !== undefined) throw new UsageError(`a user name ${fault}`);
  return [
    ...users.map(
      (name) => ({ family, kind: 'user', value: userKey(name), shown: JSON.stringify(name) }) as const,
    ),
    ...items.map((id) => ({ family, kind: 'item', value: id, shown: `item ${id}` }) as const),
  ];
}

const STATES: Record<TakedownState, (shown: string) => string> = {
  removed: (shown) => `took down ${shown}`,
  unknown: (shown) => `${shown} is not here; imports will skip it`,
  known: (shown) => `${shown} was taken down before`,
};

const removedLine = ({ users, items, pictures }: { users: number; items: number; pictures: number }) =>
  `removed ${counted(users, 'user')} and ${counted(items, 'item')}${pictures === 0 ? '' : `, and ${counted(pictures, 'picture')}`}`;

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
