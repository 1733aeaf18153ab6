// `npm run torture -- --mutants`: breaks the program in one place at a time, by the patches in mutants/, and runs the tests that
// are meant to notice. The head of a patch says what it breaks, and which tests those are.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { ROOT } from '../support/files.ts';

const FOLDER = join(import.meta.dirname, 'mutants');
const COPIED = [
  'src',
  'test',
  'migrations',
  'fixtures',
  '.ci',
  '.github',
  'package.json',
  'README.md',
  'Dockerfile',
];
const MOST_MS = 300_000;

export interface Mutant {
  readonly name: string;
  /** What is broken. */
  readonly breaks: string;
  /** Test files: their names in any folder, without the ending, or a folder. */
  readonly tests: readonly string[];
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
      return { name, breaks, tests: tests.split(' ') };
    });
}

/** The paths of a test file that a mutant names, or of the files in a folder, such as `cases`. */
export const filesOfTest = (name: string): string[] =>
  globSync([`test/**/${name}.test.ts`, `test/${name}/*.test.ts`], { cwd: ROOT });

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

/** Applies the patch, or takes it back. */
export async function applyPatch(checkout: string, name: string, ...flags: string[]): Promise<void> {
  const { code, output } = await execute('git', ['apply', ...flags, join(FOLDER, `${name}.patch`)], checkout);
  if (code !== 0) throw new Error(`${name} does not apply any more: ${output}`);
}

/** The first test that fails with the mutant, if any does. */
async function findKiller(checkout: string, { name, tests }: Mutant): Promise<string | undefined> {
  const files = tests.flatMap((test) => filesOfTest(test));
  await applyPatch(checkout, name);
  try {
    return await findFailure(checkout, files);
  } finally {
    await applyPatch(checkout, name, '--reverse');
  }
}

/** The first test of these files that fails, if any does. */
async function findFailure(checkout: string, files: readonly string[]): Promise<string | undefined> {
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts'];
  const { code, output } = await execute(process.execPath, [...vitest, '--bail', '1', ...files], checkout);
  if (code === null) throw new Error(`no result within ${MOST_MS / 1000} s`);
  return code === 0 ? undefined : (/ FAIL .*? > (.*)/.exec(stripVTControlCharacters(output))?.[1] ?? 'all');
}

/** Prints which were noticed, and by which test; whether enough of them were. */
export async function runMutants(names: readonly string[]): Promise<boolean> {
  using checkout = copyCheckout();
  const all = readMutants();
  const unknown = names.filter((name) => !all.some((mutant) => mutant.name === name));
  if (unknown.length > 0) throw new Error(`there is no mutant called ${unknown.join(', ')}`);
  const mutants = all.filter(({ name }) => names.length === 0 || names.includes(name));
  // A test that fails without a mutant would be taken for one that notices it.
  const files = new Set(mutants.flatMap(({ tests }) => tests.flatMap((test) => filesOfTest(test))));
  const failing = await findFailure(checkout.path, [...files]);
  if (failing !== undefined) throw new Error(`"${failing}" fails without any mutant: mend it first`);
  let killed = 0;
  for (const mutant of mutants) {
    const result = await findKiller(checkout.path, mutant).then(
      (test) => (test === undefined ? 'SURVIVED' : `killed by "${test}"`),
      ({ message }) => message,
    );
    if (result.startsWith('killed')) killed++;
    console.log(`${mutant.name}, ${mutant.breaks}: ${result}`);
  }
  console.log(`${killed} of ${mutants.length} mutants killed`);
  return killed >= mutants.length * 0.95;
}
