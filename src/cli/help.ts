// How the help of a command is set: what must be given stands in its usage, and what every command takes stands last.

import { type Command, Help, type Option } from 'commander';
import { SETTINGS_GROUP } from './context.ts';

/** The report of a command, with the members of its `result` for the page of commands. */
export interface ReportOption extends Option {
  readonly result: string;
}

export const isReport = (option: object): option is ReportOption => 'result' in option;

/** `vitrine mirror --variant <variant> --from <url> [options]` */
export function describeUsage(command: Command): string {
  const required = command.options.filter(({ mandatory }) => mandatory).map(({ flags }) => flags);
  const usage = new Help().commandUsage(command);
  return usage.replace('[options]', [...required, '[options]'].join(' '));
}

/** What an option does, its choices and its default, but not that what is off is off. */
export function describeOption(option: Option): string {
  const text = new Help().optionDescription(option).replace(/ \(default: (?:false|\[\])\)$/, '');
  return option.mandatory ? `${text} (required)` : text;
}

/** The options of every command, `--json` last. */
const COMMON = ['--help', '--quiet', '--json'];

/** The options in the order of use, and then the settings that the command takes as flags. */
const groupItems: Help['groupItems'] = (_, items, findGroup) => {
  const place = (item: object) => ('long' in item ? COMMON.indexOf(String(item.long)) : -1);
  const groups = Map.groupBy(
    items.toSorted((one, other) => place(one) - place(other)),
    findGroup,
  );
  const settings = groups.get(SETTINGS_GROUP);
  groups.delete(SETTINGS_GROUP);
  return settings === undefined ? groups : groups.set(SETTINGS_GROUP, settings);
};

export const HELP_FORMAT = { groupItems, commandUsage: describeUsage, optionDescription: describeOption };
