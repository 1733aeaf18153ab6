// `vitrine compare`
import { Argument, type Command } from 'commander';
import type { CompareOptions } from '../tools/compare/compare.ts';
import type { CommandContext } from './context.ts';
import {
  addPaceOptions,
  baseUrlArgument,
  chooseUsers,
  createCommand,
  examples,
  host,
  settingArguments,
  type UserFlags,
  variantOption,
} from './options.ts';

const HELP = `
Profiles and items with the same meaning in another form (order, spacing, numbers instead of strings) count as alike.
If addresses of pictures differ, both pictures are fetched and compared. They may be at the two sites, or at hosts that
--picture-hosts names. The exit code is 1 if a user is different, missing on one site, or could not be compared.
${examples('vitrine compare https://old.example.org/b https://new.example.org/b --variant b --users names.txt --report moved.ndjson', 'vitrine compare https://old.example.org http://127.0.0.1:8080/a --variant a --user ada')}`;

type CompareFlags = Omit<CompareOptions, 'old' | 'new' | 'users' | 'out' | 'signal'> & UserFlags;

const RESULT = '`users`, `profiles` and `items` by class, `failed`';

export const command = (context: CommandContext): Command =>
  addPaceOptions(
    createCommand('compare', RESULT, [])
      .addArgument(new Argument('<old>', "the variant's base URL at the old site").argParser(baseUrlArgument))
      .addArgument(new Argument('<new>', "the variant's base URL at the new site").argParser(baseUrlArgument))
      .addOption(variantOption().makeOptionMandatory())
      .option('--user <name...>', 'users to compare')
      .option('--users <file>', 'a file of user names, one a line; - is standard input')
      .option('--report <file>', 'write a line of JSON for each user, with the hashes of both sides')
      .option(
        '--picture-hosts <host...>',
        'other hosts that pictures may be fetched from',
        settingArguments('--picture-hosts', host),
      ),
  )
    .addHelpText('after', HELP)
    .action(async (old: URL, other: URL, { user, users, ...flags }: CompareFlags) => {
      const source = chooseUsers({ user, users }, context);
      const { runCompare } = await import('../tools/compare/compare.ts');
      const sites = { old, new: other };
      const run = { ...sites, users: source, out: context.stderr, signal: context.stopSignal() };
      context.report(await runCompare({ ...flags, ...run }));
    });
