// Staged rows -> the tables, in the order in which they lie: profiles, then items, whose owners are known by then.
import { type Family, KIND_NAMES, KINDS, type KindName } from '../records.ts';
import { createSorter } from './sorter.ts';
import type { Connection } from './sqlite.ts';
import { idKey, itemRow, type Pile, profileRow, type Staging } from './staging.ts';
import type { LoadOptions, Misfit, Tallies, Tally } from './store.ts';

/** Inside the caller's transaction; undefined when misfits forbid the import, and the transaction is to be undone. */
export function merge(db: Connection, staging: Staging, options: LoadOptions): Tallies | undefined {
  const { profiles, items, families } = staging;
  const replaced = options.replace ? [...families] : [];
  const misfits = createMisfits(staging.fileName);
  try {
    const profilesLeftOut = repeatsOf(profiles);
    const itemsLeftOut = repeatsOf(items);
    for (;;) {
      const before = misfits.count();
      const placed = mergeProfiles({ db, pile: profiles, replaced, leftOut: profilesLeftOut, misfit: misfits.add });
      if (misfits.count() === before) {
        const laid = mergeItems({ db, pile: items, replaced, leftOut: itemsLeftOut, misfit: misfits.add });
        return misfits.count() === 0 || options.skipInvalid ? talliesOf(placed, laid) : undefined;
      }
      if (!options.skipInvalid) return undefined;
      // A profile that is left out keeps its old name, which may have been meant for another: hence again.
      db.exec('ROLLBACK; BEGIN IMMEDIATE');
    }
  } finally {
    misfits.report(options.onMisfit);
  }
}

interface Merge {
  readonly db: Connection;
  readonly pile: Pile;
  /** The families of which the files are the whole. */
  readonly replaced: readonly Family[];
  /** The numbers of the rows that are to be passed over. */
  readonly leftOut: Marks;
  readonly misfit: (misfit: Misfit) => void;
}

interface Merged {
  /** How many rows there were, of them with an id that was known, written, and how many old ones went. */
  landed: number;
  known: number;
  written: number;
  removed: number;
}
type MergedByFamily = Record<Family, Merged>;

function mergeProfiles({ db, pile, replaced, leftOut, misfit }: Merge): MergedByFamily {
  const merged = nothingYet();
  const largest = largestIds(db, 'profiles');
  const keepsName = db.prepare('SELECT user_key = ? FROM profiles WHERE family = ? AND id = ?').pluck();
  const drop = db.prepare('DELETE FROM profiles WHERE family = ? AND id = ?');
  const put = db.prepare(
    `INSERT INTO profiles (family, user_key, id, record) VALUES (?, ?, ?, CAST(? AS TEXT))
     ON CONFLICT (family, user_key) DO UPDATE SET record = excluded.record
     WHERE id = excluded.id AND record <> excluded.record`,
  );
  const holder = db.prepare('SELECT CAST(id AS TEXT) FROM profiles WHERE family = ? AND user_key = ?').pluck();

  for (const family of replaced)
    merged[family].removed = dropOthers(db, 'profiles', family, pile, leftOut, (id) => drop.run(family, id));

  // Old names are given up before new ones are taken, so that two users may swap theirs.
  for (const entry of pile.ids.entries()) {
    if (leftOut.has(idKey.number(entry))) continue;
    const family = idKey.family(entry);
    const id = idKey.id(entry);
    merged[family].landed++;
    if (id > largest[family]) continue;
    const keeps = keepsName.get(idKey.userKey(entry), family, id);
    if (keeps === undefined) continue;
    merged[family].known++;
    if (keeps === 0) drop.run(family, id);
  }

  for (const entry of pile.rows.entries()) {
    const number = profileRow.number(entry);
    if (leftOut.has(number)) continue;
    const family = profileRow.family(entry);
    const id = profileRow.id(entry);
    const userKey = profileRow.userKey(entry);
    const record = profileRow.record(entry);
    const written = put.run(family, userKey, id, record).changes;
    merged[family].written += written;
    const other = written === 0 ? holder.get(family, userKey) : String(id);
    if (other === String(id)) continue;
    leftOut.add(number);
    const text = record.toString();
    misfit({
      place: profileRow.place(entry),
      member: 'username',
      reason: `is already the name of id ${other}, so id ${id} cannot have it`,
      got: JSON.parse(text).username,
      record: text,
    });
  }
  return merged;
}

function mergeItems({ db, pile, replaced, leftOut, misfit }: Merge): MergedByFamily {
  const merged = nothingYet();
  const largest = largestIds(db, 'item_keys');
  const ownerExists = db.prepare('SELECT 1 FROM profiles WHERE family = ? AND id = ?').pluck();
  const drop = db.prepare(
    `DELETE FROM items WHERE (family, owner, date, id) =
       (SELECT family, owner, date, id FROM item_keys WHERE family = ? AND id = ?)`,
  );
  const dropKey = db.prepare('DELETE FROM item_keys WHERE family = ? AND id = ?');
  const moveKey = db.prepare('UPDATE item_keys SET owner = ?, date = ? WHERE family = ? AND id = ?');

  const update = db.prepare(
    'UPDATE items SET record = CAST(? AS TEXT) WHERE family = ? AND owner = ? AND date = ? AND id = ?',
  );

  // FAIL, since the transaction is the unit here: for its default, ABORT, SQLite keeps a journal of each statement.
  const insert = createBatch(
    db,
    (rows) => `INSERT OR FAIL INTO items (family, owner, date, id, record)
      SELECT column2, column3, column4, column5, CAST(column6 AS TEXT) FROM (${rows})`,
    5,
    (statement, values) => statement.run(values),
  );
  const compare = createBatch(
    db,
    (rows) => `SELECT column1 AS nth, items.id IS NULL AS isNew FROM (${rows}) LEFT JOIN items
      ON items.family = column2 AND items.owner = column3 AND items.date = column4 AND items.id = column5
      WHERE items.record IS NOT CAST(column6 AS TEXT)`,
    5,
    (statement, values) => {
      for (const { nth, isNew } of statement.all(values) as { nth: number; isNew: number }[]) {
        const [family, owner, date, id, record] = values.slice(nth * 5, nth * 5 + 5);
        merged[family as Family].written++;
        if (isNew) insert.add([family, owner, date, id], record as Buffer);
        else update.run(record, family, owner, date, id);
      }
    },
  );
  let last: { family: Family; owner: number | bigint; exists: boolean } | undefined;
  for (const entry of pile.rows.entries()) {
    const number = itemRow.number(entry);
    if (leftOut.has(number)) continue;
    const family = itemRow.family(entry);
    const owner = itemRow.owner(entry);
    if (last?.owner !== owner || last.family !== family)
      last = { family, owner, exists: ownerExists.get(family, owner) !== undefined };
    if (last.exists) {
      const isFirst = largest[family] === 0n;
      if (isFirst) merged[family].written++;
      (isFirst ? insert : compare).add([family, owner, itemRow.date(entry), itemRow.id(entry)], itemRow.record(entry));
      continue;
    }
    leftOut.add(number);
    misfit({
      place: itemRow.place(entry),
      member: family === 'microblog' ? 'user' : 'user_id',
      reason: `is nobody: no ${family} profile has this id, so item ${itemRow.id(entry)} has no owner`,
      got: String(owner),
      record: itemRow.record(entry).toString(),
    });
  }
  compare.flush();
  insert.flush();

  for (const family of replaced) {
    merged[family].removed = dropOthers(db, 'item_keys', family, pile, leftOut, (id) => {
      drop.run(family, id);
      dropKey.run(family, id);
    });
  }

  const insertKeys = createBatch(
    db,
    (rows) => `INSERT OR FAIL INTO item_keys (family, id, owner, date)
      SELECT column2, column3, column4, column5 FROM (${rows})`,
    4,
    (statement, values) => statement.run(values),
  );
  const compareKeys = createBatch(
    db,
    (rows) => `SELECT column1 AS nth, item_keys.id IS NULL AS isNew FROM (${rows}) LEFT JOIN item_keys
      ON item_keys.family = column2 AND item_keys.id = column3
      WHERE item_keys.owner IS NOT column4 OR item_keys.date IS NOT column5`,
    4,
    (statement, values) => {
      for (const { nth, isNew } of statement.all(values) as { nth: number; isNew: number }[]) {
        const [family, id, owner, date] = values.slice(nth * 4, nth * 4 + 4);
        if (isNew) {
          merged[family as Family].known--;
          insertKeys.add([family, id, owner, date]);
        } else {
          // It has been put where it lies now; what is left is to take it away from where it lay.
          drop.run(family, id);
          moveKey.run(owner, date, family, id);
        }
      }
    },
  );
  for (const entry of pile.ids.entries()) {
    if (leftOut.has(idKey.number(entry))) continue;
    const family = idKey.family(entry);
    const id = idKey.id(entry);
    const values = [family, id, idKey.owner(entry), idKey.date(entry)];
    merged[family].landed++;
    if (id > largest[family]) {
      insertKeys.add(values);
    } else {
      merged[family].known++;
      compareKeys.add(values);
    }
  }
  compareKeys.flush();
  insertKeys.flush();
  return merged;
}

type Statement = ReturnType<Connection['prepare']>;

const BATCH_ROWS = 32;
const BATCH_BYTES = 256 << 10;

/** Gathers rows for one statement, since calling it costs as much as its work on a row; column1 is a row's place in it. */
function createBatch(
  db: Connection,
  sql: (rows: string) => string,
  columns: number,
  run: (statement: Statement, values: unknown[]) => void,
) {
  const row = ', ?'.repeat(columns);
  const ofRows = (count: number) =>
    db.prepare(sql(`VALUES ${Array.from({ length: count }, (_, nth) => `(${nth}${row})`).join()}`));
  const full = ofRows(BATCH_ROWS);
  // Records are lent until the next entry is read: hence a copy.
  const bytes = Buffer.allocUnsafeSlow(BATCH_BYTES);
  let values: unknown[] = [];
  let rows = 0;
  let used = 0;

  function flush(): void {
    if (rows === 0) return;
    const statement = rows === BATCH_ROWS ? full : ofRows(rows);
    const taken = values;
    values = [];
    rows = 0;
    used = 0;
    run(statement, taken);
  }

  return {
    add(row: unknown[], record?: Buffer): void {
      if (record !== undefined && used + record.length > BATCH_BYTES) flush();
      for (const value of row) values.push(value);
      if (record !== undefined) {
        values.push(bytes.subarray(used, used + record.length));
        used += record.copy(bytes, used);
      }
      if (++rows === BATCH_ROWS) flush();
    },
    flush,
  };
}

const nothingYet = (): MergedByFamily => ({
  microblog: { landed: 0, known: 0, written: 0, removed: 0 },
  portfolio: { landed: 0, known: 0, written: 0, removed: 0 },
});

/** Above the largest id there is nothing to look up. */
function largestIds(db: Connection, table: 'profiles' | 'item_keys'): Record<Family, number | bigint> {
  const largest = db.prepare(`SELECT coalesce(max(id), 0) FROM ${table} WHERE family = ?`).pluck().safeIntegers();
  return { microblog: largest.get('microblog') as bigint, portfolio: largest.get('portfolio') as bigint };
}

const IDS_AT_ONCE = 1000;

/** Drops what is there and not among the staged; how many that were. */
function dropOthers(
  db: Connection,
  table: 'profiles' | 'item_keys',
  family: Family,
  pile: Pile,
  leftOut: Marks,
  drop: (id: bigint) => void,
): number {
  const next = db
    .prepare(`SELECT id FROM ${table} WHERE family = ? AND id > ? ORDER BY id LIMIT ${IDS_AT_ONCE}`)
    .pluck()
    .safeIntegers();
  const staged = pile.ids.entries().filter((entry) => idKey.family(entry) === family && !leftOut.has(idKey.number(entry)));
  let candidate = staged.next();
  let dropped = 0;
  let seen = 0n;
  for (;;) {
    const ids = next.all(family, seen) as bigint[];
    for (const id of ids) {
      while (!candidate.done && idKey.id(candidate.value) < id) candidate = staged.next();
      // biome-ignore lint/suspicious/noDoubleEquals: a number and a big integer may be the same id
      if (!candidate.done && idKey.id(candidate.value) == id) continue;
      drop(id);
      dropped++;
    }
    if (ids.length < IDS_AT_ONCE) return dropped;
    seen = ids.at(-1) as bigint;
  }
}

/** Of rows with one id only the last stays. */
function repeatsOf(pile: Pile): Marks {
  const repeats = createMarks(pile.rows.count());
  if (!pile.mayRepeat()) return repeats;
  let last: { family: Family; id: number | bigint; number: number } | undefined;
  for (const entry of pile.ids.entries()) {
    const current = { family: idKey.family(entry), id: idKey.id(entry), number: idKey.number(entry) };
    if (last?.id === current.id && last.family === current.family) repeats.add(last.number);
    last = current;
  }
  return repeats;
}

type Marks = ReturnType<typeof createMarks>;

/** A set of row numbers in a bit each. */
function createMarks(size: number) {
  const bits = new Uint8Array((size >> 3) + 1);
  return {
    has: (number: number) => ((bits[number >> 3] as number) & (1 << (number & 7))) !== 0,
    add(number: number): void {
      bits[number >> 3] = (bits[number >> 3] as number) | (1 << (number & 7));
    },
  };
}

const MISFITS_MEMORY = 4 << 20;

/** Misfits are found in the order of the tables and told in the order of the files, however many there are. */
function createMisfits(fileName: () => string) {
  const sorter = createSorter({ keyBytes: 8, memory: MISFITS_MEMORY, fileName });
  return {
    count: () => sorter.count(),
    add(misfit: Misfit): void {
      const text = JSON.stringify(misfit);
      const entry = sorter.begin(8 + Buffer.byteLength(text));
      entry.bytes.writeDoubleBE(misfit.place, entry.at);
      entry.end = entry.at + 8 + entry.bytes.write(text, entry.at + 8);
      sorter.take();
    },
    report(onMisfit: LoadOptions['onMisfit']): void {
      for (const { bytes, at, end } of sorter.entries()) onMisfit(JSON.parse(bytes.toString('utf8', at + 8, end)));
      sorter.close();
    },
  };
}

function talliesOf(profiles: MergedByFamily, items: MergedByFamily): Tallies {
  const tally = (kind: KindName): Tally => {
    const { landed, known, written, removed } = ('owner' in KINDS[kind] ? items : profiles)[KINDS[kind].family];
    return { new: landed - known, changed: written - (landed - known), unchanged: landed - written, removed };
  };
  return Object.fromEntries(KIND_NAMES.map((kind) => [kind, tally(kind)])) as Tallies;
}
