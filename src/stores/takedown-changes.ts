// Takedowns: what was taken down is removed, listed as salted hashes, and skipped by every later import. All inside the
// caller's transaction, with the work tables of an import.
import { randomBytes } from 'node:crypto';
import { FAMILIES } from '../records/kinds.ts';
import { takedownKey } from '../records/user-name.ts';
import { forgetUnnamed } from './media.ts';
import type { MergeConnection } from './merge.ts';
import { findItem, findUser, type RemovalCounts, removeItems, removeUsers } from './removal.ts';
import {
  ADD_SALT,
  addEntry,
  addUserId,
  addUserItems,
  COPY_ENTRY,
  COPY_SALT,
  deleteEntry,
  findListed,
  mayBeUnusual,
} from './takedown-statements.ts';
import {
  type TakedownList,
  type TakedownResult,
  type TakedownState,
  type TakedownSubject,
  takedownKeys,
  unusualNames,
} from './takedowns.ts';
import type { RemoveFiles } from './writer.ts';

const SALT_BYTES = 32;

export async function takeDown(
  db: MergeConnection,
  subjects: readonly TakedownSubject[],
  removeFiles: RemoveFiles,
): Promise<TakedownResult> {
  await db.run(ADD_SALT, [randomBytes(SALT_BYTES).toString('hex')]);
  const today = new Date().toISOString().slice(0, 10);
  const states: TakedownState[] = [];
  const removed = { users: 0, items: 0 };
  for (const family of FAMILIES) {
    const unusual = await unusualNames(db.rows(mayBeUnusual(family)));
    for (const [index, subject] of subjects.entries()) {
      if (subject.family !== family) continue;
      states[index] =
        subject.kind === 'user'
          ? await takeDownUser(db, subject, today, unusual)
          : await takeDownItem(db, subject, today);
    }
    add(removed, await removeUsers(db, family));
    add(removed, await removeItems(db, family));
  }
  await forgetUnnamed(db, removeFiles);
  return { states, ...removed };
}

/** Lists a name, and notes everybody who is here by it, in any spelling, in `touched`. */
async function takeDownUser(
  db: MergeConnection,
  { family, value }: TakedownSubject,
  today: string,
  unusual: readonly [key: string, forTakedowns: string][],
): Promise<TakedownState> {
  const name = takedownKey(value);
  const isNew = (await db.run(addEntry(family, 'user'), [name, today])) > 0;
  const spellings = unusual.filter(([, forTakedowns]) => forTakedowns === name).map(([key]) => key);
  let found = 0;
  for (const key of [name, ...spellings]) {
    await db.run(addUserId(family), [name, today, key]);
    await db.run(addUserItems(family), [name, today, key]);
    found += await db.run(findUser(family), [key]);
  }
  return subjectState(found, isNew);
}

/** Lists an item, and notes it in `gone`. */
async function takeDownItem(
  db: MergeConnection,
  { family, value }: TakedownSubject,
  today: string,
): Promise<TakedownState> {
  const isNew = (await db.run(addEntry(family, 'item'), [value, today])) > 0;
  return subjectState(await db.run(findItem(family), [value]), isNew);
}

const subjectState = (found: number, isNew: boolean): TakedownState =>
  found > 0 ? 'removed' : isNew ? 'unknown' : 'known';

/** Allows imports to bring it again; for each subject whether it had been taken down. */
export async function undoTakedowns(
  db: MergeConnection,
  subjects: readonly TakedownSubject[],
): Promise<boolean[]> {
  const results: boolean[] = [];
  for (const { family, kind, value } of subjects) {
    let deleted = 0;
    for (const key of kind === 'user' ? takedownKeys(value) : [value])
      deleted += await db.run(deleteEntry(family, kind), [key]);
    results.push(deleted > 0);
  }
  return results;
}

/** Takes over the list of another database and removes what it names. */
export async function adoptTakedowns(
  db: MergeConnection,
  { salts, entries }: TakedownList,
  removeFiles: RemoveFiles,
): Promise<RemovalCounts> {
  for (const salt of salts) await db.run(COPY_SALT, [salt]);
  for (const { hash, entry, family, kind, since } of entries)
    await db.run(COPY_ENTRY, [hash, entry, family, kind, since]);
  const removed = { users: 0, items: 0 };
  for (const family of FAMILIES) {
    const { users, unusualUsers, items } = findListed(family);
    if (entries.some((entry) => entry.family === family && entry.kind === 'user')) {
      await db.run(users);
      for (const keys of await unusualNames(db.rows(mayBeUnusual(family)))) await db.run(unusualUsers, keys);
      add(removed, await removeUsers(db, family));
    }
    // A user's entry has the ids of items as well.
    if (entries.some((entry) => entry.family === family)) {
      await db.run(items);
      add(removed, await removeItems(db, family));
    }
  }
  await forgetUnnamed(db, removeFiles);
  return removed;
}

function add(sum: { users: number; items: number }, { users, items }: RemovalCounts): void {
  sum.users += users;
  sum.items += items;
}
