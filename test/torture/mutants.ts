// `npm run torture -- --mutants`: breaks the program in one place at a time, by the patches in mutants/, and runs the tests that
// are meant to notice. The head of a patch says what it breaks, and which tests those are.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../files.ts';

const FOLDER = join(import.meta.dirname, 'mutants');
const COPIED = ['src', 'test', 'migrations', 'fixtures', '.ci', '.github', 'package.json', 'README.md'];
const MOST_MS = 300_000;

export interface Mutant {
  readonly name: string;
  /** What is broken. */
  readonly breaks: string;
  /** Test files, without their ending. */
  readonly tests: readonly string[];
  /** Why no test can notice. */
  readonly equivalent?: string | undefined;
}

export function readMutants(): Mutant[] {
  return readdirSync(FOLDER)
    .sort()
    .map((file) => {
      const text = readFileSync(join(FOLDER, file), 'utf8');
      const line = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(text)?.[1];
      const [breaks, tests] = [line('Breaks'), line('Tests')];
      if (breaks === undefined || tests === undefined) throw new Error(`${file} lacks its head`);
      const name = file.replace(/\.patch$/, '');
      return { name, breaks, tests: tests.split(' '), equivalent: line('Equivalent') };
    });
}

/** A copy of the checkout to break. */
export function copyCheckout(): { readonly path: string } & Disposable {
  const path = mkdtempSync(join(tmpdir(), 'vitrine-mutants-'));
  for (const name of COPIED) cpSync(join(ROOT, name), join(path, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(path, 'node_modules'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

async function execute(command: string, args: readonly string[], cwd: string, timeout = MOST_MS) {
  const child = spawn(command, args, {
    cwd,
    timeout,
    killSignal: 'SIGKILL',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const [code] = await once(child, 'close');
  return { code: code as number | null, output };
}

/** Applies the patch, or takes it back. One line beside each change must still be there; all may be elsewhere. */
export async function applyPatch(checkout: string, name: string, ...flags: string[]): Promise<void> {
  const { code, output } = await execute(
    'git',
    ['apply', '-C1', ...flags, join(FOLDER, `${name}.patch`)],
    checkout,
  );
  if (code !== 0) throw new Error(`${name} does not apply any more: ${output}`);
}

async function isNoticed(checkout: string, { name, tests }: Mutant): Promise<boolean> {
  await applyPatch(checkout, name);
  try {
    const files = tests.map((test) => `test/${test}.test.ts`);
    const args = [
      'node_modules/vitest/vitest.mjs',
      'run',
      '--config',
      'test/vitest.config.ts',
      '--bail',
      '1',
      ...files,
    ];
    return (await execute(process.execPath, args, checkout)).code !== 0;
  } finally {
    await applyPatch(checkout, name, '--reverse');
  }
}

/** Prints which were noticed; how many of those that can be. */
export async function runMutants(names: readonly string[]): Promise<boolean> {
  using checkout = copyCheckout();
  const mutants = readMutants().filter(({ name }) => names.length === 0 || names.includes(name));
  let [killed, possible] = [0, 0];
  for (const mutant of mutants) {
    if (mutant.equivalent === undefined) possible++;
    const result = await isNoticed(checkout.path, mutant).then(
      (noticed) => (noticed ? 'killed' : mutant.equivalent === undefined ? 'SURVIVED' : 'equivalent'),
      ({ message }) => message,
    );
    if (result === 'killed') killed++;
    console.log(`${result} ${mutant.name}: ${mutant.breaks}`);
  }
  console.log(`${killed} of ${possible} mutants killed`);
  return killed >= possible * 0.95;
}
