// What a live site says of one user -> rows, or what is wrong with it. Nothing is believed that was not asked for.

import { type Family, KIND_NAMES, KINDS, type KindName } from '../records/kinds.ts';
import { brief, type Fault, normalise } from '../records/normalise.ts';
import type { Row } from '../records/row.ts';
import { userKey } from '../records/user-name.ts';
import { COLLECTIONS, isBroken, isObject, nameOf, readValue } from '../transfer/json-text.ts';

export interface Taken {
  readonly rows: readonly Row[];
  readonly faults: readonly Fault[];
}

const kindIn = (family: Family, isItem: boolean) =>
  KIND_NAMES.find((kind) => KINDS[kind].family === family && 'owner' in KINDS[kind] === isItem) as KindName;

/** The profile that a body is, when it is that of the user who was asked for. */
export function takeProfile(body: Buffer, family: Family, askedFor: string): Taken {
  const read = readBody(body);
  if ('problem' in read) return wrong('record', read.problem);
  if (!isObject(read.value)) return wrong('record', `must be a profile, not ${nameOf(read.value)}`);
  const result = normalise(read.value, kindIn(family, false));
  if ('faults' in result) return { rows: [], faults: result.faults };
  if (result.row.userKey !== userKey(askedFor))
    return wrong('username', 'is not who was asked for', String(read.value.username));
  return { rows: [result.row], faults: [] };
}

/** The items that a body lists, as far as they are the owner's. */
export function takeItems(body: Buffer, family: Family, owner: string): Taken {
  const read = readBody(body);
  if ('problem' in read) return wrong('record', read.problem);
  const list = listIn(read.value);
  if (list === undefined) return wrong('record', `must be an object with a list: ${COLLECTIONS.join(', ')}`);
  const kind = kindIn(family, true);
  const { owner: ownerMember } = KINDS[kind] as { owner: string };
  const rows: Row[] = [];
  const faults: Fault[] = [];
  for (const [index, item] of list.entries()) {
    const refuse = (fault: Fault) => faults.push({ ...fault, member: `item ${index + 1}: ${fault.member}` });
    const result = normalise(item, kind);
    if ('faults' in result) for (const fault of result.faults) refuse(fault);
    else if (result.row.owner !== owner)
      refuse({
        member: ownerMember,
        reason: `must be the id of the profile, ${owner}`,
        got: result.row.owner,
      });
    else rows.push(result.row);
  }
  return { rows, faults };
}

function listIn(value: unknown): unknown[] | undefined {
  return isObject(value)
    ? (COLLECTIONS.map((name) => value[name]).find(Array.isArray) as unknown[] | undefined)
    : undefined;
}

const wrong = (member: string, reason: string, got = ''): Taken => ({
  rows: [],
  faults: [{ member, reason, got: brief(got) }],
});

function readBody(body: Buffer): ReturnType<typeof readValue> {
  const bytes = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? body.subarray(3) : body;
  const text = bytes.toString();
  return isBroken(text, bytes) ? { problem: 'not valid UTF-8' } : readValue(text);
}
