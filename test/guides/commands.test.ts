// The page of commands is what the program says of itself. To write it again after a change: npm test -- commands -u

import { join } from 'node:path';
import type { Command, Option } from 'commander';
import { expect, test } from 'vitest';
import type { CommandContext } from '../../src/cli/context.ts';
import { describeOption, describeUsage, isReport } from '../../src/cli/help.ts';
import { COMMANDS, createProgram } from '../../src/cli/program.ts';
import { flagName, SETTING_NAMES } from '../../src/config/settings.ts';
import { ROOT } from '../support/files.ts';
import { readPage } from '../support/pages.ts';

const PAGE = 'src/guides/commands.md';

// Its commands are only listed, so it needs nothing of a process.
const program = await createProgram({} as CommandContext, Object.keys(COMMANDS));
const commands = program.commands.flatMap((command) =>
  command.commands.length === 0 ? [command] : command.commands,
);

test('the page of commands is up to date', async () => {
  const page = readPage(PAGE).replace(
    /(?<=<!-- commands:start -->\n)[\s\S]*(?=<!-- commands:end -->)/,
    commands.map(describeCommand).join(''),
  );
  await expect(page).toMatchFileSnapshot(join(ROOT, PAGE));
});

test.each(commands.map((command) => [nameOf(command), command] as const))(
  '%s has an example, and its report stands last',
  (name, command) => {
    expect(examplesOf(command).length).toBeGreaterThan(0);
    for (const line of examplesOf(command)) expect(line).toContain(name.split(' ')[0]);
    expect(helpOf(command)).toMatch(/\n {2}-h, --help .*\n(?: {6,}.*\n)*? {2}--quiet .*\n {2}--json /);
  },
);

function nameOf(command: Command): string {
  const { parent } = command;
  return parent === null || parent === program ? command.name() : `${parent.name()} ${command.name()}`;
}

function describeCommand(command: Command): string {
  const own = command.options.filter((option) => !isReport(option) && option.long !== '--quiet');
  const isSetting = ({ long }: Option) => SETTING_NAMES.some((name) => flagName(name) === long);
  const rows = [
    ...command.registeredArguments.map((argument) => [argument.name(), argument.description]),
    ...own.filter((option) => !isSetting(option)).map((option) => [option.flags, describeOption(option)]),
  ];
  const settings = own.filter(isSetting);
  const flags = settings.map(({ long }) => `\`${long}\``).join(', ');
  const taken = settings.length === SETTING_NAMES.length ? 'each is an option' : flags;
  const table = [
    ...rows.map(([name, meaning]) => `| \`${name}\` | ${cell(meaning)} |`),
    ...(settings.length > 0 ? [`| [settings](settings.md) | ${taken} |`] : []),
    `| \`--json\` | \`result\` has ${command.options.find(isReport)?.result} |`,
  ];
  return `
## vitrine ${nameOf(command)}

${sentence(command.description())}

\`\`\`text
${usageOf(command)}
\`\`\`

| option | meaning |
|---|---|
${table.join('\n')}

\`\`\`sh
${examplesOf(command).join('\n')}
\`\`\`
`;
}

const usageOf = (command: Command) => {
  const usage = describeUsage(command);
  return usage.startsWith('vitrine') ? usage : `vitrine ${usage}`;
};

const cell = (text = '') => text.replaceAll('|', '\\|').replaceAll('&amp;', '`&amp;`');

const sentence = (text: string) => `${text[0]?.toUpperCase()}${text.slice(1)}.`;

/** What `--help` prints. */
function helpOf(command: Command): string {
  let help = '';
  const writeOut = (text: string) => {
    help += text;
  };
  command.configureOutput({ ...command.configureOutput(), writeOut });
  command.outputHelp();
  return help;
}

const examplesOf = (command: Command): string[] =>
  [...(helpOf(command).split('\nExamples:\n')[1] ?? '').matchAll(/^ {2}(.*)$/gm)].map(
    ([, line = '']) => line,
  );
