// The bodies of two answers whose bytes differ.

import { describeType, isObject, readBody } from '../formats/json-text.ts';
import { type Family, kindOf } from '../records/kinds.ts';
import type { RawRecord } from '../records/recognise.ts';
import { MAX_ITEMS } from '../remote/lookups.ts';
import { compareItems, type ItemComparison } from './compare-items.ts';
import { compareTexts, formOf, outsideOf, textsOf } from './compare-records.ts';

export interface Question {
  readonly lookup: 'profile' | 'items';
  readonly family: Family;
  /** The member that holds the items. */
  readonly collection: string;
}

export function compareBodies(oldBody: Buffer, newBody: Buffer, question: Question): ItemComparison {
  const [one, other] = [readObject(oldBody, question), readObject(newBody, question)];
  if (typeof one === 'string' || typeof other === 'string') {
    const sentence = (read: RawRecord | string) => (typeof read === 'string' ? read : 'as it should be');
    const difference = { member: 'record', old: sentence(one), new: sentence(other) };
    return { differences: [difference], newest: undefined, outside: [] };
  }
  return question.lookup === 'profile'
    ? compareProfiles(one, other, question)
    : compareLists(one, other, question);
}

function compareProfiles(one: RawRecord, other: RawRecord, { family }: Question): ItemComparison {
  const kind = kindOf(family, 'profile');
  return {
    differences: compareTexts(textsOf(one, kind), textsOf(other, kind)),
    newest: undefined,
    outside: outsideOf(one, other, (member) => formOf(kind, member) !== undefined),
  };
}

function compareLists(one: RawRecord, other: RawRecord, { family, collection }: Question): ItemComparison {
  // Checked when the bodies were read.
  const [oldList, newList] = [one[collection], other[collection]] as [RawRecord[], RawRecord[]];
  const compared = compareItems(oldList, newList, kindOf(family, 'item'));
  const around = outsideOf(one, other, (member) => member === collection);
  return { ...compared, outside: [...around, ...compared.outside] };
}

/** The object of a body, or what is wrong with it. */
function readObject(body: Buffer, { lookup, collection }: Question): RawRecord | string {
  const read = readBody(body);
  if ('problem' in read) return read.problem;
  const { value } = read;
  if (!isObject(value)) return `${describeType(value)} instead of an object`;
  if (lookup === 'profile') return value;
  const list = value[collection];
  if (!Array.isArray(list)) return `no list ${collection}`;
  if (list.length > MAX_ITEMS) return `a list of ${list.length} items`;
  return list.every(isObject) ? value : 'a list of other things than objects';
}
