// The writer of both stores: each method is one change, made by SQL that they share. A store says how a change is made.

import type { Family } from '../records/kinds.ts';
import type { Awaitable } from './reader.ts';
import {
  boundChanges,
  keepGeneration,
  listChanges,
  markDelivered,
  markUnreached,
  readGeneration,
  readPending,
} from './sql/changes.ts';
import type { DeriveOptions } from './sql/derive.ts';
import { type FetchEnd, finishFetch } from './sql/fetches.ts';
import { eraseNames, keepsNames, leaveNames } from './sql/former-names.ts';
import type { Load, LoadOptions, LoadOutcome } from './sql/load.ts';
import {
  type HasFile,
  noteTry,
  type OriginalState,
  pruneCopies,
  relink,
  saveFacts,
  saveOriginals,
  unknownFiles,
} from './sql/media.ts';
import type { MeasuredCopy, UndecodedCopy } from './sql/media-statements.ts';
import { merge } from './sql/merge.ts';
import { type RemovalCounts, removeUser } from './sql/removal.ts';
import { repairAll } from './sql/soundness.ts';
import type { Change, SqlAdapter } from './sql/sql-adapter.ts';
import { adoptTakedowns, takeDown, undoTakedowns } from './sql/takedown-changes.ts';
import type { TakedownList, TakedownSubject } from './sql/takedowns.ts';
import { type RemoveFiles, removeUnnamed } from './sql/unnamed-copies.ts';
import { noStep, type StepListener } from './steps.ts';

export type Writer = ReturnType<typeof createWriter>;

type Action<T> = (db: SqlAdapter) => Promise<T>;

interface StoreAccess {
  load(options: LoadOptions): Awaitable<Load>;
  /** Outside of transactions. */
  readonly adapter: SqlAdapter;
  readonly change: Change;
  /** Overwrites copies of what was deleted. Returns a sentence about what stays of them, and why. */
  readonly eraseTraces?: (onStep?: StepListener) => Awaitable<string | undefined>;
  /** A sentence if earlier versions have left deleted data in unused space. */
  readonly describeTraces?: () => string | undefined;
  close(): Awaitable<void>;
}

export interface TakedownOptions {
  /** The names stay among the changes until `eraseNames`, so that subscribers can be notified. */
  readonly keepNames?: boolean;
}

export function createWriter(access: StoreAccess) {
  const { load, close } = access;
  const change = inTurn(access.change);
  const store = { ...access, change };
  return {
    load,
    close,
    /** Removes one user and all their items. Returns undefined for an unknown user. */
    remove: (family: Family, userKey: string) =>
      change(withNewGeneration((db) => removeUser(db, family, userKey), isDefined)),
    /** Rebuilds the lists and ETags that do not match the items and records. Returns how many there were. */
    repair: (options?: DeriveOptions) =>
      change(withNewGeneration((db) => repairAll(db, options), isPositive)),
    ...takedownChanges(store),
    ...mediaChanges(change),
    ...deliveries(store),
  };
}

/** One change after the other: a connection has one transaction at a time, and callers need not wait for each other. */
function inTurn(change: Change): Change {
  let last: Promise<unknown> = Promise.resolve();
  return (action) => {
    const made = last.then(() => change(action));
    last = made.catch(() => {});
    return made;
  };
}

function takedownChanges({ change, eraseTraces = noTraces, describeTraces = noTraces }: StoreAccess) {
  return {
    /** Removes users and items, and keeps imports from bringing them back. `cleanUp` comes next. */
    takeDown: (subjects: readonly TakedownSubject[], { keepNames = false }: TakedownOptions = {}) =>
      change(asTakedown((db) => takeDown(db, subjects), keepNames)),
    /** Takes over the takedowns of another database. Returns how much that removed here. `cleanUp` comes next. */
    adoptTakedowns: (list: TakedownList, { keepNames = false }: TakedownOptions = {}) =>
      change(asTakedown((db) => adoptTakedowns(db, list), keepNames)),
    /**
     * Does what is slow after a takedown and makes no difference to answers. It removes copies of pictures that no record names,
     * and erases deleted data from unused space. Returns a sentence about what could not be erased.
     */
    async cleanUp(removeFiles: RemoveFiles, onStep = noStep): Promise<string | undefined> {
      await removeUnnamed(change, removeFiles, onStep);
      return await eraseTraces(onStep);
    },
    /** A sentence if earlier versions have left deleted data in unused space. */
    describeTraces,
    /** Lets imports bring them again. Returns whether each had been taken down. */
    undoTakedowns: (subjects: readonly TakedownSubject[]) =>
      change(withNewGeneration((db) => undoTakedowns(db, subjects), isDefined)),
  };
}

const mediaChanges = (change: StoreAccess['change']) => ({
  /** Ends a fetch. Links what was copied, and remembers what the next one can skip. Returns how many rows that rebuilt. */
  finishFetch: (end: FetchEnd) => change((db) => finishFetch(db, end, () => advance(db, 'generation > 0'))),
  /** Rebuilds what is served, with every copy under this address. Returns how many rows that changed. */
  relink: (mediaUrl: string) => change((db) => relink(db, mediaUrl, () => advance(db, 'generation > 0'))),
  /**
   * Remembers copies of pictures, which are served once they are linked. `mark` is that of the archive in which records
   * named them. If a user was taken down since, nothing is remembered, and it returns false. `hasFile` tells whether a file is
   * still there.
   */
  saveOriginals: (entries: readonly OriginalState[], mark: string, hasFile: HasFile = () => true) =>
    change((db) => saveOriginals(db, entries, mark, hasFile)),
  /** Remembers what pages need to know of a copy. Returns false if no address has it any more. */
  saveFacts: (file: string, facts: MeasuredCopy | UndecodedCopy) =>
    change((db) => saveFacts(db, file, facts)),
  /** Notes that a copy is about to be decoded, so that one that ends the process is not tried for ever. */
  noteTry: (file: string, bytes: number) => change((db) => noteTry(db, file, bytes)),
  /** Forgets addresses that no record has named for `grace` seconds. */
  pruneCopies: (grace: number, onStep?: StepListener) => change((db) => pruneCopies(db, grace, onStep)),
  /** Files that are no known copy, and that no record names under `mediaUrl`. */
  unknownFiles: (names: readonly string[], mediaUrl: string) =>
    change((db) => unknownFiles(db, names, mediaUrl)),
});

/** What caches and subscribers are told of changes. */
const deliveries = ({ adapter, change, eraseTraces = noTraces }: StoreAccess) => ({
  /** The changes that these subscribers do not know. */
  readPending: (subscribers: readonly string[]) => change((db) => readPending(db, subscribers)),
  markDelivered: (subscribers: readonly string[], generation: number) =>
    change((db) => markDelivered(db, subscribers, generation)),
  markUnreached: (subscribers: readonly string[]) => change((db) => markUnreached(db, subscribers)),
  /** Whether a takedown has left names for subscribers. It waits for no other writer. */
  keepsNames: () => keepsNames(adapter),
  /** Erases them. A command that is interrupted in between erases them again. */
  eraseNames: () => eraseNames(change, eraseTraces),
});

const noTraces = () => undefined;
const isDefined = (result: unknown) => result !== undefined;
const isPositive = (changed: number) => changed > 0;

/** The action gives the data a new generation, if what is served may have changed. */
const withNewGeneration =
  <T>(action: Action<T>, changesAnswers: (result: T) => boolean): Action<T> =>
  async (db) => {
    const result = await action(db);
    // Only an import makes a new database ready to be served.
    if (changesAnswers(result)) await advance(db, 'generation > 0');
    return result;
  };

/** The action is a takedown. Its result names the users with other answers. */
const asTakedown =
  <Result extends RemovalCounts>(action: Action<Result>, keepNames: boolean) =>
  async (db: SqlAdapter) => {
    const before = await readGeneration(db);
    const result = await action(db);
    const changes = before === 0 ? [] : await listChanges(db, before);
    await advance(db, 'generation > 0');
    await leaveNames(db, result.users, keepNames);
    return { ...result, changes };
  };

/**
 * A new generation, if the condition holds. It is the time, so that what is imported after a standby was promoted is newer
 * than what the lost primary had last, wherever that had come to.
 */
export async function advance(db: SqlAdapter, condition: string): Promise<void> {
  await db.run(keepGeneration(condition));
  await db.run(
    `UPDATE vitrine SET generation = CASE WHEN generation < ${db.now} THEN ${db.now} ELSE generation + 1 END
     WHERE ${condition}`,
  );
  await boundChanges(db);
}

/**
 * Makes the staged rows one change of the data, in the transaction of the caller, who commits it or rolls back. The tallies
 * are undefined if the import was refused. `changes` is the number of records that it changed.
 */
export async function importStaged(db: SqlAdapter, options: LoadOptions, ending: LoadOutcome) {
  const { onStep = noStep } = options;
  const tallies = await merge(db, options);
  if (tallies === undefined || ending !== 'commit') return { tallies, changes: 0, commits: false };
  const changes = Object.values(tallies).reduce(
    (sum, tally) => sum + tally.new + tally.changed + tally.removed,
    0,
  );
  onStep('changes');
  // The first import counts even when it was empty: with it the database is ready to be served.
  await advance(db, changes > 0 ? 'true' : 'generation = 0');
  await db.run(`UPDATE vitrine SET last_run = ${db.now}`);
  options.beforeCommit?.();
  return { tallies, changes, commits: true };
}
