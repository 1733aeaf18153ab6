// The one place where a takedown leaves a name for a while: `changes`, because caches and webhooks purge a user by it.
//
// 1. The takedown notes its generation as `erase_before`, in its transaction (`leaveNames`). Without subscribers, it erases at once.
// 2. Each subscriber is told, when the command ends (tools/notify/notify.ts). If one is not reached, the names stay for the next command.
// 3. `eraseNames` deletes the names up to `erase_before`, and notes in `erased_before` how far it has come: changes of earlier generations
//    lack users from now on. It overwrites the rows in the file, and takes `erase_before` back last, so that a command which ends in
//    between leaves the rest to the next. A takedown that has come meanwhile has moved `erase_before` on, which then stays.

import { StoreError } from '../errors.ts';
import type { Awaitable } from '../reader.ts';
import { type Change, countRows, firstRow, type Rows, type SqlAdapter } from './sql-adapter.ts';

/**
 * Whether a row of `changes` has a name that no profile has, and how it was written. As a count, so that
 * PostgreSQL looks the name up, and does not read all profiles.
 */
const IS_FORMER_NAME = `username IS NOT NULL AND (
  SELECT count(*) FROM profiles
  WHERE profiles.family = changes.family AND profiles.user_key = changes.user_key) = 0`;

/** After a takedown in the same transaction: names are erased later, or now if there are no subscribers. */
export async function leaveNames(db: SqlAdapter, removedUsers: number, isToldFirst: boolean): Promise<void> {
  if (removedUsers === 0 && !(await hasFormerNames(db))) return;
  await db.run('UPDATE vitrine SET erase_before = generation');
  if (isToldFirst) return;
  await deleteNames(db);
  await db.run('UPDATE vitrine SET erase_before = NULL');
}

/** Whether a change of the data leaves names in `changes` that no profile has. */
const hasFormerNames = async (db: Rows): Promise<boolean> =>
  (await firstRow(db, `SELECT user_key FROM changes WHERE ${IS_FORMER_NAME} LIMIT 1`))[0] !== undefined;

/** Whether a takedown has left names for subscribers. */
export const keepsNames = async (db: Rows): Promise<boolean> =>
  (await countRows(db, 'SELECT count(*) FROM vitrine WHERE erase_before IS NOT NULL')) > 0;

/** Once every subscriber was told. `overwrite` returns a sentence about what stays of deleted rows. */
export async function eraseNames(
  change: Change,
  overwrite: () => Awaitable<string | undefined>,
): Promise<void> {
  await change(deleteNames);
  const unerased = await overwrite();
  if (unerased !== undefined) throw new StoreError(unerased);
  await change(
    async (db) =>
      void (await db.run('UPDATE vitrine SET erase_before = NULL WHERE erase_before = erased_before')),
  );
}

/** Those of users who are gone, and former ones. The notification of the takedown has a later generation. */
async function deleteNames(db: SqlAdapter): Promise<void> {
  const before = await countRows(db, 'SELECT erase_before FROM vitrine');
  await db.run(`DELETE FROM changes WHERE profile < ${before} AND ${IS_FORMER_NAME}`);
  await db.run(`UPDATE changes SET username = NULL WHERE username IS NOT NULL AND profile < ${before}`);
  await db.run('UPDATE vitrine SET erased_before = erase_before WHERE erase_before IS NOT NULL');
}
