// Staged profiles -> their table, in the order in which they lie there.

import { idKey, profileRow } from '../staging.ts';
import { dropOthers, largestIds, type Merge, type MergedByFamily, nothingYet } from './merged.ts';
import { createPlaces, type Placed } from './owners.ts';
import { itemsBehind } from './places.ts';

export function mergeProfiles({ db, pile, replaced, leftOut, misfit }: Merge): {
  merged: MergedByFamily;
  placed: Placed;
} {
  const merged = nothingYet();
  const places = new Uint32Array(pile.rows.count());
  const newPlaces = createPlaces(db);
  const largest = largestIds(db, 'profiles');
  const known = db.prepare(
    'SELECT place, user_key = ? AS keepsName FROM profiles WHERE family = ? AND id = ?',
  );
  const drop = db.prepare('DELETE FROM profiles WHERE family = ? AND id = ? RETURNING place').pluck();
  const dropItems = db.prepare(`DELETE FROM items WHERE ${itemsBehind('@place')}`);
  const put = db.prepare(
    `INSERT INTO profiles (family, user_key, id, place, record) VALUES (?, ?, ?, ?, CAST(? AS TEXT))
     ON CONFLICT (family, user_key) DO UPDATE SET record = excluded.record
     WHERE id = excluded.id AND record <> excluded.record`,
  );
  const holder = db
    .prepare('SELECT CAST(id AS TEXT) FROM profiles WHERE family = ? AND user_key = ?')
    .pluck();

  for (const family of replaced)
    merged[family].removed = dropOthers(db, 'profiles', family, pile, leftOut, (id) => {
      dropItems.run({ place: drop.get(family, id) });
    });

  // Old names are given up before new ones are taken, so that two users may swap theirs. The places of new profiles
  // are in the order of their ids, since the items come in the order of their owners' ids.
  for (const entry of pile.ids.entries()) {
    const number = idKey.number(entry);
    if (leftOut.has(number)) continue;
    const family = idKey.family(entry);
    const id = idKey.id(entry);
    merged[family].landed++;
    const before =
      id > largest[family]
        ? undefined
        : (known.get(idKey.userKey(entry), family, id) as { place: number; keepsName: number } | undefined);
    places[number] = before?.place ?? newPlaces.give(family);
    if (before === undefined) continue;
    merged[family].known++;
    if (before.keepsName === 0) drop.get(family, id);
  }
  newPlaces.save();

  for (const entry of pile.rows.entries()) {
    const number = profileRow.number(entry);
    if (leftOut.has(number)) continue;
    const family = profileRow.family(entry);
    const id = profileRow.id(entry);
    const userKey = profileRow.userKey(entry);
    const record = profileRow.record(entry);
    const written = put.run(family, userKey, id, places[number], record).changes;
    merged[family].written += written;
    const other = written === 0 ? holder.get(family, userKey) : String(id);
    if (other === String(id)) continue;
    leftOut.add(number);
    const text = record.toString();
    misfit({
      place: profileRow.origin(entry),
      member: 'username',
      reason: `is already the name of id ${other}, so id ${id} cannot have it`,
      got: JSON.parse(text).username,
      record: text,
    });
  }
  return { merged, placed: { pile, leftOut, places } };
}
