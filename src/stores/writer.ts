// The writer of both stores: each method is one change, made by SQL that they share. A store says how a change is made.
import type { Family } from '../records/kinds.ts';
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
import type { Load, LoadOptions, LoadOutcome } from './load.ts';
import { type MediaEntry, pruneMedia, type RemoveFiles, relink, saveMedia, unknownFiles } from './media.ts';
import { merge } from './merge.ts';
import { packAnswers, repairPacked } from './packed-rows.ts';
import type { Awaitable } from './reader.ts';
import { type RemovalCounts, removeUser } from './removal.ts';
import { repairContents } from './soundness.ts';
import { readUntold, rememberTold } from './subscribers.ts';
import { adoptTakedowns, takeDown, undoTakedowns } from './takedown-changes.ts';
import type { TakedownList, TakedownSubject } from './takedowns.ts';

export type Writer = ReturnType<typeof createWriter>;

type Action<T> = (db: StoreConnection) => Promise<T>;

interface StoreAccess {
  load(options: LoadOptions): Awaitable<Load>;
  /** Outside of transactions. */
  readonly connection: StoreConnection;
  /** Runs an action in a transaction with the work tables of an import. */
  change<T>(action: Action<T>): Promise<T>;
  /** The same. Afterwards, the database holds no copy of what was deleted. */
  erase<T>(action: Action<T>): Promise<T>;
  close(): Awaitable<void>;
}

interface TakedownOptions {
  /** The names stay among the changes until `eraseNames`, so that subscribers can be told. */
  readonly keepNames?: boolean;
}

export function createWriter({ load, close, connection, change, erase }: StoreAccess) {
  return {
    load,
    close,
    /** Removes one user and all their items; undefined for an unknown user. */
    remove: (family: Family, userKey: string) =>
      change(advancing((db) => removeUser(db, family, userKey), isDefined)),
    /** Removes users and items, and the copies that only they named; keeps imports from bringing them back. */
    takeDown: (
      subjects: readonly TakedownSubject[],
      removeFiles: RemoveFiles,
      { keepNames = false }: TakedownOptions = {},
    ) => erase(takingOut((db) => takeDown(db, subjects, removeFiles), keepNames)),
    /** Takes over the takedowns of another database; how much that removed here. */
    adoptTakedowns: (
      list: TakedownList,
      removeFiles: RemoveFiles,
      { keepNames = false }: TakedownOptions = {},
    ) => erase(takingOut((db) => adoptTakedowns(db, list, removeFiles), keepNames)),
    /** Lets imports bring them again; whether each had been taken down. */
    undoTakedowns: (subjects: readonly TakedownSubject[]) =>
      change(advancing((db) => undoTakedowns(db, subjects), isDefined)),
    /** Rebuilds the lists and ETags that do not match the items and records; how many there were. */
    repair: () =>
      change(advancing(async (db) => (await repairContents(db)) + (await repairPacked(db)), isSome)),
    /** Rebuilds what is served, with every copy under this address; how many rows that changed. */
    relink: (mediaUrl: string) => change(advancing((db) => relink(db, mediaUrl), isSome)),
    /**
     * Remembers copies of pictures, which are served once they are linked. `mark` is that of the archive in which records
     * named them: false, and nothing is remembered, if somebody was taken down since.
     */
    saveMedia: (entries: readonly MediaEntry[], mark: string) => change((db) => saveMedia(db, entries, mark)),
    /** Forgets addresses that no record has named for `grace` seconds. */
    pruneMedia: (grace: number) => change((db) => pruneMedia(db, grace)),
    /** Of the names of files, those that no copy has. */
    unknownFiles: (names: readonly string[]) => change((db) => unknownFiles(db, names)),
    /** What these subscribers have not been told yet. */
    readUntold: (subscribers: readonly string[]) => change((db) => readUntold(db, subscribers)),
    rememberTold: (subscribers: readonly string[], generation: number) =>
      change((db) => rememberTold(db, subscribers, generation)),
    /** Whether a takedown has left names for subscribers; waits for no other writer. */
    keepsNames: () => keepsNames(connection),
    /** Erases them. A command that is interrupted in between erases them again. */
    async eraseNames(): Promise<void> {
      await erase(eraseChanges);
      await change(async (db) => void (await db.run(ERASED)));
    },
  };
}

const isDefined = (result: unknown) => result !== undefined;
const isSome = (changed: number) => changed > 0;

/** The action gives the data a new generation, if what is served may have changed. */
const advancing =
  <T>(action: Action<T>, changesAnswers: (result: T) => boolean): Action<T> =>
  async (db) => {
    const result = await action(db);
    await packAnswers(db);
    // Only an import makes a new database ready to be served.
    if (changesAnswers(result)) await advance(db, 'generation > 0');
    return result;
  };

/** The action is a takedown; its result names whose answers that changed. */
const takingOut =
  <Result extends RemovalCounts>(action: Action<Result>, keepNames: boolean) =>
  async (db: StoreConnection) => {
    const before = await countRows(db, 'SELECT generation FROM vitrine');
    const result = await action(db);
    await packAnswers(db);
    const changes = before === 0 ? [] : await listChanges(db, before);
    await advance(db, 'generation > 0');
    if (result.users > 0 || (await hasFormerNames(db)))
      await (keepNames ? db.run(ERASE_LATER) : forgetChanges(db));
    return { ...result, changes };
  };

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

/**
 * Makes the staged rows one change of the data, in the transaction of the caller, who commits it or rolls back. The tallies
 * are undefined if the import was refused; `changes` is the number of records that it changed.
 */
export async function importStaged(db: StoreConnection, options: LoadOptions, ending: LoadOutcome) {
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
