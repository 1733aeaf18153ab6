// Staged rows -> profiles, items and lists, in set-based SQL that SQLite and PostgreSQL both understand.
//
// `staged` holds the rows of an import as they came. For each family the steps below drop repeated ids, take out the
// rows that do not fit, move the rest over, and rebuild the lists of the users they touched. The caller's transaction
// makes it one change.
import { FAMILIES, type Family, findKind, KINDS, type KindName, perKind } from '../../records/kinds.ts';
import { noStep } from '../steps.ts';
import { addToCount } from './counts.ts';
import { derive, readServedRecord, touchRecords } from './derive.ts';
import {
  type LoadOptions,
  type Misfit,
  type Removal,
  refuseExcess,
  type Tallies,
  type Tally,
} from './load.ts';
import { unnamedSince } from './media-names.ts';
import { HAS_COPIES, namedCopies, renamingRecords } from './media-statements.ts';
import {
  COUNT_CHANGED,
  INDEXES,
  type KindStatements,
  readStagedKind,
  stagedKind,
  statementsFor,
} from './merge-statements.ts';
import { countRows, type SqlAdapter } from './sql-adapter.ts';
import { skipTakenDown } from './takedowns.ts';

/** Undefined when the import is refused for misfits; the caller then rolls back. */
export async function merge(
  db: SqlAdapter,
  { replace, maxRemoved, skipInvalid, onMisfit, onStep = noStep }: LoadOptions,
): Promise<Tallies | undefined> {
  const tallies = noTallies();
  let misfits = 0;
  const isRefused = () => misfits > 0 && !skipInvalid;
  onStep('sorting');
  for (const index of INDEXES) await db.run(index);
  const staged = await Array.fromAsync(db.rows<[string]>('SELECT DISTINCT kind FROM staged'));
  const kinds = new Set(staged.map(([kind]) => Number(kind)));
  for (const family of FAMILIES) {
    const statements = statementsFor(family);
    if (!kinds.has(statements.profileKind) && !kinds.has(statements.itemKind)) continue;
    const { plural: items } = KINDS[findKind(family, 'item')];
    onStep(`${family} names and repeated ids`);
    await db.clear('touched');
    await db.run(statements.dropRepeats);
    const takenDown = await skipTakenDown(db, family);
    await addNamedCopies(db, family);
    misfits += await takeOutClashes(db, statements, replace);
    const served = await readServedRecord(db, findKind(family, 'profile'));
    onStep(`${family} profiles`);
    const { isFirst = false, ...profiles } = await move(
      db,
      findKind(family, 'profile'),
      statements.profiles(served),
      replace,
    );
    tallies[findKind(family, 'profile')] = { ...profiles, takenDown: takenDown.profiles };
    // A vacuum meanwhile counts only what is committed. If that is nothing, PostgreSQL compares each item with each profile.
    await db.countForPlanner('profiles', profiles.new + profiles.changed + profiles.removed);
    onStep(`owners of ${items}`);
    misfits += await takeOut(db, statements.ownerless(skipInvalid));
    if (isRefused()) continue;
    onStep(items);
    const { isFirst: _, ...moved } = await move(db, findKind(family, 'item'), statements.items, replace);
    tallies[findKind(family, 'item')] = { ...moved, takenDown: takenDown.items };
    const removals = [
      countRemoval(findKind(family, 'profile'), profiles),
      countRemoval(findKind(family, 'item'), moved),
    ];
    if (maxRemoved !== undefined) refuseExcess('--replace', removals, maxRemoved);
    await addToCount(db, findKind(family, 'profile'), profiles.new - profiles.removed);
    await addToCount(db, findKind(family, 'item'), moved.new - moved.removed);
    onStep(`lists of ${items}`);
    await derive(db, family, { notes: 'touched', hasProfiles: true, isFirst });
  }
  if (misfits > 0) await report(db, onMisfit);
  return isRefused() ? undefined : tallies;
}

type Statements = ReturnType<typeof statementsFor>;

const noTallies = (): Tallies =>
  perKind(() => ({ new: 0, changed: 0, unchanged: 0, removed: 0, takenDown: 0 }));

type MergeCounts = Omit<Tally, 'takenDown'>;

/** Of a replacement, in which every record that was here before is unchanged, changed or removed. */
const countRemoval = (kind: KindName, { unchanged, changed, removed }: MergeCounts): Removal => ({
  removed,
  of: unchanged + changed + removed,
  plural: KINDS[kind].plural,
});

/** A profile that is left out keeps its old name, which another may have been meant to take, and so on. */
async function takeOutClashes(db: SqlAdapter, { clashes, keptNames }: Statements, replace: boolean) {
  const found = await takeOut(db, clashes(replace));
  return found === 0 || replace ? found : found + (await takeOut(db, keptNames));
}

/** Moves the rows that a query names from `staged` to `misfits`; how many. */
async function takeOut(db: SqlAdapter, query: string): Promise<number> {
  const found = await db.run(`INSERT INTO misfits (n, place, kind, id, fault, other, record) ${query}`);
  if (found > 0) await db.run('DELETE FROM staged WHERE n IN (SELECT n FROM misfits)');
  return found;
}

async function move(
  db: SqlAdapter,
  kind: KindName,
  statements: KindStatements,
  replace: boolean,
): Promise<MergeCounts & { isFirst?: true }> {
  if ((await countRows(db, statements.stored)) === 0) {
    await touchRecords(db, kind, statements.stagedRecords);
    return { new: await db.run(statements.insertAll), changed: 0, unchanged: 0, removed: 0, isFirst: true };
  }
  const staged = await countRows(db, statements.staged);
  if (replace) await touchRecords(db, kind, statements.removedRecords);
  const removed = replace ? await db.run(statements.remove) : 0;
  const found = await db.run(statements.findChanged);
  if (found === 0) return { new: 0, changed: 0, unchanged: staged, removed };
  // Without this, PostgreSQL expects two thousand rows, and may read whole tables to find one.
  await db.countForPlanner('changed');
  const renaming = renamingRecords(kind, stagedKind(kind), db.member);
  await touchRecords(db, kind, statements.changedRecords, renaming);
  const changed = await countRows(db, COUNT_CHANGED);
  if (changed > 0) for (const statement of statements.change) await db.run(statement);
  if (found > changed) await db.run(statements.insert);
  await db.run('DELETE FROM changed');
  return { new: found - changed, changed, unchanged: staged - found, removed };
}

async function addNamedCopies(db: SqlAdapter, family: Family): Promise<void> {
  if ((await countRows(db, HAS_COPIES)) === 0) return;
  for (const kind of [findKind(family, 'profile'), findKind(family, 'item')])
    for (const statement of namedCopies(kind, stagedKind(kind), db.member, (address) =>
      unnamedSince(db, address),
    ))
      await db.run(statement);
}

/** In the order of the files. */
async function report(db: SqlAdapter, onMisfit: LoadOptions['onMisfit']): Promise<void> {
  const query = 'SELECT place, kind, id, fault, other, record FROM misfits ORDER BY place, n';
  for await (const row of db.rows<MisfitRow>(query)) await onMisfit(buildMisfit(row));
}

type MisfitRow = [place: string, kindCode: string, id: string, fault: string, other: string, record: string];

function buildMisfit([place, kindCode, id, fault, other, record]: MisfitRow): Misfit {
  const about = KINDS[readStagedKind(kindCode)];
  if (fault === 'name' || about.role === 'profile')
    return {
      place: Number(place),
      member: 'username',
      reason: `is already the name of id ${other}, so id ${id} cannot have it`,
      got: JSON.parse(record).username,
      record,
    };
  return {
    place: Number(place),
    member: about.owner,
    reason: `unknown owner of item ${id}: no ${about.family} profile has this id`,
    got: other,
    record,
  };
}
