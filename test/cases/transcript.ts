// Reads and writes transcripts, the files of fixtures/cases. Their README.md says what they look like.

export interface Transcript {
  readonly title: string;
  readonly steps: Step[];
  readonly files: readonly CaseFile[];
}

export interface Step {
  /** As it is written after `$ `. */
  readonly line: string;
  /** `NAME=VALUE` before the command. */
  readonly env: Readonly<Record<string, string>>;
  readonly command: string;
  readonly words: readonly string[];
  /** The file of the case that is standard input. */
  readonly input: string | undefined;
  /** Only the lines that match are shown. */
  readonly pattern: RegExp | undefined;
  /** The server goes on while the next commands run. */
  readonly isBackground: boolean;
}

export interface CaseFile {
  readonly name: string;
  readonly text: string;
}

export function parseTranscripts(text: string): Transcript[] {
  return text
    .split(/^=== /m)
    .slice(1)
    .map((part, index, { length }) => {
      const title = part.slice(0, part.indexOf('\n'));
      // A blank line stands before the next case.
      const content = part.slice(title.length + 1, index === length - 1 ? undefined : -1);
      const [script = '', ...rest] = content.split(/^-- (.+?) --(?:\n| (?=.))/m);
      const steps = [...script.matchAll(/^\$ (.*)$/gm)].map(([, line = '']) => parseStep(line));
      return { title, steps, files: pairs(rest) };
    });
}

/** The text of one case: each command with what it printed below it, and then the files. */
export function formatTranscript({ title, steps, files }: Transcript, outputs: readonly string[]): string {
  const ran = steps.map(({ line }, index) => `$ ${line}\n${outputs[index] ?? ''}`);
  const given = files.map(({ name, text }) => `-- ${name} --${isOneLine(text) ? ' ' : '\n'}${text}`);
  return `=== ${title}\n${ran.join('')}${given.length === 0 ? '' : `\n${given.join('')}`}`;
}

/** It stands on the line of the file's name. */
const isOneLine = (text: string) => /^[^\n]+\n$/.test(text);

/** A command for each word between braces, as in `curl /{a,b}`. */
export function alternativesOf(step: Step): Step[] {
  const [, before, words = '', after] = /^([^|{]*)\{([^{} ]*,[^{} ]*)\}(.*)$/.exec(step.line) ?? [];
  if (before === undefined) return [step];
  return words.split(',').flatMap((word) => alternativesOf(parseStep(`${before}${word}${after}`)));
}

function parseStep(line: string): Step {
  const [, program = '', output = ''] = /^(.*?)((?: \| grep .*| > \/dev\/null| &)?)$/.exec(line) ?? [];
  const words = [...program.matchAll(/(?:'[^']*'|[^' ])+/g)].map(([word]) => word.replaceAll("'", ''));
  const first = words.findIndex((word) => !/^[A-Za-z_]\w*=/.test(word));
  const env = Object.fromEntries(words.slice(0, first).map((word) => word.split(/=(.*)/s).slice(0, 2)));
  const [command = '', ...args] = words.slice(first);
  const redirected = args.indexOf('<');
  const input = redirected === -1 ? undefined : args.splice(redirected, 2)[1];
  return {
    line,
    env,
    command,
    words: args,
    input,
    pattern: parsePattern(output),
    isBackground: output === ' &',
  };
}

function parsePattern(output: string): RegExp | undefined {
  if (output === ' > /dev/null') return /^(?!)/;
  const pattern = /^ \| grep (.*)$/.exec(output)?.[1];
  return pattern === undefined ? undefined : new RegExp(pattern.replace(/^'(.*)'$/, '$1'));
}

const pairs = (rest: readonly string[]): CaseFile[] =>
  rest.flatMap((name, index) => (index % 2 === 0 ? [{ name, text: rest[index + 1] ?? '' }] : []));
