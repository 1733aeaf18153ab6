// Files for tests: fixtures, records as lines, and temporary folders.
import { createHash } from 'node:crypto';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');
/** The program that tests start: that of the checkout, or one that was built. */
export const PROGRAM = join(ROOT, process.env.VITRINE_PROGRAM ?? 'src/vitrine.js');
export const fixture = (name: string) => join(ROOT, 'fixtures', name);
export const ugly = (name: string) => fixture(`ugly/${name}`);
export const readLines = (path: string) => readFileSync(path, 'utf8').split('\n').filter(Boolean);
export const readRecords = (path: string) =>
  readLines(path).map((line) => JSON.parse(line) as Record<string, unknown>);

const makeBase = (parent: string) => mkdtempSync(join(parent, 'vitrine-test-'));
let base: string | undefined;
/** The folder of the test file that runs. */
export const baseFolder = () => (base ??= makeBase(tmpdir()));

let plainBase: string | undefined;
const plainBaseFolder = () =>
  (plainBase ??= /^[\w.@+/-]+$/.test(baseFolder()) ? baseFolder() : makeBase('/tmp'));

/** Removes the folders of a test file. */
export function removeTempFolders(): void {
  for (const folder of [base, plainBase])
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  base = plainBase = undefined;
}

/** Creates a folder that is removed after the tests of the file. */
export const tempFolder = () => mkdtempSync(join(baseFolder(), 'at-'));

/** Creates one with a path that the configuration of a web server takes, which TMPDIR may not have. */
export const plainFolder = () => mkdtempSync(join(plainBaseFolder(), 'at-'));

/** A module that Node loads first, for NODE_OPTIONS. */
export const loadedFirst = (code: string) => `--import=data:text/javascript,${encodeURIComponent(code)}`;

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
