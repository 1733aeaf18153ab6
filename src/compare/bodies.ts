// The bodies of two answers whose bytes differ: two profiles, or two lists of items. Items are matched by id, so their order
// does not matter; a list may just be newer than the other.
import { isObject, readBody, writeJson } from '../formats/json-text.ts';
import {
  type Family,
  FILE_MEMBERS,
  findKind,
  ITEM_CAP,
  type KindName,
  PICTURE_MEMBERS,
} from '../records/kinds.ts';
import { resolveAddresses, unescapeTexts } from '../records/mending.ts';
import { normalise } from '../records/normalise.ts';
import type { RawRecord } from '../records/recognise.ts';
import { scalarText } from '../records/scalar.ts';
import { type Form, type Member, SCHEMAS } from '../records/schemas.ts';
import { type Lookup, MAX_ITEMS } from '../remote/site-client.ts';
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
  const one = readAnswer(oldBody, question.old, question);
  const other = readAnswer(newBody, question.new, question);
  if (typeof one === 'string' || typeof other === 'string') {
    const sentence = (read: unknown) => (typeof read === 'string' ? read : 'as it should be');
    const difference = { member: 'record', old: sentence(one), new: sentence(other) };
    return { differences: [difference], newest: undefined };
  }
  const { lookup, family } = question;
  if (lookup === 'items')
    return compareItems(one as RawRecord[], other as RawRecord[], findKind(family, 'item'));
  const kind = findKind(family, 'profile');
  const differences = compareTexts(readTexts(one as RawRecord, kind), readTexts(other as RawRecord, kind));
  return { differences, newest: undefined };
}

/** The profile or the items of a body, or what is wrong with it. */
function readAnswer(
  body: Buffer,
  base: URL,
  { lookup, family, collection }: Question,
): RawRecord | RawRecord[] | string {
  const value = readBody(body);
  if (typeof value === 'string') return value;
  if (lookup === 'profile') return resolveAddresses(unescapeTexts(value), findKind(family, 'profile'), base);
  const list = value[collection];
  if (!Array.isArray(list)) return `no list ${collection}`;
  if (list.length > MAX_ITEMS) return `a list of ${list.length} items`;
  if (!list.every(isObject)) return 'a list of other things than objects';
  return list.map((item) => resolveAddresses(unescapeTexts(item), findKind(family, 'item'), base));
}

interface Comparison {
  readonly differences: readonly Difference[];
  /** The site that has newer items, if that is all there is to items of one site only. */
  readonly newest: Side | undefined;
}

/** Items by their ids. */
type Items = ReadonlyMap<string, Texts>;

function compareItems(
  oldList: readonly RawRecord[],
  newList: readonly RawRecord[],
  kind: KindName,
): Comparison {
  const byId = (list: readonly RawRecord[]): Items =>
    new Map(list.map((raw) => readTexts(raw, kind)).map((texts) => [texts.id as string, texts]));
  const [oldItems, newItems] = [byId(oldList), byId(newList)];
  const differences: Difference[] = [];
  for (const [id, texts] of oldItems) {
    const other = newItems.get(id);
    if (other !== undefined) differences.push(...compareTexts(texts, other, id));
  }
  const onlyOld = findExtra(oldItems, newItems);
  const onlyNew = findExtra(newItems, oldItems);
  const newest = newestSide({ oldItems, newItems, onlyOld, onlyNew });
  if (newest === undefined) {
    for (const [item] of onlyOld) differences.push({ item, member: 'record', old: 'listed', new: 'missing' });
    for (const [item] of onlyNew) differences.push({ item, member: 'record', old: 'missing', new: 'listed' });
  }
  return { differences, newest };
}

/** The items that the other list lacks, except those that are too old for it: a list ends after the newest 15. */
function findExtra(items: Items, others: Items): Items {
  const isCutOff = (item: Texts) => others.size >= ITEM_CAP && rank(item) < oldest(others);
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
  extra.size > 0 && [...others.values()].every((other) => rank(other) < oldest(extra));

/** A text that sorts items by date, then id. */
const rank = ({ date = '', id = '' }: Texts) => `${date} ${id.padStart(20, '0')}`;
const oldest = (items: Items) => [...items.values()].map(rank).sort()[0] as string;

/** Members that lead to a picture or another file, of which a copy has another address. */
const PICTURES = new Set([PICTURE_MEMBERS, FILE_MEMBERS].flatMap((byKind) => Object.values(byKind).flat()));

export const isPicture = (member: string) => PICTURES.has(member);

/** The texts that an import would make of a record's members. */
type Texts = Readonly<Record<string, string>>;

const listMembers = (kind: KindName) => SCHEMAS[kind].properties as Record<string, Member>;

export const findForm = (kind: KindName, member: string): Form | undefined =>
  listMembers(kind)[member]?.['x-form'];

/** The text of every member. A record that an import would refuse is taken as it is. */
function readTexts(raw: RawRecord, kind: KindName): Texts {
  const result = normalise(raw, kind);
  if ('row' in result) return JSON.parse(result.row.record);
  const entries = Object.entries(listMembers(kind)).map(([member, schema]) => {
    const value = raw[member] ?? schema.default ?? '';
    return [member, scalarText(value) ?? writeJson(value)];
  });
  return Object.fromEntries(entries);
}

function compareTexts(one: Texts, other: Texts, item?: string): Difference[] {
  return Object.keys(one)
    .filter((member) => one[member] !== other[member])
    .map((member) => ({
      ...(item !== undefined && { item }),
      member,
      old: one[member] as string,
      new: other[member] as string,
    }));
}
