// `vitrine completion`, in the shells themselves: what is typed with tabs becomes whole command lines.
import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { ROOT, tempFolder } from '../files.ts';
import { pathOf, skipWithout } from '../programs.ts';
import { done } from '../rig.ts';

/** What is typed, and the command line it becomes: commands, options, their values, files. */
const LINES = [
  ['imp\t--fam\tmic\tpeo\t', 'import --family microblog people.ndjson'],
  ['serve --log-l\tdeb\t', 'serve --log-level debug'],
  ['med\tfe\t--media-q\t5G --files', 'media fetch --media-quota 5G --files'],
  ['print graf\t', 'print grafana-dashboard'],
  ['restore --database-url peo\t--che\t', 'restore --database-url people.ndjson --check'],
] as const;

let folder: string;
let env: Record<string, string>;
beforeAll(async () => {
  folder = tempFolder();
  // Completes as the program does, and otherwise prints its arguments.
  const program = `"${process.execPath}" "${join(ROOT, 'src/vitrine.js')}"`;
  const script = `case $1 in completion) exec ${program} "$@" ;; esac\nprintf 'RAN<%s>\\n' "$*"\n`;
  const bin = tempFolder();
  writeFileSync(join(bin, 'vitrine'), `#!/bin/sh\n${script}`, { mode: 0o755 });
  env = { PATH: `${bin}:${process.env.PATH}`, HOME: folder, ZDOTDIR: folder, TERM: 'dumb' };
  writeFileSync(join(folder, 'people.ndjson'), '');
  for (const shell of ['bash', 'zsh', 'fish'])
    writeFileSync(join(folder, `vitrine.${shell}`), await done(['completion', shell]));
});

/** Types into a shell on a terminal. */
function typed(shell: string, command: string, settings: string, line: string): string | undefined {
  for (const name of ['rc', '.zshrc'])
    writeFileSync(join(folder, name), `${settings}\nsource ./vitrine.${shell}\n`);
  const { stdout } = spawnSync('script', ['-qec', command, '/dev/null'], {
    ...{ cwd: folder, input: `vitrine ${line}\nexit\n`, env, encoding: 'utf8', timeout: 30_000 },
  });
  return /RAN<(.*)>/.exec(stdout)?.[1]?.replace(/ +/g, ' ').trim();
}

describe('bash', () => {
  test.each([...LINES, ['serve --explorer=of\t', 'serve --explorer=off'] as const])('%j', (line, whole) => {
    expect(typed('bash', 'bash --noprofile --rcfile rc -i', '', line)).toBe(whole);
  });
});

describe.skipIf(skipWithout('zsh'))('zsh', () => {
  test.each(LINES)('%j', (line, whole) => {
    expect(typed('zsh', `${pathOf('zsh')} -i`, 'HISTFILE=; setopt no_beep', line)).toBe(whole);
  });
});

// fish completes a line without a terminal.
describe.skipIf(skipWithout('fish'))('fish', () => {
  const complete = (line: string) =>
    execFileSync(
      pathOf('fish'),
      ['--no-config', '-c', `source vitrine.fish; complete -C ${JSON.stringify(line)}`],
      { cwd: folder, env, encoding: 'utf8' },
    )
      .split('\n')
      .filter(Boolean)
      .map((candidate) => candidate.split('\t')[0] as string);

  test.each(LINES)('%j', (line, whole) => {
    const words = line.split('\t');
    const last = words.pop();
    const found = words.reduce((before, word) => {
      const candidates = complete(before + word);
      return candidates.length === 1
        ? `${(before + word).replace(/\S*$/, '')}${candidates[0]} `
        : before + word;
    }, 'vitrine ');
    expect(`${found}${last}`.replace(/ +/g, ' ').trim()).toBe(`vitrine ${whole}`);
  });
});
