// The writer of both stores: each method is one change, made by SQL that they share. A store says how a change is made.
import { pruneMedia, relink, saveMedia, unknownFiles } from './media.ts';
import type { MergeConnection } from './merge.ts';
import { packAnswers, repairPacked } from './packed-rows.ts';
import { removeUser } from './removal.ts';
import { repairContents } from './soundness.ts';
import { adoptTakedowns, takeDown, undoTakedowns } from './takedown-changes.ts';
import type { Writer } from './writer.ts';

export interface ChangeOptions<T> {
  /** Whether something that is served changed: then the data gets a new generation. Without it, it always does. */
  readonly changesAnswers?: (result: T) => boolean;
  /** Afterwards, the database holds no copy of what was deleted. */
  readonly erases?: boolean;
}

interface StoreAccess extends Pick<Writer, 'load' | 'close'> {
  /** Runs an action in a transaction with the work tables of an import. */
  change<T>(action: (db: MergeConnection) => Promise<T>, options?: ChangeOptions<T>): Promise<T>;
}

const INVISIBLE = { changesAnswers: () => false };
const IF_ANY = { changesAnswers: (changed: number) => changed > 0 };
const ERASING = { erases: true };

export function createWriter({ load, close, change: changeStore }: StoreAccess): Writer {
  const change: StoreAccess['change'] = (action, options) =>
    changeStore(async (db) => {
      const result = await action(db);
      await packAnswers(db);
      return result;
    }, options);
  return { load, close, ...changes(change) };
}

const changes = (change: StoreAccess['change']): Omit<Writer, 'load' | 'close'> => ({
  remove: (family, userKey) =>
    change((db) => removeUser(db, family, userKey), { changesAnswers: (removed) => removed !== undefined }),
  takeDown: (subjects, removeFiles) => change((db) => takeDown(db, subjects, removeFiles), ERASING),
  adoptTakedowns: (list, removeFiles) => change((db) => adoptTakedowns(db, list, removeFiles), ERASING),
  undoTakedowns: (subjects) => change((db) => undoTakedowns(db, subjects)),
  repair: () => change(async (db) => (await repairContents(db)) + (await repairPacked(db)), IF_ANY),
  relink: (mediaUrl) => change((db) => relink(db, mediaUrl), IF_ANY),
  saveMedia: (entries, mark) => change((db) => saveMedia(db, entries, mark), INVISIBLE),
  pruneMedia: (grace) => change((db) => pruneMedia(db, grace), INVISIBLE),
  unknownFiles: (names) => change((db) => unknownFiles(db, names), INVISIBLE),
});
