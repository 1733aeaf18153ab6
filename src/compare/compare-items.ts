// Two lists of items: which are on both sites, and whether one list is just newer than the other. Items are matched by
// id, so their order in the list does not matter.
import { ITEM_CAP, type KindName } from '../records/kinds.ts';
import type { RawRecord } from '../records/recognise.ts';
import type { Difference, Side } from './classes.ts';
import { compareTexts, formOf, outsideOf, type Texts, textsOf } from './compare-records.ts';

export interface ItemComparison {
  readonly differences: readonly Difference[];
  /** The site that has newer items, if that is all there is to items of one site only. */
  readonly newest: Side | undefined;
  readonly outside: readonly string[];
}

interface Item {
  readonly raw: RawRecord;
  readonly texts: Texts;
}

type Items = ReadonlyMap<string, Item>;

export function compareItems(
  oldList: readonly RawRecord[],
  newList: readonly RawRecord[],
  kind: KindName,
): ItemComparison {
  const [oldItems, newItems] = [byId(oldList, kind), byId(newList, kind)];
  const differences: Difference[] = [];
  const outside = new Set<string>();
  for (const [id, { raw, texts }] of oldItems) {
    const other = newItems.get(id);
    if (other === undefined) continue;
    differences.push(...compareTexts(texts, other.texts, id));
    const specified = (member: string) => formOf(kind, member) !== undefined;
    for (const member of outsideOf(raw, other.raw, specified)) outside.add(member);
  }
  const newest = newestSide(oldItems, newItems);
  if (newest === undefined) differences.push(...missingItems(oldItems, newItems));
  return { differences, newest, outside: [...outside] };
}

/** By the id, and its repetition if the list has it more than once. */
function byId(list: readonly RawRecord[], kind: KindName): Items {
  const items = new Map<string, Item>();
  for (const raw of list) {
    const texts = textsOf(raw, kind);
    const id = texts.id as string;
    let key = id;
    for (let time = 2; items.has(key); time++) key = `${id} (${time})`;
    items.set(key, { raw, texts });
  }
  return items;
}

function missingItems(oldItems: Items, newItems: Items): Difference[] {
  const onlyOld = [...oldItems.keys()].filter((id) => !newItems.has(id));
  const onlyNew = [...newItems.keys()].filter((id) => !oldItems.has(id));
  return [
    ...onlyOld.map((item) => ({ item, member: 'record', old: 'listed', new: 'missing' })),
    ...onlyNew.map((item) => ({ item, member: 'record', old: 'missing', new: 'listed' })),
  ];
}

/** Lists without a common item are not just older or newer: one of them may have been lost. */
function newestSide(oldItems: Items, newItems: Items): Side | undefined {
  const onlyOld = [...oldItems].filter(([id]) => !newItems.has(id)).map(([, item]) => item);
  const onlyNew = [...newItems].filter(([id]) => !oldItems.has(id)).map(([, item]) => item);
  if (onlyOld.length === oldItems.size) return undefined;
  if (isAhead(onlyOld, newItems) && isCutOff(onlyNew, oldItems)) return 'old';
  if (isAhead(onlyNew, oldItems) && isCutOff(onlyOld, newItems)) return 'new';
  return undefined;
}

const isAhead = (extra: readonly Item[], others: Items) =>
  extra.length > 0 && extra.every((item) => [...others.values()].every((other) => isLater(item, other)));

/** Whether these are missing in a list because it is full and they are older than all in it. */
const isCutOff = (extra: readonly Item[], list: Items) =>
  extra.length === 0 ||
  (list.size >= ITEM_CAP && extra.every((item) => [...list.values()].every((other) => isLater(other, item))));

function isLater({ texts: one }: Item, { texts: other }: Item): boolean {
  if (one.date !== other.date) return (one.date as string) > (other.date as string);
  const [id, otherId] = [one.id as string, other.id as string];
  return id.length === otherId.length ? id > otherId : id.length > otherId.length;
}
