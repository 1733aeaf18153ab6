// Staged rows -> the tables: profiles, then items, whose owners are known by then.
import { type Family, KIND_NAMES, KINDS, type KindName } from '../../records/kinds.ts';
import { createMarks, type Marks } from '../marks.ts';
import { createSorter } from '../sorter.ts';
import { idKey, type Pile, type Staging } from '../staging.ts';
import type { LoadOptions, Misfit, Tallies, Tally } from '../store.ts';
import { mergeItems } from './items.ts';
import type { MergedByFamily } from './merged.ts';
import { mergeProfiles } from './profiles.ts';
import type { Connection } from './sqlite.ts';

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
      const { merged, placed } = mergeProfiles({
        db,
        pile: profiles,
        replaced,
        leftOut: profilesLeftOut,
        misfit: misfits.add,
      });
      if (misfits.count() === before) {
        const laid = mergeItems(
          { db, pile: items, replaced, leftOut: itemsLeftOut, misfit: misfits.add },
          placed,
        );
        return misfits.count() === 0 || options.skipInvalid ? talliesOf(merged, laid) : undefined;
      }
      if (!options.skipInvalid) return undefined;
      // A profile that is left out keeps its old name, which may have been meant for another: hence again.
      db.exec('ROLLBACK; BEGIN IMMEDIATE');
    }
  } finally {
    misfits.report(options.onMisfit);
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
      for (const { bytes, at, end } of sorter.entries())
        onMisfit(JSON.parse(bytes.toString('utf8', at + 8, end)));
      sorter.close();
    },
  };
}

function talliesOf(profiles: MergedByFamily, items: MergedByFamily): Tallies {
  const tally = (kind: KindName): Tally => {
    const { landed, known, written, removed } = ('owner' in KINDS[kind] ? items : profiles)[
      KINDS[kind].family
    ];
    return { new: landed - known, changed: written - (landed - known), unchanged: landed - written, removed };
  };
  return Object.fromEntries(KIND_NAMES.map((kind) => [kind, tally(kind)])) as Tallies;
}
