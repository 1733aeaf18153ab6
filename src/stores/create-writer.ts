// The writer of both stores: each method is one change, made by SQL that they share. A store says how a change is made.

import {
  boundChanges,
  ERASE_LATER,
  ERASED,
  eraseChanges,
  forgetChanges,
  hasFormerNames,
  keepGeneration,
  keepsNames,
  listChanges,
} from './changes.ts';
import { countRows, type StoreConnection } from './connection.ts';
import { pruneMedia, relink, saveMedia, unknownFiles } from './media.ts';
import { merge } from './merge.ts';
import { packAnswers, repairPacked } from './packed-rows.ts';
import { type RemovalCounts, removeUser } from './removal.ts';
import { repairContents } from './soundness.ts';
import { readUntold, rememberTold } from './subscribers.ts';
import { adoptTakedowns, takeDown, undoTakedowns } from './takedown-changes.ts';
import type { LoadOptions, LoadOutcome, Tallies, Writer } from './writer.ts';

interface StoreAccess extends Pick<Writer, 'load' | 'close'> {
  /** Outside of transactions. */
  readonly connection: StoreConnection;
  /**
   * Runs an action in a transaction with the work tables of an import. With `erases`, the database holds no copy of what
   * was deleted afterwards.
   */
  change<T>(action: (db: StoreConnection) => Promise<T>, erases: boolean): Promise<T>;
}

interface ChangeOptions<T> {
  /** Whether something that is served changed: then the data gets a new generation. Without it, it always does. */
  readonly changesAnswers?: (result: T) => boolean;
}

const INVISIBLE = { changesAnswers: () => false };
const IF_ANY = { changesAnswers: (changed: number) => changed > 0 };

export function createWriter(store: StoreAccess): Writer {
  const change = <T>(
    action: (db: StoreConnection) => Promise<T>,
    { changesAnswers = () => true }: ChangeOptions<T> = {},
  ) =>
    store.change(async (db) => {
      const result = await action(db);
      await packAnswers(db);
      // Only an import makes a new database ready to be served.
      if (changesAnswers(result)) await advance(db, 'generation > 0');
      return result;
    }, false);

  /** A takedown. With `keepNames`, the names stay in `changes` until `eraseNames`. */
  const takeOut = <Result extends RemovalCounts>(
    action: (db: StoreConnection) => Promise<Result>,
    keepNames: boolean,
  ) =>
    store.change(async (db) => {
      const before = await countRows(db, 'SELECT generation FROM vitrine');
      const result = await action(db);
      await packAnswers(db);
      const changes = before === 0 ? [] : await listChanges(db, before);
      await advance(db, 'generation > 0');
      if (result.users > 0 || (await hasFormerNames(db)))
        await (keepNames ? db.run(ERASE_LATER) : forgetChanges(db));
      return { ...result, changes };
    }, true);

  return {
    load: store.load,
    close: store.close,
    remove: (family, userKey) =>
      change((db) => removeUser(db, family, userKey), { changesAnswers: (removed) => removed !== undefined }),
    takeDown: (subjects, removeFiles, keepNames = false) =>
      takeOut((db) => takeDown(db, subjects, removeFiles), keepNames),
    adoptTakedowns: (list, removeFiles, keepNames = false) =>
      takeOut((db) => adoptTakedowns(db, list, removeFiles), keepNames),
    undoTakedowns: (subjects) => change((db) => undoTakedowns(db, subjects)),
    repair: () => change(async (db) => (await repairContents(db)) + (await repairPacked(db)), IF_ANY),
    relink: (mediaUrl) => change((db) => relink(db, mediaUrl), IF_ANY),
    saveMedia: (entries, mark) => change((db) => saveMedia(db, entries, mark), INVISIBLE),
    pruneMedia: (grace) => change((db) => pruneMedia(db, grace), INVISIBLE),
    unknownFiles: (names) => change((db) => unknownFiles(db, names), INVISIBLE),
    readUntold: (subscribers) => change((db) => readUntold(db, subscribers), INVISIBLE),
    rememberTold: (subscribers, generation) =>
      change((db) => rememberTold(db, subscribers, generation), INVISIBLE),
    keepsNames: () => keepsNames(store.connection),
    async eraseNames() {
      // A command that is interrupted in between erases them again.
      await store.change(eraseChanges, true);
      await change(async (db) => void (await db.run(ERASED)), INVISIBLE);
    },
  };
}

/**
 * A new generation, if the condition holds. It is the time, so that what is imported after a standby was promoted is newer
 * than what the lost primary had last, wherever that had come to.
 */
export async function advance(db: StoreConnection, condition: string): Promise<void> {
  await db.run(keepGeneration(condition));
  await db.run(
    `UPDATE vitrine SET generation = CASE WHEN generation < ${db.now} THEN ${db.now} ELSE generation + 1 END
     WHERE ${condition}`,
  );
  await boundChanges(db);
}

interface ImportResult {
  /** Undefined when the import was refused. */
  readonly tallies: Tallies | undefined;
  /** How many records it changed. */
  readonly changes: number;
  /** The caller commits, or else rolls back. */
  readonly commits: boolean;
}

/** Makes the staged rows one change of the data, in the caller's transaction. */
export async function importStaged(
  db: StoreConnection,
  options: LoadOptions,
  ending: LoadOutcome,
): Promise<ImportResult> {
  const tallies = await merge(db, options, ending);
  if (tallies === undefined || ending !== 'commit') return { tallies, changes: 0, commits: false };
  await packAnswers(db);
  const changes = Object.values(tallies).reduce(
    (sum, tally) => sum + tally.new + tally.changed + tally.removed,
    0,
  );
  // The first import counts even when it was empty: with it the database is ready to be served.
  await advance(db, changes > 0 ? 'true' : 'generation = 0');
  await db.run(`UPDATE vitrine SET last_run = ${db.now}`);
  return { tallies, changes, commits: true };
}
