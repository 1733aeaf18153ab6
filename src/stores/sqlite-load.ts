// The side of SQLite that writes: imports and removals, each one transaction.
import { type Family, KIND_NAMES, KINDS, type KindName } from '../records.ts';
import { type Connection, explained, openForWriting } from './sqlite.ts';
import type { Load, LoadOptions, Misfit, Tallies, Writer } from './store.ts';

export function openWriter(path: string): Writer {
  return writerOf(openForWriting(path), path);
}

/** A database in memory, to be filled and then served from its bytes. */
export function openMemory(): { writer: Writer; bytes: () => Buffer } {
  const db = openForWriting(':memory:');
  return { writer: writerOf(db, 'the sample data'), bytes: () => db.serialize() };
}

function writerOf(db: Connection, path: string): Writer {
  return {
    load: (options) => explained(path, () => startLoad(db, path, options)),
    remove: (family, userKey) => explained(path, () => remove(db, family, userKey)),
    close() {
      db.close();
    },
  };
}

function remove(db: Connection, family: Family, userKey: string): { items: number } | undefined {
  const removed = db
    .transaction(() => {
      const id = db
        .prepare('DELETE FROM profiles WHERE family = ? AND user_key = ? RETURNING id')
        .pluck()
        .safeIntegers()
        .get(family, userKey) as bigint | undefined;
      if (id === undefined) return undefined;
      return { items: db.prepare('DELETE FROM items WHERE family = ? AND owner = ?').run(family, id).changes };
    })
    .immediate();
  emptyLog(db);
  return removed;
}

/** Moves what the log holds into the file, so that the file alone is the whole, and may be copied or replaced. */
function emptyLog(db: Connection): void {
  db.pragma('wal_checkpoint(TRUNCATE)');
}

// Rows in a site's own order would touch a page each, all over the clustered tables. So they are laid aside in the
// order in which they come, and moved over in the order in which they will lie.
const STAGE = `
  CREATE TEMP TABLE staged_profiles (
    place INTEGER PRIMARY KEY, family TEXT NOT NULL, id INTEGER NOT NULL, user_key TEXT NOT NULL, record TEXT NOT NULL
  );
  CREATE TEMP TABLE staged_items (
    place INTEGER PRIMARY KEY, family TEXT NOT NULL, id INTEGER NOT NULL, owner INTEGER NOT NULL, date TEXT NOT NULL,
    record TEXT NOT NULL
  );`;

const SORT_MEMORY_KIB = 48 * 1024;

function startLoad(db: Connection, path: string, options: LoadOptions): Load {
  db.exec(`PRAGMA temp_store = FILE; PRAGMA cache_size = ${-SORT_MEMORY_KIB}; PRAGMA threads = 2; ${STAGE} BEGIN`);
  const addProfile = db.prepare('INSERT INTO staged_profiles VALUES (?, ?, ?, ?, ?)');
  const addItem = db.prepare('INSERT INTO staged_items VALUES (?, ?, ?, ?, ?, ?)');
  const families = new Set<Family>();
  const order = Object.fromEntries(KIND_NAMES.map((kind) => [kind, { last: '', ascending: true }]));

  function abandon(): void {
    if (db.inTransaction) db.exec('ROLLBACK');
    db.exec('DROP TABLE IF EXISTS staged_profiles; DROP TABLE IF EXISTS staged_items');
  }

  return {
    add(row, place) {
      const { family } = KINDS[row.kind];
      families.add(family);
      const seen = order[row.kind] as { last: string; ascending: boolean };
      if (seen.ascending && !follows(row.id, seen.last)) seen.ascending = false;
      seen.last = row.id;
      explained(path, () =>
        row.owner === ''
          ? addProfile.run(place, family, row.id, row.userKey, row.record)
          : addItem.run(place, family, row.id, row.owner, row.date, row.record),
      );
    },
    finish() {
      try {
        return explained(path, () => {
          db.exec('COMMIT; BEGIN IMMEDIATE');
          const repeats = KIND_NAMES.some((kind) => !order[kind]?.ascending);
          const tallies = merge(db, { ...options, families, repeats });
          db.exec(tallies === undefined ? 'ROLLBACK' : 'COMMIT');
          if (tallies !== undefined) emptyLog(db);
          return tallies;
        });
      } finally {
        abandon();
      }
    },
    abandon,
  };
}

/** Whether an id comes after another, both as decimal digits. */
const follows = (id: string, last: string) => id.length > last.length || (id.length === last.length && id > last);

interface MergeOptions extends LoadOptions {
  readonly families: ReadonlySet<Family>;
  /** Whether an id may stand in the stage twice. */
  readonly repeats: boolean;
}

/** Moves the stage into the tables; undefined, with the tables to be rolled back, when misfits forbid it. */
function merge(db: Connection, { families, repeats, replace, skipInvalid, onMisfit }: MergeOptions): Tallies | undefined {
  const tallies = Object.fromEntries(
    KIND_NAMES.map((kind) => [kind, { new: 0, changed: 0, unchanged: 0, removed: 0 }]),
  ) as Tallies;
  const mayGoOn = (misfits: number) => misfits === 0 || skipInvalid;

  db.exec('CREATE INDEX temp.staged_profiles_by_key ON staged_profiles (family, user_key)');
  for (const { stage } of TABLES) {
    if (repeats || replace || stage === 'staged_profiles')
      db.exec(`CREATE INDEX temp.${stage}_by_id ON ${stage} (family, id)`);
    if (repeats) dropRepeats(db, stage);
  }
  for (const family of families) {
    for (const table of TABLES) {
      const tally = tallies[kindIn(table, family)];
      if (!hasRows(db, table, family)) continue;
      if (replace) tally.removed = dropUnstaged(db, table, family);
      tally.unchanged = dropUnchanged(db, table, family);
    }
  }
  // A profile that is left out keeps its old name, which may have been meant for another: hence again.
  for (let clashes = 1; clashes > 0; ) {
    clashes = takeOut(db, NAME_TAKEN, onMisfit);
    if (!mayGoOn(clashes)) return undefined;
  }
  moveOver(db, PROFILES, families, tallies);
  if (!mayGoOn(takeOut(db, NO_OWNER, onMisfit))) return undefined;
  moveOver(db, ITEMS, families, tallies);
  return tallies;
}

interface Table {
  readonly name: 'profiles' | 'items';
  readonly stage: 'staged_profiles' | 'staged_items';
  readonly columns: string;
  /** The order in which the rows lie. */
  readonly order: string;
  /** What a row and its staged namesake share when nothing changed. */
  readonly same: string;
}

const PROFILES: Table = {
  name: 'profiles',
  stage: 'staged_profiles',
  columns: 'family, user_key, id, record',
  order: 'family, user_key',
  same: 'old.family = staged.family AND old.user_key = staged.user_key AND old.id = staged.id',
};
const ITEMS: Table = {
  name: 'items',
  stage: 'staged_items',
  columns: 'family, owner, date, id, record',
  order: 'family, owner, date DESC, id DESC',
  same: 'old.family = staged.family AND old.owner = staged.owner AND old.date = staged.date AND old.id = staged.id',
};
const TABLES = [PROFILES, ITEMS];

const kindIn = (table: Table, family: Family) =>
  KIND_NAMES.find(
    (kind) => KINDS[kind].family === family && 'owner' in KINDS[kind] === (table === ITEMS),
  ) as KindName;

const hasRows = (db: Connection, { name }: Table, family: Family) =>
  db.prepare(`SELECT EXISTS (SELECT 1 FROM ${name} WHERE family = ?)`).pluck().get(family) === 1;

/** Of rows with one id only the last stays. */
function dropRepeats(db: Connection, stage: Table['stage']): void {
  db.exec(`DELETE FROM ${stage} WHERE EXISTS (
    SELECT 1 FROM ${stage} AS later
    WHERE later.family = ${stage}.family AND later.id = ${stage}.id AND later.place > ${stage}.place)`);
}

/** Takes away what the files, being the whole, no longer have. */
function dropUnstaged(db: Connection, { name, stage }: Table, family: Family): number {
  return db
    .prepare(
      `DELETE FROM ${name} WHERE family = ? AND NOT EXISTS (
         SELECT 1 FROM ${stage} AS staged WHERE staged.family = ${name}.family AND staged.id = ${name}.id)`,
    )
    .run(family).changes;
}

function dropUnchanged(db: Connection, { name, stage, same }: Table, family: Family): number {
  return db
    .prepare(
      `DELETE FROM ${stage} AS staged WHERE family = ? AND EXISTS (
         SELECT 1 FROM ${name} AS old WHERE ${same} AND old.record = staged.record)`,
    )
    .run(family).changes;
}

/** Puts the staged rows where they will lie, in the place of those with the same id. */
function moveOver(db: Connection, table: Table, families: Iterable<Family>, tallies: Tallies): void {
  const { name, stage, columns, order } = table;
  for (const family of families) {
    const tally = tallies[kindIn(table, family)];
    tally.changed = db
      .prepare(`DELETE FROM ${name} WHERE (family, id) IN (SELECT family, id FROM ${stage} WHERE family = ?)`)
      .run(family).changes;
    const moved = db
      .prepare(
        `INSERT INTO ${name} (${columns}) SELECT ${columns} FROM ${stage} WHERE family = ? ORDER BY ${order}`,
      )
      .run(family).changes;
    tally.new = moved - tally.changed;
  }
}

interface Rule {
  readonly stage: Table['stage'];
  readonly query: string;
}

/** A name belongs to whoever has it, unless this import renames them; between two newcomers, to the first. */
const NAME_TAKEN: Rule = {
  stage: 'staged_profiles',
  query: `
    SELECT staged.place, 'username' AS member, 'is already the name of id ' || other.id || ', so id ' || staged.id || ' cannot have it' AS reason,
           staged.record ->> 'username' AS got, staged.record
    FROM staged_profiles AS staged JOIN (
      SELECT family, user_key, id, -1 AS place FROM profiles AS kept
      WHERE NOT EXISTS (SELECT 1 FROM staged_profiles WHERE family = kept.family AND id = kept.id)
      UNION ALL SELECT family, user_key, id, place FROM staged_profiles
    ) AS other ON other.family = staged.family AND other.user_key = staged.user_key AND other.place < staged.place
    WHERE other.id <> staged.id
    GROUP BY staged.place`,
};

const NO_OWNER: Rule = {
  stage: 'staged_items',
  query: `
    SELECT place, CASE family WHEN 'microblog' THEN 'user' ELSE 'user_id' END AS member,
           'is nobody: no ' || family || ' profile has this id, so item ' || id || ' has no owner' AS reason,
           CAST(owner AS TEXT) AS got, record
    FROM staged_items AS staged
    WHERE NOT EXISTS (SELECT 1 FROM profiles WHERE family = staged.family AND id = staged.owner)`,
};

/** Reports the rows that break a rule and takes them out of the stage; how many there were. */
function takeOut(db: Connection, { stage, query }: Rule, onMisfit: LoadOptions['onMisfit']): number {
  db.exec(`CREATE TEMP TABLE misfits AS ${query}`);
  for (const misfit of db.prepare('SELECT * FROM misfits ORDER BY place').iterate())
    onMisfit(misfit as Misfit);
  const { changes } = db.prepare(`DELETE FROM ${stage} WHERE place IN (SELECT place FROM misfits)`).run();
  db.exec('DROP TABLE misfits');
  return changes;
}
