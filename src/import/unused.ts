// Members of the files that no record has: misspelt ones would otherwise become empty without a word.
import { KIND_NAMES, type KindName } from '../records/kinds.ts';
import { nearest } from '../records/nearest.ts';
import { brief, counted } from '../records/printable.ts';
import type { RawRecord } from '../records/recognise.ts';
import { SCHEMAS } from '../records/schemas.ts';

const MEMBERS = new Map(KIND_NAMES.map((kind) => [kind, new Set(Object.keys(SCHEMAS[kind].properties))]));

/** How many different names are counted one by one. */
const MOST_NAMES = 20;

export function createUnused() {
  const found = new Map<string, { count: number; readonly meant: string | undefined }>();
  let others = 0;

  function add(name: string, members: ReadonlySet<string>): void {
    const known = found.get(name);
    if (known !== undefined) known.count++;
    else if (found.size === MOST_NAMES) others++;
    else found.set(name, { count: 1, meant: nearest(name, [...members]) });
  }

  return {
    look(source: RawRecord, kind: KindName): void {
      const members = MEMBERS.get(kind) as ReadonlySet<string>;
      for (const name in source) if (!members.has(name)) add(brief(name), members);
    },
    /** How often each came. */
    counts: () => Object.fromEntries([...found].map(([name, { count }]) => [name, count])),
    /** A line that names them all; none if all members were used. */
    lines(): string[] {
      const names = [...found].map(([name, { count, meant }]) => {
        const times = `${name || '(no name)'} (${counted(count, 'time')})`;
        return meant === undefined ? times : `${times}: ${meant}?`;
      });
      if (others > 0) names.push(`others (${counted(others, 'time')})`);
      return names.length === 0 ? [] : [`not used: ${names.join(', ')}`];
    },
  };
}
