// The options that say how files are read, for the commands that take files: import and serve.

import { type Command, InvalidArgumentError, Option } from 'commander';
import type { ReadingOptions } from '../import/import.ts';
import { familyOption, lenientOption, unescapeOption } from './options.ts';

/** What files hold. */
export const FILES_MEANING = 'NDJSON, JSON or CSV, also as .gz. With --map also XML, and folders of archives';

/** The files of src/import/maps. */
const READY_MAPS = 'bluesky, ghost, instagram, mastodon, twitter or wordpress';

const createOptions = (): Option[] => [
  new Option('--map <map>', `make records of other objects with a JavaScript module, or with ${READY_MAPS}`),
  new Option('--files-url <url>', "where relative pictures, and with --map an export's own, are published"),
  new Option(
    '--export-user <name>',
    'with --map, the name of the user whose export it is, if the export does not say it',
  ),
  familyOption('the family of profiles that fit both'),
  new Option(
    '--dates <order>',
    'order of day and month in dates of spreadsheets, such as 28.2.2026 or 2/28/2026',
  ).choices(['dmy', 'mdy']),
  new Option('--encoding <name>', 'encoding of the files, such as windows-1252 (default: UTF-8)').argParser(
    encodingArgument,
  ),
  lenientOption(),
  unescapeOption(),
];

export function addReadingOptions(command: Command): Command {
  for (const option of createOptions()) command.addOption(option);
  return command;
}

/** Those of a command's flags that say how files are read. */
export function pickReadingOptions(flags: ReadingOptions): ReadingOptions {
  const names = createOptions().map((option) => option.attributeName());
  return Object.fromEntries(Object.entries(flags).filter(([name]) => names.includes(name)));
}

function encodingArgument(name: string): string {
  try {
    return new TextDecoder(name).encoding;
  } catch {
    throw new InvalidArgumentError('It must be the name of an encoding, such as windows-1252.');
  }
}
