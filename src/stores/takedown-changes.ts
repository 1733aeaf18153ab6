// Takedowns: what was taken down is removed, listed as salted hashes, and skipped by every later import. All inside the
// caller's transaction, with the work tables of an import.
import { randomBytes } from 'node:crypto';
import { FAMILIES } from '../records/kinds.ts';
import { forgetUnnamed } from './media.ts';
import type { MergeConnection } from './merge.ts';
import { findItem, findUser, type Removed, removeItems, removeUsers } from './removal.ts';
import {
  ADD_SALT,
  addEntry,
  addUserId,
  addUserItems,
  COPY_ENTRY,
  COPY_SALT,
  deleteEntry,
  findListed,
} from './takedown-statements.ts';
import type { TakedownList, TakedownResult, TakedownState, TakedownSubject } from './takedowns.ts';
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
    for (const [index, subject] of subjects.entries())
      if (subject.family === family) states[index] = await takeDownOne(db, subject, today);
    add(removed, await removeUsers(db, family));
    add(removed, await removeItems(db, family));
  }
  await forgetUnnamed(db, removeFiles);
  return { states, ...removed };
}

/** Lists a subject, and notes what is to be removed of it in `touched` or `gone`. */
async function takeDownOne(
  db: MergeConnection,
  { family, kind, value }: TakedownSubject,
  today: string,
): Promise<TakedownState> {
  const isNew = (await db.run(addEntry(family, kind), [value, today])) > 0;
  if (kind === 'user') {
    await db.run(addUserId(family), [value, today]);
    await db.run(addUserItems(family), [value, today]);
  }
  const found = await db.run(kind === 'user' ? findUser(family) : findItem(family), [value]);
  return found > 0 ? 'removed' : isNew ? 'unknown' : 'known';
}

/** Allows imports to bring it again; for each subject whether it had been taken down. */
export async function undoTakedowns(
  db: MergeConnection,
  subjects: readonly TakedownSubject[],
): Promise<boolean[]> {
  const results: boolean[] = [];
  for (const { family, kind, value } of subjects)
    results.push((await db.run(deleteEntry(family, kind), [value])) > 0);
  return results;
}

/** Takes over the list of another database and removes what it names. */
export async function adoptTakedowns(
  db: MergeConnection,
  { salts, entries }: TakedownList,
  removeFiles: RemoveFiles,
): Promise<Removed> {
  for (const salt of salts) await db.run(COPY_SALT, [salt]);
  for (const { hash, entry, family, kind, since } of entries)
    await db.run(COPY_ENTRY, [hash, entry, family, kind, since]);
  const removed = { users: 0, items: 0 };
  for (const family of FAMILIES) {
    const { users, items } = findListed(family);
    if (entries.some((entry) => entry.family === family && entry.kind === 'user')) {
      await db.run(users);
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

function add(sum: { users: number; items: number }, { users, items }: Removed): void {
  sum.users += users;
  sum.items += items;
}
