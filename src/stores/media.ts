// Copies of pictures: remembered, linked into what is served, and forgotten when no record names them any more. All inside
// the caller's transaction, with the work tables of an import.

import { countRows, firstRow, type Rows, type StoreConnection } from './connection.ts';
import {
  ADD_NAME,
  COUNT_MARKED,
  FILES_UNNAMED,
  FORGET_UNNAMED,
  FORGET_UNNAMED_SINCE,
  findNamed,
  LINK,
  MARK_UNNAMED,
  NAMES_WITHOUT_COPY,
  SAVE,
  SET_MEDIA_URL,
  UNMARK_NAMED,
} from './media-statements.ts';
import type { Awaitable } from './reader.ts';
import { repairContents } from './soundness.ts';
import { TAKEDOWNS_MARK } from './takedowns.ts';

/** What became of the original address of a picture. */
export interface MediaEntry {
  readonly url: string;
  /** The name of our copy; null if it could not be had. */
  readonly file: string | null;
  readonly bytes: number;
  /** Why there is no copy. */
  readonly reason: string | null;
}

export interface PrunedMedia {
  /** Addresses that no record has named for long enough. */
  readonly forgotten: number;
  /** Addresses that no record names, but not for long enough yet. */
  readonly waiting: number;
}

/** Removes files from the folder of copies. */
export type RemoveFiles = (names: readonly string[]) => Awaitable<void>;

export async function saveMedia(
  db: StoreConnection,
  entries: readonly MediaEntry[],
  mark: string,
): Promise<boolean> {
  if ((await takedownsMark(db)) !== mark) return false;
  for (const { url, file, bytes, reason } of entries)
    await db.run(SAVE, [url, file ?? '', String(bytes), reason ?? '']);
  return true;
}

/** Changes with every takedown. */
export const takedownsMark = async (db: Rows) => (await firstRow(db, TAKEDOWNS_MARK))[0] ?? '';

/** How many rows that changed. */
export async function relink(db: StoreConnection, mediaUrl: string): Promise<number> {
  await db.run(SET_MEDIA_URL, [mediaUrl]);
  await db.run(LINK);
  return repairContents(db);
}

/** Forgets what no record has named for `grace` seconds: a record that is being imported may name it again. */
export async function pruneMedia(db: StoreConnection, grace: number): Promise<PrunedMedia> {
  const now = Math.floor(Date.now() / 1000);
  await fillNamed(db);
  await db.run(UNMARK_NAMED);
  await db.run(MARK_UNNAMED, [String(now)]);
  const forgotten = await db.run(FORGET_UNNAMED_SINCE, [String(now - grace)]);
  return { forgotten, waiting: await countRows(db, COUNT_MARKED) };
}

/**
 * Forgets at once what no record names any more, since an address may hold a name. The files go first: should this be
 * interrupted, doing it again removes the rest.
 */
export async function forgetUnnamed(db: StoreConnection, removeFiles: RemoveFiles): Promise<void> {
  await fillNamed(db);
  const files = await Array.fromAsync(db.rows(FILES_UNNAMED));
  await removeFiles(files.map(([file = '']) => file));
  await db.run(FORGET_UNNAMED);
}

/** Of the names of files, those that no copy has. */
export async function unknownFiles(db: StoreConnection, names: readonly string[]): Promise<string[]> {
  for (const name of names) await db.run(ADD_NAME, [name]);
  const unknown = await Array.fromAsync(db.rows(NAMES_WITHOUT_COPY));
  return unknown.map(([name = '']) => name);
}

async function fillNamed(db: StoreConnection): Promise<void> {
  for (const statement of findNamed(db.member)) await db.run(statement);
}
