// One visit to one user of the site: both lookups, checked; what came of it. Data that was not asked for is refused.
import { findList, isObject, readBody } from '../formats/json-text.ts';
import { findKind, KINDS, type KindName } from '../records/kinds.ts';
import { resolveAddresses } from '../records/mending.ts';
import { type Fault, type NormaliseResult, normalise } from '../records/normalise.ts';
import { brief } from '../records/printable.ts';
import type { Row } from '../records/row.ts';
import { userKey } from '../records/user-name.ts';
import { SiteError } from '../remote/http-client.ts';
import { type Lookup, MAX_ITEMS, type SiteResponse, type Validators } from '../remote/site-client.ts';
import { COLLECTIONS } from '../variants.ts';
import { type Mirror, reportRefusal, type VisitResult } from './context.ts';
import type { LastFetch } from './memory.ts';

export async function visitUser(
  name: string,
  last: LastFetch | undefined,
  mirror: Mirror,
): Promise<VisitResult> {
  const { site, isTakenDown } = mirror;
  const profile = await site.get(name, 'profile', last?.profile);
  if (profile.state === 'unknown') {
    mirror.onFault(`${site.buildUrl(name, 'profile')}: unknown user`);
    return { outcome: 'unknown', rows: [] };
  }
  const profileRows =
    profile.state === 'body'
      ? accept(name, 'profile', await parseProfile(profile.body, name, mirror), mirror)
      : NO_ROWS;
  if (profileRows === undefined) return FAILED;
  // Without a body there was a validator, so there was a last fetch.
  const id = profileRows[0]?.id ?? (last as LastFetch).id;
  if (isTakenDown('id', id)) return { outcome: 'takenDown', rows: [] };
  if (!claimId(id, name, mirror)) return FAILED;

  const known = id === last?.id ? last : undefined;
  const items = await site.get(name, 'items', known?.items);
  if (items.state === 'unknown')
    throw new SiteError(`${site.buildUrl(name, 'items')}: status 404 although the profile exists`, 'answer');
  const itemRows =
    items.state === 'body'
      ? accept(name, 'items', await parseItems(items.body, id, name, mirror), mirror)
      : NO_ROWS;
  if (itemRows === undefined) return FAILED;
  const isUnchanged = profile.state === 'unchanged' && items.state === 'unchanged';
  return {
    outcome: isUnchanged ? 'unchanged' : 'found',
    rows: [...profileRows, ...itemRows],
    fetched: {
      id,
      profile: chooseValidators(profile, last?.profile),
      items: chooseValidators(items, last?.items),
    },
  };
}

const NO_ROWS: readonly Row[] = [];

const FAILED: VisitResult = { outcome: 'failed', rows: [] };

/** Two users of one site cannot have one id. */
function claimId(id: string, name: string, mirror: Mirror): boolean {
  const { claims, memory } = mirror;
  const key = userKey(name);
  const holder = claims.get(id) ?? memory.findHolder(id);
  if (holder === undefined || holder === key) {
    claims.set(id, key);
    return true;
  }
  const reason = `is the id of ${JSON.stringify(holder)} already`;
  reportRefusal(name, { lookup: 'profile', member: 'id', reason, got: id }, mirror);
  return false;
}

/** The rows; undefined if there is any fault, which is then reported. */
function accept(
  name: string,
  lookup: Lookup,
  { rows, faults }: ParsedBody,
  mirror: Mirror,
): readonly Row[] | undefined {
  for (const fault of faults) reportRefusal(name, { lookup, ...fault }, mirror);
  return faults.length > 0 ? undefined : rows;
}

/** Without a body there were validators, and they still hold. */
const chooseValidators = (response: SiteResponse, last: Validators | undefined): Validators =>
  response.state === 'body' ? response.validators : (last as Validators);

const NOT_ONE = 'the map must return one record for the profile';

/** What the map makes of an object of the site; without a map, the object. Throws where the map did. */
async function applyMap(
  value: unknown,
  user: string,
  lookup: Lookup,
  { recordMap, site }: Mirror,
): Promise<unknown[]> {
  if (recordMap === undefined || !isObject(value)) return [value];
  const file = site.buildUrl(user, lookup);
  const entries = await recordMap.apply(value, '', { file, line: 1 });
  return entries.map((entry) => {
    if ('problem' in entry) throw new SiteError(`${file}: ${entry.problem}`, 'answer');
    return entry.value;
  });
}

interface ParsedBody {
  readonly rows: readonly Row[];
  readonly faults: readonly Fault[];
}

/** A body that must be the profile of this user. */
async function parseProfile(body: Buffer, user: string, mirror: Mirror): Promise<ParsedBody> {
  const read = readBody(body);
  if (typeof read === 'string') return refused('record', read);
  const [profile, ...others] = await applyMap(read, user, 'profile', mirror);
  if (profile === undefined || others.length > 0) return refused('record', NOT_ONE);
  const result = parseRecord(profile, findKind(mirror.family, 'profile'), mirror);
  if ('faults' in result) return { rows: [], faults: result.faults };
  if (result.row.userKey !== userKey(user))
    return refused('username', 'is not the user who was asked for', result.row.userKey);
  return { rows: [result.row], faults: [] };
}

/** A body that must be a list of this owner's items. */
async function parseItems(body: Buffer, owner: string, user: string, mirror: Mirror): Promise<ParsedBody> {
  const read = readBody(body);
  if (typeof read === 'string') return refused('record', read);
  const names = [...COLLECTIONS, ...(mirror.recordMap?.lists ?? [])];
  const list = findList(read, names);
  if (list === undefined) return refused('record', `must be an object with a list: ${names.join(', ')}`);
  if (list.length > MAX_ITEMS)
    return refused('record', `must not list more than ${MAX_ITEMS} items`, String(list.length));
  const kind = findKind(mirror.family, 'item');
  const rows: Row[] = [];
  const faults: Fault[] = [];
  for (const [index, item] of list.entries())
    for (const record of await applyMap(item, user, 'items', mirror)) {
      const result = parseItem(record, kind, owner, mirror);
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

function parseRecord(raw: unknown, kind: KindName, { from, mender }: Mirror): NormaliseResult {
  if (!isObject(raw)) return normalise(raw, kind);
  return mender.normalise(resolveAddresses(raw, kind, from), kind);
}

const refused = (member: string, reason: string, got: unknown = ''): ParsedBody => ({
  rows: [],
  faults: [{ member, reason, got: brief(got) }],
});
