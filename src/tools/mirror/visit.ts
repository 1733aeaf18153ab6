// One visit to one user of the site: both lookups, checked; what came of it. Data that was not asked for is refused.

import { findList } from '../../import/formats/json-text.ts';
import { findKind, KINDS, type RecordKind } from '../../records/kinds.ts';
import { resolveAddresses } from '../../records/mending.ts';
import { type Fault, normalise, type RawRecord, type Row } from '../../records/normalise.ts';
import { brief } from '../../records/printable.ts';
import { isObject } from '../../records/scalar.ts';
import { userKey } from '../../records/user-name.ts';
import { COLLECTIONS } from '../../variants.ts';
import { SiteError } from '../remote/http-client.ts';
import { type Lookup, MAX_ITEMS } from '../remote/site-client.ts';
import { describeFaults, type Mirror, type VisitResult } from './context.ts';
import type { LastFetch } from './memory.ts';

/** Throws a SiteError if an answer cannot be had, or is refused. */
export async function visitUser(
  name: string,
  last: LastFetch | undefined,
  mirror: Mirror,
): Promise<VisitResult> {
  const { site, isTakenDown, onFault } = mirror;
  const profile = await site.get(name, 'profile', last?.profile);
  if (profile.state === 'unknown') {
    onFault(`${site.buildUrl(name, 'profile')}: unknown user`);
    return { outcome: 'unknown', rows: [] };
  }
  const rows =
    profile.state === 'body' ? [readProfile(profile.value, { name, lookup: 'profile', mirror })] : [];
  // Without a body there was a validator, so there was a last fetch.
  const id = rows[0]?.id ?? (last as LastFetch).id;
  if (isTakenDown('id', id)) return { outcome: 'takenDown', rows: [] };
  reserveId(id, name, mirror);

  const items = await site.get(name, 'items', id === last?.id ? last.items : {});
  if (items.state === 'unknown')
    throw new SiteError(`${site.buildUrl(name, 'items')}: status 404 although the profile exists`, 'answer');
  if (items.state === 'body') rows.push(...readItems(items.value, id, { name, lookup: 'items', mirror }));
  const isUnchanged = profile.state === 'unchanged' && items.state === 'unchanged';
  const validators = { profile: profile.validators, items: items.validators };
  return { outcome: isUnchanged ? 'unchanged' : 'found', rows, fetched: { id, ...validators } };
}

/** An answer that is being read. */
interface Answer {
  readonly name: string;
  readonly lookup: Lookup;
  readonly mirror: Mirror;
}

function refuse({ name, lookup, mirror }: Answer, ...faults: readonly Fault[]): never {
  throw new SiteError(describeFaults(mirror.site, name, lookup, faults), 'answer');
}

/** Two users of one site cannot have one id. */
function reserveId(id: string, name: string, mirror: Mirror): void {
  const { batchIds, memory } = mirror;
  const key = userKey(name);
  const holder = batchIds.get(id) ?? memory.findHolder(id) ?? key;
  const reason = `is the id of ${JSON.stringify(holder)} already`;
  if (holder !== key) refuse({ name, lookup: 'profile', mirror }, { member: 'id', reason, got: id });
  batchIds.set(id, key);
}

/** The profile of this user. */
function readProfile(value: RawRecord | string, answer: Answer): Row {
  const row = readRecord(readObject(value, answer), answer);
  const reason = 'is not the user that was asked for';
  if (row.userKey !== userKey(answer.name))
    refuse(answer, { member: 'username', reason, got: brief(row.userKey) });
  return row;
}

/** A list of this owner's items. */
function readItems(value: RawRecord | string, owner: string, answer: Answer): Row[] {
  const list = findList(readObject(value, answer), COLLECTIONS);
  const bad = (reason: string, got: string) => refuse(answer, { member: 'record', reason, got });
  if (list === undefined) return bad(`must be an object with a list: ${COLLECTIONS.join(', ')}`, '');
  if (list.length > MAX_ITEMS) bad(`must not list more than ${MAX_ITEMS} items`, String(list.length));
  return list.map((item, index) => readItem(item, index + 1, owner, answer));
}

function readItem(item: unknown, place: number, owner: string, answer: Answer): Row {
  const row = readRecord(item, answer, `item ${place}: `);
  const { owner: member }: RecordKind = KINDS[row.kind];
  const reason = `must be the id of the profile, ${owner}`;
  if (row.owner !== owner) refuse(answer, { member: `item ${place}: ${member}`, reason, got: row.owner });
  return row;
}

const readObject = (value: RawRecord | string, answer: Answer): RawRecord =>
  typeof value === 'string' ? refuse(answer, { member: 'record', reason: value, got: '' }) : value;

/** The row of a record; `prefix` says which record it is. */
function readRecord(raw: unknown, answer: Answer, prefix = ''): Row {
  const { family, mender, options } = answer.mirror;
  const kind = findKind(family, answer.lookup === 'items' ? 'item' : 'profile');
  const result = isObject(raw)
    ? mender.normalise(resolveAddresses(raw, kind, options.from), kind)
    : normalise(raw, kind);
  if ('row' in result) return result.row;
  return refuse(answer, ...result.faults.map((fault) => ({ ...fault, member: prefix + fault.member })));
}
