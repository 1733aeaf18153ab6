// `vitrine restore`: what a snapshot holds takes the place of what a database holds, in one transaction. A copy of the
// snapshot is made beside the database, migrated and checked before the database is touched.
import { existsSync, rmSync, statSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { openReplacement } from '../../files/output.ts';
import { readTakedowns } from '../archive.ts';
import { forgetChanges, keepsNames } from '../changes.ts';
import { StoreError } from '../errors.ts';
import { packAnswers } from '../packed-rows.ts';
import type { Counts } from '../reader.ts';
import type { RemovalCounts } from '../removal.ts';
import { adoptTakedowns } from '../takedown-changes.ts';
import type { TakedownList } from '../takedowns.ts';
import { advance } from '../writer.ts';
import { type Connection, openForWriting, openToCopy } from './connect.ts';
import { describeErrors } from './errors.ts';
import { isSameFile } from './file.ts';
import { readSchema, refuseUnimported } from './migrate.ts';
import { openArchive } from './read.ts';
import { vacuumInto } from './snapshot.ts';
import { change, eraseTraces, openWriter } from './write.ts';

export interface RestoreOptions {
  /** Only find out whether the file can be restored. */
  readonly check: boolean;
  /** Ends the restore before it changes anything. */
  readonly signal: AbortSignal;
}

interface RestoreOutcome {
  /** What the snapshot still had although it was taken down since: it is left out. */
  readonly takenDown: RemovalCounts;
  /** What else the operator should know. */
  readonly warning: string | undefined;
}

export interface RestoreResult extends RestoreOutcome {
  readonly counts: Counts;
}

const NOTHING: RemovalCounts = { users: 0, items: 0 };

export async function restore(
  path: string,
  file: string,
  { check, signal }: RestoreOptions,
): Promise<RestoreResult> {
  if (!existsSync(file)) throw new StoreError(`${file} does not exist.`);
  const existing = statSync(path, { throwIfNoEntry: false });
  if (isSameFile(statSync(file), existing)) throw new StoreError(`${file} is the database itself.`);
  using copy = openReplacement(path);
  const counts = await prepare(copy.path, path, file);
  // Signals are heard between the turns of the event loop.
  await nextTurn();
  signal.throwIfAborted();
  if (check) return { counts, takenDown: NOTHING, warning: undefined };
  if (isDamaged(path)) return { counts, ...(await replaceFile(copy, path)) };
  using live = openForWriting(path);
  return { counts, ...(await replaceContents(live, path, copy.path)) };
}

/** Copies the snapshot, brings it to this schema and checks it; what it holds. */
async function prepare(copyPath: string, path: string, file: string): Promise<Counts> {
  try {
    copySnapshot(file, path, copyPath);
    const archive = openArchive(copyPath);
    const { faults, counts } = await archive.check();
    await archive.close();
    if (counts === undefined || faults.length > 0)
      throw new StoreError(`${file} is not sound: ${faults.join('; ')}`);
    return counts;
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    // The operator does not know of the copy.
    const isFull = errorCode(error).startsWith('SQLITE_FULL');
    throw new StoreError(error.message.replaceAll(copyPath, isFull ? path : file), { cause: error });
  }
}

function copySnapshot(file: string, path: string, copyPath: string): void {
  using source = openToCopy(file);
  if (describeErrors(file, () => readSchema(source)) === 0) throw new StoreError(`${file} is empty.`);
  vacuumInto(source, { path: file, target: path, unfinished: copyPath });
  using migrated = openForWriting(copyPath);
  refuseUnimported(migrated, copyPath);
}

const errorCode = (error: unknown) => ((error as Error).cause as { code?: string } | undefined)?.code ?? '';

function isDamaged(path: string): boolean {
  try {
    using db = openForWriting(path);
    return db.pragma('integrity_check(1)', { simple: true }) !== 'ok';
  } catch (error) {
    if (!errorCode(error).startsWith('SQLITE_CORRUPT')) throw error;
    return true;
  }
}

/** The tables that a snapshot restores, each with what its rows are known by. */
const TABLES = {
  profiles: ['family', 'id'],
  items: ['family', 'id'],
  lists: ['family', 'owner'],
  media: ['url'],
};

const SHARED_COLUMNS = `
  SELECT name FROM pragma_table_info(?, 'main') WHERE name <> 'n'
  INTERSECT SELECT name FROM pragma_table_info(?, 'copy')`;

/** Makes the rows of a table those of the copy; rows that are the same stay untouched. */
function replaceRows(db: Connection, table: string, key: readonly string[]): void {
  // What numbers the rows means nothing. Somebody may have added a column to one of them.
  const columns = db.prepare(SHARED_COLUMNS).pluck().all(table, table) as string[];
  const isKey = key.map((column) => `theirs.${column} = ours.${column}`).join(' AND ');
  const isSame = columns.map((column) => `theirs.${column} IS ours.${column}`).join(' AND ');
  db.exec(`
    DELETE FROM main.${table} AS ours
    WHERE NOT EXISTS (SELECT 1 FROM copy.${table} AS theirs WHERE ${isKey} AND ${isSame});
    INSERT INTO main.${table} (${columns}) SELECT ${columns} FROM copy.${table} AS theirs
    WHERE NOT EXISTS (SELECT 1 FROM main.${table} AS ours WHERE ${isKey})`);
}

/** Takedowns of both are in force afterwards. */
async function replaceContents(db: Connection, path: string, copyPath: string): Promise<RestoreOutcome> {
  db.prepare('ATTACH ? AS copy').run(copyPath);
  const lacks = (one: string, other: string) =>
    db
      .prepare(`SELECT 1 FROM ${other}.takedowns WHERE hash NOT IN (SELECT hash FROM ${one}.takedowns)`)
      .get() !== undefined;
  let erases = false;
  const takenDown = await change(db, path, async (store) => {
    const isNew = lacks('copy', 'main');
    erases = isNew || lacks('main', 'copy') || (await keepsNames(store));
    const list = await readTakedowns(store);
    for (const [table, key] of Object.entries(TABLES)) replaceRows(db, table, key);
    db.exec(`
        INSERT OR IGNORE INTO main.takedown_salts SELECT * FROM copy.takedown_salts;
        INSERT OR IGNORE INTO main.takedowns SELECT * FROM copy.takedowns;
        UPDATE main.vitrine SET media_url = (SELECT media_url FROM copy.vitrine)`);
    // The copies of their pictures were removed by the takedown.
    const removed = isNew ? await adoptTakedowns(store, list, () => {}) : NOTHING;
    await packAnswers(store);
    await advance(store, 'true');
    // Among them are the names of whom either database has taken down.
    await forgetChanges(store);
    return removed;
  });
  const hindrance = erases ? eraseTraces(db, path) : undefined;
  const warning = hindrance && `${path} still holds what was taken down, in unused space. ${hindrance}`;
  return { takenDown, warning };
}

/** In the place of a file that is too damaged to be changed, by one rename: a restore that is killed loses no takedown. */
async function replaceFile(copy: ReturnType<typeof openReplacement>, path: string): Promise<RestoreOutcome> {
  const list = await findTakedowns(path);
  const writer = openWriter(copy.path);
  const takenDown = list?.entries.length ? await writer.adoptTakedowns(list, () => {}) : NOTHING;
  await writer.close();
  finishCopy(copy.path);
  describeErrors(path, () => {
    // Not after the file is in place: a writer that opens it at once has a log of its own.
    for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true });
    copy.commit();
  });
  const warning = `the takedowns in ${path} cannot be read: repeat those that are newer than the snapshot`;
  return { takenDown, warning: list === undefined ? warning : undefined };
}

function finishCopy(copyPath: string): void {
  using copy = openForWriting(copyPath);
  // As a snapshot is, so that whatever log lies there is known to be another file's.
  copy.pragma('journal_mode = DELETE');
  // What differs from the data before is not known.
  copy.exec('DELETE FROM generations; DELETE FROM subscribers');
}

/** Undefined if they cannot be read. */
async function findTakedowns(path: string): Promise<TakedownList | undefined> {
  try {
    const archive = openArchive(path);
    return await archive.takedowns().finally(archive.close);
  } catch {
    return undefined;
  }
}
