// `vitrine completion`: what a shell completes, written from the table of commands. Where nothing is known it offers files.
import { Argument, type Command, type Option } from 'commander';
import { flagName, SETTING_NAMES, SETTINGS } from '../config/config.ts';
import type { CommandContext } from './context.ts';
import { createCommand } from './options.ts';

const SHELLS = { bash, zsh, fish };
type Shell = keyof typeof SHELLS;

const HELP = `
  bash  vitrine completion bash > /etc/bash_completion.d/vitrine
  zsh   vitrine completion zsh > ~/.vitrine.zsh, and in ~/.zshrc: source ~/.vitrine.zsh
  fish  vitrine completion fish > ~/.config/fish/completions/vitrine.fish`;

export const completionCommand = (context: CommandContext) =>
  createCommand('completion', 'print what makes a shell complete commands, options and their values', [])
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(SHELLS)))
    .addHelpText('after', HELP)
    .action((shell: Shell, _flags: object, command: Command) => {
      context.keepStdoutForData();
      context.stdout.write(SHELLS[shell](listEntries(command.parent as Command)));
      context.report({ summary: '', result: { shell } });
    });

interface Entry {
  /** The names that lead to the command: none for the program itself. */
  readonly path: readonly string[];
  readonly options: readonly Option[];
  /** What may stand at the place of an argument, with descriptions. */
  readonly words: readonly (readonly [word: string, description: string])[];
}

function listEntries(command: Command, path: readonly string[] = []): Entry[] {
  const { commands, options, registeredArguments } = command;
  const words = [
    ...commands.map((part) => [part.name(), part.description()] as const),
    ...registeredArguments.flatMap(({ argChoices = [] }) =>
      argChoices.map((choice) => [choice, ''] as const),
    ),
  ];
  const entry = { path, words, options: options.filter(({ hidden }) => !hidden) };
  return [entry, ...commands.flatMap((part) => listEntries(part, [...path, part.name()]))];
}

/** The values of an option that takes one of a few. */
function listValues({ long, argChoices }: Option): readonly string[] {
  const setting = SETTING_NAMES.find((name) => flagName(name) === long);
  const { words } = (setting === undefined ? {} : SETTINGS[setting].parse) as { words?: readonly string[] };
  return argChoices ?? words ?? [];
}

const takesValue = ({ required, optional }: Option) => required || optional;

function bash(entries: readonly Entry[]): string {
  const groups = entries.filter(({ path }) =>
    entries.some((other) => other.path[1] && other.path[0] === path[0] && path.length === 1),
  );
  const values = entries.flatMap(({ path, options }) =>
    options
      .filter(takesValue)
      .map((option) => `    '${path.join(' ')}:${option.long}') words='${listValues(option).join(' ')}' ;;`),
  );
  const words = entries.map(({ path, options, words: places }) => {
    const flags = options.map(({ long }) => long).join(' ');
    const others = places.map(([word]) => word).join(' ');
    return `    '${path.join(' ')}') [[ $current == -* ]] && words='${flags}' || words='${others}' ;;`;
  });
  return `_vitrine() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]} command='' words=''
  # bash takes an equals sign for a word.
  [[ $before == = ]] && before=\${COMP_WORDS[COMP_CWORD - 2]}
  [[ $current == = ]] && current=''
  (( COMP_CWORD > 1 )) && command=\${COMP_WORDS[1]}
  case "$command" in
    ${groups.map(({ path }) => path[0]).join('|')}) (( COMP_CWORD > 2 )) && command="$command \${COMP_WORDS[2]}" ;;
  esac
  case "$command:$before" in
${values.join('\n')}
    *)
      case "$command" in
${words.join('\n')}
      esac
      ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _vitrine vitrine
`;
}

/** zsh runs what is written for bash. */
function zsh(entries: readonly Entry[]): string {
  return `(( $+functions[compdef] )) || { autoload -U +X compinit && compinit -i; }
autoload -U +X bashcompinit && bashcompinit
${bash(entries)}`;
}

function fish(entries: readonly Entry[]): string {
  const lines = entries.flatMap(({ path, options, words }) => {
    const at = `complete -c vitrine -n '${path.length === 0 ? '__vitrine_is' : '__vitrine_at'} ${path.join(' ')}'`;
    return [
      ...words.map(
        ([word, description]) =>
          `complete -c vitrine -f -n '__vitrine_is ${path.join(' ')}' -a ${word} -d ${quoted(description)}`,
      ),
      ...options.map(
        (option) => `${at} -l ${option.long?.slice(2)} -d ${quoted(option.description)}${fishValue(option)}`,
      ),
    ];
  });
  return `# Whether the words so far are these, or begin with them.
function __vitrine_is
  set -l words (commandline -opc)
  test "$words[2..-1]" = "$argv"
end
function __vitrine_at
  set -l words (commandline -opc)
  string match -q -- "$argv *" "$words[2..-1] "
end
${lines.join('\n')}
`;
}

function fishValue(option: Option): string {
  if (!takesValue(option)) return '';
  const values = listValues(option);
  return values.length === 0 ? ' -r' : ` -x -a '${values.join(' ')}'`;
}

const quoted = (text: string) => `'${text.replace(/[\\']/g, '\\$&')}'`;
