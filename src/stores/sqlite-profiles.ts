// Staged profiles -> their table, in the order in which they lie there.
import { dropOthers, largestIds, type Merge, type MergedByFamily, nothingYet } from './sqlite-merged.ts';
import { idKey, profileRow } from './staging.ts';

export function mergeProfiles({ db, pile, replaced, leftOut, misfit }: Merge): MergedByFamily {
  const merged = nothingYet();
  const largest = largestIds(db, 'profiles');
  const keepsName = db.prepare('SELECT user_key = ? FROM profiles WHERE family = ? AND id = ?').pluck();
  const drop = db.prepare('DELETE FROM profiles WHERE family = ? AND id = ?');
  const put = db.prepare(
    `INSERT INTO profiles (family, user_key, id, record) VALUES (?, ?, ?, CAST(? AS TEXT))
     ON CONFLICT (family, user_key) DO UPDATE SET record = excluded.record
     WHERE id = excluded.id AND record <> excluded.record`,
  );
  const holder = db
    .prepare('SELECT CAST(id AS TEXT) FROM profiles WHERE family = ? AND user_key = ?')
    .pluck();

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
