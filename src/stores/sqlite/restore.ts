// `vitrine restore`: what a snapshot holds takes the place of what a database holds, in one transaction. A copy of the
// snapshot is made beside the database, migrated and checked before the database is touched.

import { existsSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { absoluteUrl } from '../../config/setting-values.ts';
import { errorCode, toError } from '../../records/thrown.ts';
import { StoreError } from '../errors.ts';
import { openReplacement } from '../output.ts';
import type { Counts } from '../reader.ts';
import { readTakedowns } from '../sql/archive.ts';
import { forgetChanges } from '../sql/changes.ts';
import { keepsNames } from '../sql/former-names.ts';
import type { RemovalCounts } from '../sql/removal.ts';
import { addMark, adoptTakedowns } from '../sql/takedown-changes.ts';
import { removeUnnamed } from '../sql/unnamed-copies.ts';
import { noStep, type StepListener } from '../steps.ts';
import { advance } from '../writer.ts';
import { findDamage, type OpenDatabase, openForWriting, openToCopy } from './connect.ts';
import { describeErrors } from './errors.ts';
import { isSameFile } from './file.ts';
import { findOtherType, readSchema, replaceViews, unimported } from './migrate.ts';
import { openArchive } from './read.ts';
import { isAbandoned, vacuumInto } from './snapshot.ts';
import { eraseTraces } from './traces.ts';
import { change } from './write.ts';

export interface RestoreOptions {
  readonly check: boolean;
  readonly onStep?: StepListener;
}

interface RestoreOutcome {
  /** What the snapshot still had although it was taken down since: it is left out. */
  readonly takenDown: RemovalCounts;
  readonly warning: string | undefined;
}

export interface RestoreResult extends RestoreOutcome {
  readonly counts: Counts;
}

const NOTHING: RemovalCounts = { users: 0, items: 0 };

export async function restore(
  path: string,
  file: string,
  { check, onStep = noStep }: RestoreOptions,
): Promise<RestoreResult> {
  if (!existsSync(file)) throw new StoreError(`${file} does not exist.`);
  const existing = statSync(path, { throwIfNoEntry: false });
  if (isSameFile(statSync(file), existing)) throw new StoreError(`${file} is the database itself.`);
  using copy = openReplacement(path, isAbandoned(basename(path)));
  using opened = await prepare(copy.path, path, file, onStep);
  const { counts } = opened;
  if (check) return { counts, takenDown: NOTHING, warning: undefined };
  onStep('checking the database');
  using live = await openLive(path);
  onStep('replacing what it holds');
  return { counts, ...(await replaceContents(live, path, copy.path)) };
}

/** Copies the snapshot, brings it to this schema and checks it; what it holds. While the copy is open, no other run removes it. */
async function prepare(
  copyPath: string,
  path: string,
  file: string,
  onStep: StepListener,
): Promise<Disposable & { readonly counts: Counts }> {
  try {
    const db = await copySnapshot(file, path, copyPath, onStep);
    const archive = openArchive(copyPath);
    const { faults, counts } = await archive.check(onStep);
    await archive.close();
    if (counts === undefined || faults.length > 0)
      throw new StoreError(`${file} is not sound: ${faults.join('; ')}`);
    return { counts, [Symbol.dispose]: () => void db.close() };
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    // The operator does not know of the copy.
    const isFull = errorCode(error.cause).startsWith('SQLITE_FULL');
    throw new StoreError(error.message.replaceAll(copyPath, isFull ? path : file), { cause: error });
  }
}

async function copySnapshot(
  file: string,
  path: string,
  copyPath: string,
  onStep: StepListener,
): Promise<OpenDatabase> {
  using source = openToCopy(file);
  if (describeErrors(file, () => readSchema(source)) === 0) throw new StoreError(`${file} is empty.`);
  const fault = findOtherType(source);
  if (fault !== undefined) throw new StoreError(`${file} is not sound: ${fault}.`);
  vacuumInto(source, { path: file, target: path, unfinished: copyPath, onStep });
  const copy = await openForWriting(copyPath);
  if (copy.prepare('SELECT generation FROM vitrine').pluck().get() === 0) throw unimported(copyPath);
  replaceViews(copy);
  refuseMediaUrl(copy, file);
  return copy;
}

/** The addresses of copies begin with it, in pages as well. */
function refuseMediaUrl(db: OpenDatabase, file: string): void {
  const url = db.prepare<[], string | null>('SELECT media_url FROM vitrine').pluck().get();
  try {
    if (url) absoluteUrl(url);
  } catch (error) {
    throw new StoreError(`${file} is not sound: its media_url ${toError(error).message}.`, { cause: error });
  }
}

/** A damaged database is not written to: its takedowns could get lost unnoticed. */
async function openLive(path: string): Promise<OpenDatabase> {
  try {
    const db = await openForWriting(path);
    if (describeErrors(path, () => findDamage(db, 'quick_check(1)')).length === 0) return db;
    db.close();
  } catch (error) {
    if (!/^SQLITE_(CORRUPT|NOTADB)/.test(errorCode(toError(error).cause))) throw error;
  }
  throw new StoreError(
    `${path} is damaged. Move it away, with ${path}-wal and ${path}-shm, and run the command again. Then repeat the ` +
      'takedowns that are newer than the snapshot: `vitrine takedown --from` reads them from the damaged file if it can.',
  );
}

/** The tables that a snapshot restores, each with what its rows are known by. */
const TABLES = {
  profiles: ['family', 'id'],
  items: ['family', 'id'],
  lists: ['family', 'owner', 'collection'],
  words: ['family', 'word', 'id'],
  media: ['url'],
  copies: ['file'],
  media_names: ['url', 'kind', 'id', 'is_file'],
  counts: ['kind'],
};

const SHARED_COLUMNS = `
  SELECT name FROM pragma_table_info(?, 'main') WHERE name <> 'n'
  INTERSECT SELECT name FROM pragma_table_info(?, 'copy')`;

/** Makes the rows of a table those of the copy; rows that are the same stay untouched. */
function replaceRows(db: OpenDatabase, table: string, key: readonly string[]): void {
  // The numbers of rows mean nothing. An operator may have added a column to one of the tables.
  const columns = db.prepare<string[], string>(SHARED_COLUMNS).pluck().all(table, table);
  const isKey = key.map((column) => `theirs.${column} = ours.${column}`).join(' AND ');
  const isSame = columns.map((column) => `theirs.${column} IS ours.${column}`).join(' AND ');
  db.exec(`
    DELETE FROM main.${table} AS ours
    WHERE NOT EXISTS (SELECT 1 FROM copy.${table} AS theirs WHERE ${isKey} AND ${isSame});
    INSERT INTO main.${table} (${columns}) SELECT ${columns} FROM copy.${table} AS theirs
    WHERE NOT EXISTS (SELECT 1 FROM main.${table} AS ours WHERE ${isKey})`);
}

/** Takedowns of both are in force afterwards. */
async function replaceContents(db: OpenDatabase, path: string, copyPath: string): Promise<RestoreOutcome> {
  db.prepare('ATTACH ? AS copy').run(copyPath);
  const lacks = (one: string, other: string) =>
    db
      .prepare(`SELECT 1 FROM ${other}.takedowns WHERE hash NOT IN (SELECT hash FROM ${one}.takedowns)`)
      .get() !== undefined;
  let erases = false;
  const takenDown = await change(db, path, async (store) => {
    const isNew = lacks('copy', 'main');
    erases = isNew || lacks('main', 'copy') || (await keepsNames(store));
    const list = isNew ? await readTakedowns(store) : undefined;
    for (const [table, key] of Object.entries(TABLES)) replaceRows(db, table, key);
    db.exec(`
        INSERT OR IGNORE INTO main.takedown_salts SELECT * FROM copy.takedown_salts;
        INSERT OR IGNORE INTO main.takedowns SELECT * FROM copy.takedowns;
        INSERT OR IGNORE INTO main.takedown_marks (mark) SELECT mark FROM copy.takedown_marks;
        UPDATE main.vitrine SET media_url = (SELECT media_url FROM copy.vitrine)`);
    // No database that has the marks of one of the two has the takedowns of both.
    if (erases) await addMark(store);
    const removed = list === undefined ? NOTHING : await adoptTakedowns(store, list);
    await advance(store, 'true');
    // Among them are the names of users that either database has taken down.
    await forgetChanges(store);
    return removed;
  });
  if (!erases) return { takenDown, warning: undefined };
  return { takenDown, warning: await cleanUp(db, path) };
}

/** After the contents were replaced, so that what fails here is a warning. */
async function cleanUp(db: OpenDatabase, path: string): Promise<string | undefined> {
  const warnings = [await removeAddresses(db, path), await eraseTraces(db, path)];
  return warnings.filter((warning) => warning !== undefined).join('\n') || undefined;
}

/** The copies of pictures were removed by the takedown: only their addresses are left. */
async function removeAddresses(db: OpenDatabase, path: string): Promise<string | undefined> {
  try {
    await removeUnnamed(
      (action) => change(db, path, action),
      () => {},
      () => {},
    );
    return undefined;
  } catch (error) {
    return `Addresses of removed pictures are left until the next takedown: ${toError(error).message}`;
  }
}
