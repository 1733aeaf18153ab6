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
  const onlyOld = extraOf(oldItems, newItems);
  const onlyNew = extraOf(newItems, oldItems);
  const newest = newestSide({ oldItems, newItems, onlyOld, onlyNew });
  if (newest === undefined) {
    for (const [item] of onlyOld) differences.push({ item, member: 'record', old: 'listed', new: 'missing' });
    for (const [item] of onlyNew) differences.push({ item, member: 'record', old: 'missing', new: 'listed' });
  }
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

/** The items that the other list lacks, except those that are too old for it: a list ends after the newest 15. */
function extraOf(items: Items, others: Items): Items {
  const isCutOff = (item: Item) => others.size >= ITEM_CAP && isOlderThanAll(item, others);
  return new Map([...items].filter(([id, item]) => !others.has(id) && !isCutOff(item)));
}

/** Lists without a common item are not just older or newer: one of them may have been lost. */
function newestSide(lists: Record<'oldItems' | 'newItems' | 'onlyOld' | 'onlyNew', Items>): Side | undefined {
  const { oldItems, newItems, onlyOld, onlyNew } = lists;
  if (![...oldItems.keys()].some((id) => newItems.has(id))) return undefined;
  if (onlyNew.size === 0 && isAhead(onlyOld, newItems)) return 'old';
  if (onlyOld.size === 0 && isAhead(onlyNew, oldItems)) return 'new';
  return undefined;
}

const isAhead = (extra: Items, others: Items) =>
  extra.size > 0 && [...others.values()].every((other) => isOlderThanAll(other, extra));

const isOlderThanAll = (item: Item, others: Items) =>
  [...others.values()].every((other) => isLater(other, item));

function isLater({ texts: one }: Item, { texts: other }: Item): boolean {
  if (one.date !== other.date) return (one.date as string) > (other.date as string);
  const [id, otherId] = [one.id as string, other.id as string];
  return id.length === otherId.length ? id > otherId : id.length > otherId.length;
}
