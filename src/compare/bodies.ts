// The bodies of two answers whose bytes differ: two profiles, or two lists of items. Items are matched by id, so their order
// does not matter; a list may just be newer than the other.

import { describeType, isObject, readBody } from '../formats/json-text.ts';
import { type Family, findKind, ITEM_CAP, type KindName } from '../records/kinds.ts';
import { resolveAddresses, unescapeTexts } from '../records/mending.ts';
import type { RawRecord } from '../records/recognise.ts';
import { type Lookup, MAX_ITEMS } from '../remote/lookups.ts';
import { compareTexts, findForm, findOutside, readTexts, type Texts } from './records.ts';
import type { Difference, Side } from './verdicts.ts';

export interface Question {
  readonly lookup: Lookup;
  readonly family: Family;
  /** The member that holds the items. */
  readonly collection: string;
  /** The addresses of both sites, which relative ones are below. */
  readonly old: URL;
  readonly new: URL;
}

export function compareBodies(oldBody: Buffer, newBody: Buffer, question: Question): Comparison {
  const one = readObject(oldBody, question.old, question);
  const other = readObject(newBody, question.new, question);
  if (typeof one === 'string' || typeof other === 'string') {
    const sentence = (read: RawRecord | string) => (typeof read === 'string' ? read : 'as it should be');
    const difference = { member: 'record', old: sentence(one), new: sentence(other) };
    return { differences: [difference], newest: undefined, outside: [] };
  }
  return question.lookup === 'profile'
    ? compareProfiles(one, other, question)
    : compareLists(one, other, question);
}

function compareProfiles(one: RawRecord, other: RawRecord, { family }: Question): Comparison {
  const kind = findKind(family, 'profile');
  return {
    differences: compareTexts(readTexts(one, kind), readTexts(other, kind)),
    newest: undefined,
    outside: findOutside(one, other, (member) => findForm(kind, member) !== undefined),
  };
}

function compareLists(one: RawRecord, other: RawRecord, { family, collection }: Question): Comparison {
  // Checked when the bodies were read.
  const [oldList, newList] = [one[collection], other[collection]] as [RawRecord[], RawRecord[]];
  const compared = compareItems(oldList, newList, findKind(family, 'item'));
  const around = findOutside(one, other, (member) => member === collection);
  return { ...compared, outside: [...around, ...compared.outside] };
}

/** The object of a body, or what is wrong with it. */
function readObject(body: Buffer, base: URL, { lookup, family, collection }: Question): RawRecord | string {
  const read = readBody(body);
  if ('problem' in read) return read.problem;
  const { value } = read;
  if (!isObject(value)) return `${describeType(value)} instead of an object`;
  if (lookup === 'profile') return resolveAddresses(unescapeTexts(value), findKind(family, 'profile'), base);
  const list = value[collection];
  if (!Array.isArray(list)) return `no list ${collection}`;
  if (list.length > MAX_ITEMS) return `a list of ${list.length} items`;
  if (!list.every(isObject)) return 'a list of other things than objects';
  return {
    ...value,
    [collection]: list.map((item) => resolveAddresses(unescapeTexts(item), findKind(family, 'item'), base)),
  };
}

interface Comparison {
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

function compareItems(
  oldList: readonly RawRecord[],
  newList: readonly RawRecord[],
  kind: KindName,
): Comparison {
  const [oldItems, newItems] = [byId(oldList, kind), byId(newList, kind)];
  const differences: Difference[] = [];
  const outside = new Set<string>();
  for (const [id, { raw, texts }] of oldItems) {
    const other = newItems.get(id);
    if (other === undefined) continue;
    differences.push(...compareTexts(texts, other.texts, id));
    const specified = (member: string) => findForm(kind, member) !== undefined;
    for (const member of findOutside(raw, other.raw, specified)) outside.add(member);
  }
  const onlyOld = findExtra(oldItems, newItems);
  const onlyNew = findExtra(newItems, oldItems);
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
    const texts = readTexts(raw, kind);
    const id = texts.id as string;
    let key = id;
    for (let time = 2; items.has(key); time++) key = `${id} (${time})`;
    items.set(key, { raw, texts });
  }
  return items;
}

/** The items that the other list lacks, except those that are too old for it: a list ends after the newest 15. */
function findExtra(items: Items, others: Items): Items {
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
