// `vitrine completion`: what a shell completes. The shell's script asks this program at each tab, so it knows the commands of
// the version that is installed. Where nothing is known, files are offered.
import { Argument, type Command, type Option } from 'commander';
import { flagName, SETTING_NAMES, SETTINGS } from '../config/config.ts';
import type { CommandContext } from './context.ts';
import { createCommand } from './options.ts';

const BASH = `_vitrine() {
  local IFS=$'\\n' current=\${COMP_WORDS[COMP_CWORD]}
  # bash takes an equals sign for a word.
  [[ $current == = ]] && current=''
  COMPREPLY=($(compgen -W "$(vitrine completion bash -- "\${COMP_WORDS[@]:1:$COMP_CWORD}")" -- "$current"))
}
complete -o default -F _vitrine vitrine
`;

/** zsh runs what is written for bash. */
const ZSH = `(( $+functions[compdef] )) || { autoload -U +X compinit && compinit -i; }
autoload -U +X bashcompinit && bashcompinit
${BASH}`;

const FISH = `function __vitrine_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  set -l found (vitrine completion fish -- $words[2..-1] "$current")
  and test (count $found) -gt 0
  and printf '%s\\n' $found
  or __fish_complete_path "$current"
end
complete -c vitrine -f -a '(__vitrine_complete)'
`;

const SCRIPTS = { bash: BASH, zsh: ZSH, fish: FISH };
type Shell = keyof typeof SCRIPTS;

const HELP = `
  bash  vitrine completion bash > /etc/bash_completion.d/vitrine
  zsh   vitrine completion zsh > ~/.vitrine.zsh, and in ~/.zshrc: source ~/.vitrine.zsh
  fish  vitrine completion fish > ~/.config/fish/completions/vitrine.fish`;

export const completionCommand = (context: CommandContext) =>
  createCommand('completion', 'print what makes a shell complete commands, options and their values', [])
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(SCRIPTS)))
    .argument('[words...]', 'print what may stand in the place of the last of these words')
    .addHelpText('after', HELP)
    .action((shell: Shell, words: string[], _flags: object, command: Command) => {
      context.keepStdoutForData();
      const candidates = listCandidates(command.parent as Command, words);
      const lines = candidates.map(([word, description]) =>
        shell === 'fish' ? `${word}\t${description}\n` : `${word}\n`,
      );
      context.stdout.write(words.length === 0 ? SCRIPTS[shell] : lines.join(''));
      context.report({ summary: '', result: { shell } });
    });

type Candidate = readonly [word: string, description: string];

function listCandidates(program: Command, words: readonly string[]): Candidate[] {
  const before = words.slice(0, -1).filter((word) => word !== '=');
  const command = before.reduce<Command>(
    (found, word) => found.commands.find((part) => part.name() === word) ?? found,
    program,
  );
  const { commands, options, registeredArguments } = command;
  const option = options.find(({ long, required }) => required && long === before.at(-1));
  if (option !== undefined) return listValues(option).map((value) => [value, '']);
  if (words.at(-1)?.startsWith('-')) return options.map(({ long, description }) => [long ?? '', description]);
  return [
    ...commands.map((part): Candidate => [part.name(), part.description()]),
    ...registeredArguments.flatMap(({ argChoices = [] }) =>
      argChoices.map((choice): Candidate => [choice, '']),
    ),
  ];
}

/** The values of an option that takes one of a few. */
function listValues({ long, argChoices }: Option): readonly string[] {
  const setting = SETTING_NAMES.find((name) => flagName(name) === long);
  const { words } = (setting === undefined ? {} : SETTINGS[setting].parse) as { words?: readonly string[] };
  return argChoices ?? words ?? [];
}
