// Shared by import tests: reading files, running an import, and reading the database afterwards.
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { readRecords } from '../../src/import/formats/detect.ts';
import { type Entry, FormatError } from '../../src/import/formats/entry.ts';
import { openArchive, openWriter } from '../../src/stores/open.ts';
import type { Answer } from '../../src/stores/reader.ts';
import type { OriginalState } from '../../src/stores/sql/media.ts';
import type { Writer } from '../../src/stores/writer.ts';
import { tempFolder } from './files.ts';
import { run } from './run.ts';

/** What is read of a file that comes in pieces of this size: its entries, and why no more could be read. */
export async function readEntries(
  content: string | Buffer,
  size = 65_536,
  options?: Parameters<typeof readRecords>[1],
) {
  const bytes = Buffer.from(content as string);
  const entries: Entry[] = [];
  async function* pieces() {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  }
  try {
    for await (const batch of readRecords(pieces(), options)) entries.push(...batch);
    return { entries };
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    return { entries, failure: error };
  }
}

export const newPath = () => join(tempFolder(), 'site.db');

export const into = (path: string, files: string[], options: Parameters<typeof run>[1] = {}) =>
  run(['import', '--database-url', path, ...files], options);

/** Changes a SQLite database as no command does. */
export function executeSql(file: string, sql: string): void {
  const db = new Database(file);
  db.unsafeMode();
  db.exec(sql);
  db.close();
}

/** Every record of a store, one per line, in export order. */
export async function exported(url: string): Promise<string[]> {
  const reader = await openArchive(url);
  try {
    const lines: string[] = [];
    for await (const line of reader.records()) lines.push(line);
    return lines;
  } finally {
    await reader.close();
  }
}

/** The same lines, sorted. */
export const recordsIn = async (path: string) => (await exported(path)).sort();

/** The numbers of a summary line: new, changed, unchanged, removed. */
export const tally = (stdout: string, plural: string) =>
  new RegExp(`^${plural} +(\\d+) +(\\d+) +(\\d+) +(\\d+)$`, 'm').exec(stdout)?.slice(1).map(Number);

/** The text of the entries a reader found. */
export const bodyOf = (found: Answer | undefined) => String(found?.body);

/** Opens a store for one change. */
export async function change<T>(url: string, action: (writer: Writer) => T): Promise<Awaited<T>> {
  await using writer = await openWriter(url);
  return await action(writer);
}

/** What a store knows of copies of pictures. */
export async function readMedia(url: string) {
  const archive = await openArchive(url);
  try {
    const entries: OriginalState[] = [];
    for await (const entry of archive.media()) entries.push(entry);
    return { entries, mediaUrl: await archive.mediaUrl() };
  } finally {
    await archive.close();
  }
}

/** Remembers copies of pictures, whatever was taken down before. */
export async function saveOriginals(url: string, entries: readonly OriginalState[]): Promise<void> {
  const archive = await openArchive(url);
  const mark = await archive.takedownsMark();
  await archive.close();
  await change(url, (writer) => writer.saveOriginals(entries, mark));
}
