// Two records, member by member, as the texts that an import would make of them.
import { writeJson } from '../formats/json-text.ts';
import { FILE_MEMBERS, type KindName, PICTURE_MEMBERS } from '../records/kinds.ts';
import { normalise } from '../records/normalise.ts';
import type { RawRecord } from '../records/recognise.ts';
import { scalarText } from '../records/scalar.ts';
import { type Form, type Member, SCHEMAS } from '../records/schemas.ts';
import type { Difference } from './verdicts.ts';

/** Members that lead to a picture or another file, of which a copy has another address. */
const PICTURES = new Set([PICTURE_MEMBERS, FILE_MEMBERS].flatMap((byKind) => Object.values(byKind).flat()));

export const isPicture = (member: string) => PICTURES.has(member);

export type Texts = Readonly<Record<string, string>>;

const listMembers = (kind: KindName) => SCHEMAS[kind].properties as Record<string, Member>;

export const findForm = (kind: KindName, member: string): Form | undefined =>
  listMembers(kind)[member]?.['x-form'];

/** The text of every member. A record that an import would refuse is taken as it is. */
export function readTexts(raw: RawRecord, kind: KindName): Texts {
  const result = normalise(raw, kind);
  if ('row' in result) return JSON.parse(result.row.record);
  const entries = Object.entries(listMembers(kind)).map(([member, schema]) => {
    const value = raw[member] ?? schema.default ?? '';
    return [member, scalarText(value) ?? writeJson(value)];
  });
  return Object.fromEntries(entries);
}

export function compareTexts(one: Texts, other: Texts, item?: string): Difference[] {
  return Object.keys(one)
    .filter((member) => one[member] !== other[member])
    .map((member) => ({
      ...(item !== undefined && { item }),
      member,
      old: one[member] as string,
      new: other[member] as string,
    }));
}

/** Members outside the specification that only one record has, or that differ. */
export function findOutside(
  one: RawRecord,
  other: RawRecord,
  specified: (member: string) => boolean,
): string[] {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].filter((name) => !specified(name) && writeJson(one[name]) !== writeJson(other[name]));
}
