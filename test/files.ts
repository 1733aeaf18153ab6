// Files for tests: fixtures, records as lines, and temporary folders.
import { createHash } from 'node:crypto';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '..');
/** The program that tests start: that of the checkout, or one that was built. */
export const PROGRAM = join(ROOT, process.env.VITRINE_PROGRAM ?? 'src/vitrine.js');
export const fixture = (name: string) => join(ROOT, 'fixtures', name);
export const ugly = (name: string) => fixture(`ugly/${name}`);
export const readLines = (path: string) => readFileSync(path, 'utf8').split('\n').filter(Boolean);
export const readRecords = (path: string) =>
  readLines(path).map((line) => JSON.parse(line) as Record<string, unknown>);

let base: string | undefined;
/** The folder of the test file that runs. */
export const baseFolder = () => (base ??= mkdtempSync(join(tmpdir(), 'vitrine-test-')));

/** Removes the folders of a test file. */
export function removeTempFolders(): void {
  if (base !== undefined) rmSync(base, { recursive: true, force: true });
  base = undefined;
}

/** Creates a folder that is removed after the tests of the file. */
export const tempFolder = () => mkdtempSync(join(baseFolder(), 'at-'));

/** The state of a file: its bytes, modification time and inode. */
export function stateOf(path: string) {
  const { ino, size, mtimeNs } = statSync(path, { bigint: true });
  return { ino, size, mtimeNs, digest: createHash('sha256').update(readFileSync(path)).digest('hex') };
}

/** Writes the text to a file in a new folder. */
export function tempFile(name: string, content: string | Buffer): string {
  const path = join(tempFolder(), name);
  writeFileSync(path, content);
  return path;
}

/** A copy of a file in a new folder. */
export function copyOf(path: string): string {
  const copy = join(tempFolder(), 'site.db');
  copyFileSync(path, copy);
  return copy;
}

export const ndjson = (...records: object[]) =>
  records.map((record) => `${JSON.stringify(record)}\n`).join('');
