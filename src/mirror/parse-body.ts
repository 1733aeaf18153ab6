// Response bodies of the site -> rows for the store, or what is wrong with them. Data that was not asked for is refused.
import { describeType, isObject, readBody } from '../formats/json-text.ts';
import { KINDS, type KindName, kindOf } from '../records/kinds.ts';
import { type Fault, type NormaliseResult, normalise } from '../records/normalise.ts';
import { brief } from '../records/printable.ts';
import type { Row } from '../records/row.ts';
import { type Member, SCHEMAS } from '../records/schemas.ts';
import { userKey } from '../records/user-name.ts';
import { MAX_ITEMS, resolveAddresses } from '../remote/lookups.ts';
import { COLLECTIONS } from '../variants.ts';
import type { Mirror } from './context.ts';

export interface ParsedBody {
  readonly rows: readonly Row[];
  readonly faults: readonly Fault[];
}

/** A body that must be the profile of this user. */
export function parseProfile(body: Buffer, user: string, mirror: Mirror): ParsedBody {
  const read = readBody(body);
  if ('problem' in read) return refused('record', read.problem);
  if (!isObject(read.value)) return refused('record', `must be a profile, not ${describeType(read.value)}`);
  const result = parseRecord(read.value, kindOf(mirror.family, 'profile'), mirror);
  if ('faults' in result) return { rows: [], faults: result.faults };
  if (result.row.userKey !== userKey(user))
    return refused('username', 'is not the user who was asked for', read.value.username);
  return { rows: [result.row], faults: [] };
}

/** A body that must be a list of this owner's items. */
export function parseItems(body: Buffer, owner: string, mirror: Mirror): ParsedBody {
  const read = readBody(body);
  if ('problem' in read) return refused('record', read.problem);
  const list = findList(read.value);
  if (list === undefined)
    return refused('record', `must be an object with a list: ${COLLECTIONS.join(', ')}`);
  if (list.length > MAX_ITEMS)
    return refused('record', `must not list more than ${MAX_ITEMS} items`, String(list.length));
  const kind = kindOf(mirror.family, 'item');
  const rows: Row[] = [];
  const faults: Fault[] = [];
  for (const [index, item] of list.entries()) {
    const result = parseItem(item, kind, owner, mirror);
    if ('row' in result) rows.push(result.row);
    else
      for (const fault of result.faults)
        faults.push({ ...fault, member: `item ${index + 1}: ${fault.member}` });
  }
  return { rows, faults };
}

function parseItem(item: unknown, kind: KindName, owner: string, mirror: Mirror): NormaliseResult {
  const result = parseRecord(item, kind, mirror);
  if ('faults' in result || result.row.owner === owner) return result;
  const { owner: member } = KINDS[kind] as { owner: string };
  return { faults: [{ member, reason: `must be the id of the profile, ${owner}`, got: result.row.owner }] };
}

function parseRecord(
  raw: unknown,
  kind: KindName,
  { from, lenient, counts: { emptied } }: Mirror,
): NormaliseResult {
  if (!isObject(raw)) return normalise(raw, kind);
  const source = resolveAddresses(raw, kind, from);
  const result = normalise(source, kind);
  if ('row' in result || !lenient) return result;
  const members = SCHEMAS[kind].properties as Record<string, Member>;
  const bad = result.faults.map(({ member }) => member);
  if (bad.some((member) => members[member]?.default === undefined)) return result;
  for (const member of bad) emptied[member] = (emptied[member] ?? 0) + 1;
  return normalise({ ...source, ...Object.fromEntries(bad.map((member) => [member, undefined])) }, kind);
}

function findList(value: unknown): unknown[] | undefined {
  if (!isObject(value)) return undefined;
  return COLLECTIONS.map((name) => value[name]).find((list) => Array.isArray(list));
}

const refused = (member: string, reason: string, got: unknown = ''): ParsedBody => ({
  rows: [],
  faults: [{ member, reason, got: brief(got) }],
});
