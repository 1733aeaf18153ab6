// Staged items -> their table, in the order in which they lie there, and their keys, in the order of their ids.
import type { Family } from '../../records/kinds.ts';
import { idKey, itemRow } from '../staging.ts';
import { createBatch } from './batch.ts';
import { createItemDropper, createLists, type List } from './lists.ts';
import { dropOthers, largestIds, type Merge, type MergedByFamily, nothingYet } from './merged.ts';
import { createOwnerPlaces, type Placed } from './owners.ts';
import { familyAt } from './places.ts';

/** No owner's place. */
const NOWHERE = 0;

export function mergeItems(merge: Merge, owners: Placed): MergedByFamily {
  const merged = nothingYet();
  putItems(merge, owners, merged);
  putKeys(merge, merged);
  return merged;
}

// FAIL, since the transaction is the unit here: for its default, ABORT, SQLite keeps a journal of each statement.
const insertInto = (table: string, columns: string) => `INSERT OR FAIL INTO ${table} (${columns}) SELECT`;

function putItems({ db, pile, leftOut, misfit }: Merge, owners: Placed, merged: MergedByFamily): void {
  const largest = largestIds(db, 'item_keys');
  const placeOf = createOwnerPlaces(db, owners);
  const update = db.prepare('UPDATE items SET record = CAST(? AS TEXT) WHERE place = ? << 32 | ?');
  const insert = createBatch(
    db,
    5,
    (rows) => `${insertInto('items', 'place, date, id, record')}
      column2 << 32 | column3, column4, column5, CAST(column6 AS TEXT) FROM ${rows}`,
    (statement, values) => statement.run(values),
  );
  const compare = createBatch(
    db,
    3,
    (rows) => `SELECT column1 AS nth FROM ${rows} JOIN items ON items.place = column2 << 32 | column3
      WHERE items.record <> CAST(column4 AS TEXT)`,
    (statement, values, row) => {
      for (const { nth } of statement.all(values) as { nth: number }[]) {
        const [list, slot, record] = row(nth) as [number, number, Buffer];
        merged[familyAt(list)].written++;
        update.run(record, list, slot);
      }
    },
  );
  const openList = createLists(db, {
    lay(list, slot, { date, id, bytes, start, end }) {
      merged[familyAt(list)].written++;
      insert.add([list, slot, date, id], bytes, start, end);
    },
    settle() {
      compare.flush();
      insert.flush();
    },
  });

  let last: { family: Family; owner: number | bigint; place: number; list: List } | undefined;
  for (const entry of pile.rows.entries()) {
    const number = itemRow.number(entry);
    if (leftOut.has(number)) continue;
    const family = itemRow.family(entry);
    const owner = itemRow.owner(entry);
    const id = itemRow.id(entry);
    const start = itemRow.recordAt(entry);
    if (last?.owner !== owner || last.family !== family) {
      last?.list.close();
      const place = placeOf(family, owner);
      const isEmpty = largest[family] === 0n || place === undefined;
      last = { family, owner, place: place ?? NOWHERE, list: openList(place ?? NOWHERE, { isEmpty }) };
    }
    if (last.place === NOWHERE) {
      leftOut.add(number);
      misfit({
        place: itemRow.origin(entry),
        member: family === 'microblog' ? 'user' : 'user_id',
        reason: `is nobody: no ${family} profile has this id, so item ${id} has no owner`,
        got: String(owner),
        record: entry.bytes.toString('utf8', start, entry.end),
      });
      continue;
    }
    const item = { date: itemRow.date(entry), id, bytes: entry.bytes, start, end: entry.end };
    const slot = last.list.find(item);
    if (slot === undefined) last.list.add(item);
    else compare.add([last.place, slot], entry.bytes, start, entry.end);
  }
  last?.list.close();
  compare.flush();
  insert.flush();
}

/** By now every item lies where it should; its key tells where it lay, if it was there, and has to be taken away. */
function putKeys({ db, pile, replaced, leftOut }: Merge, merged: MergedByFamily): void {
  const largest = largestIds(db, 'item_keys');
  const dropItem = createItemDropper(db);
  const dropKey = db.prepare('DELETE FROM item_keys WHERE family = ? AND id = ?');
  const moveKey = db.prepare('UPDATE item_keys SET owner = ?, date = ? WHERE family = ? AND id = ?');
  const insert = createBatch(
    db,
    4,
    (rows) =>
      `${insertInto('item_keys', 'family, id, owner, date')} column2, column3, column4, column5 FROM ${rows}`,
    (statement, values) => statement.run(values),
  );
  const compare = createBatch(
    db,
    4,
    (rows) => `SELECT column1 AS nth, item_keys.id IS NULL AS isNew FROM ${rows} LEFT JOIN item_keys
      ON item_keys.family = column2 AND item_keys.id = column3
      WHERE item_keys.owner IS NOT column4 OR item_keys.date IS NOT column5`,
    (statement, values, row) => {
      for (const { nth, isNew } of statement.all(values) as { nth: number; isNew: number }[]) {
        const [family, id, owner, date] = row(nth);
        if (isNew) {
          merged[family as Family].known--;
          insert.add([family, id, owner, date]);
        } else {
          dropItem(family as Family, id as number | bigint);
          moveKey.run(owner, date, family, id);
        }
      }
    },
  );

  for (const family of replaced) {
    merged[family].removed = dropOthers(db, 'item_keys', family, pile, leftOut, (id) => {
      dropItem(family, id);
      dropKey.run(family, id);
    });
  }
  for (const entry of pile.ids.entries()) {
    if (leftOut.has(idKey.number(entry))) continue;
    const family = idKey.family(entry);
    const id = idKey.id(entry);
    const key = [family, id, idKey.owner(entry), idKey.date(entry)];
    merged[family].landed++;
    if (id > largest[family]) {
      insert.add(key);
    } else {
      merged[family].known++;
      compare.add(key);
    }
  }
  compare.flush();
  insert.flush();
}
