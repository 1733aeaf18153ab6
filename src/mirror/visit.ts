// One visit to one user of the site: both lookups, checked; what came of it.
import type { Row } from '../records/row.ts';
import { userKey } from '../records/user-name.ts';
import { SiteError } from '../remote/host.ts';
import type { Lookup } from '../remote/lookups.ts';
import type { SiteResponse, Validators } from '../remote/site-client.ts';
import { type Mirror, reportRefusal, type VisitResult } from './context.ts';
import type { LastFetch } from './memory.ts';
import { type ParsedBody, parseItems, parseProfile } from './parse-body.ts';

export async function visitUser(
  name: string,
  last: LastFetch | undefined,
  mirror: Mirror,
): Promise<VisitResult> {
  const { site, isTakenDown } = mirror;
  const profile = await site.get(name, 'profile', last?.profile);
  if (profile.state === 'unknown') {
    mirror.onFault(`${site.urlOf(name, 'profile')}: unknown user`);
    return { outcome: 'unknown', rows: [] };
  }
  const profileRows =
    profile.state === 'body'
      ? accept(name, 'profile', parseProfile(profile.body, name, mirror), mirror)
      : NO_ROWS;
  if (profileRows === undefined) return FAILED;
  // Without a body there was a validator, so there was a last fetch.
  const id = profileRows[0]?.id ?? (last as LastFetch).id;
  if (isTakenDown('id', id)) return { outcome: 'takenDown', rows: [] };
  if (!claimId(id, name, mirror)) return FAILED;

  const known = id === last?.id ? last : undefined;
  const items = await site.get(name, 'items', known?.items);
  if (items.state === 'unknown')
    throw new SiteError(`${site.urlOf(name, 'items')}: status 404 although the profile exists`, false);
  const itemRows =
    items.state === 'body' ? accept(name, 'items', parseItems(items.body, id, mirror), mirror) : NO_ROWS;
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
  const holder = claims.get(id) ?? memory.holderOf(id);
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
