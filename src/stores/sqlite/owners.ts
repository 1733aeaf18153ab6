// Profiles' places: each is given once, and found again for the items.
import { FAMILIES, type Family } from '../../records/kinds.ts';
import type { Marks } from '../marks.ts';
import { idKey, type Pile } from '../staging.ts';
import type { Connection } from './sqlite.ts';

type OwnerPlaces = (family: Family, owner: number | bigint) => number | undefined;

/** Gives new places, one after the other. */
export function createPlaces(db: Connection) {
  const row = db.prepare('SELECT place FROM next_places WHERE family = ?').pluck();
  const save = db.prepare('UPDATE next_places SET place = ? WHERE family = ?');
  const next = Object.fromEntries(FAMILIES.map((family) => [family, row.get(family)])) as Record<
    Family,
    number
  >;
  return {
    give: (family: Family): number => next[family]++,
    save(): void {
      for (const family of FAMILIES) save.run(next[family], family);
    },
  };
}

/** The profiles of an import, with their places by their numbers. */
export interface Placed {
  readonly pile: Pile;
  readonly leftOut: Marks;
  readonly places: Uint32Array;
}

/** Finds owners' places, which are asked for in the order of their families and ids: most are in the import itself. */
export function createOwnerPlaces(db: Connection, { pile, leftOut, places }: Placed): OwnerPlaces {
  const stored = db.prepare('SELECT place FROM profiles WHERE family = ? AND id = ?').pluck();
  const staged = pile.ids.entries().filter((entry) => !leftOut.has(idKey.number(entry)));
  let candidate = staged.next();

  return (family, owner): number | undefined => {
    for (; !candidate.done; candidate = staged.next()) {
      const entry = candidate.value;
      const ahead = FAMILIES.indexOf(idKey.family(entry)) - FAMILIES.indexOf(family);
      if (ahead > 0 || (ahead === 0 && idKey.id(entry) > owner)) break;
      if (ahead === 0 && !(idKey.id(entry) < owner)) return places[idKey.number(entry)];
    }
    return stored.get(family, owner) as number | undefined;
  };
}
