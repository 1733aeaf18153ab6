// One visit to one user of the site: both lookups, checked; what came of it.
import type { Family } from '../records/kinds.ts';
import type { Row } from '../records/row.ts';
import { userKey } from '../records/user-name.ts';
import { MAX_ITEMS } from '../remote/lookups.ts';
import { SiteError } from '../remote/polite-requests.ts';
import type { SiteClient, SiteResponse, Validators } from '../remote/site-client.ts';
import { type ParsedBody, parseItems, parseProfile } from './parse-body.ts';

/** What the last visit to a user left, so that the next one can ask for changes only. */
export interface LastFetch {
  readonly id: string;
  readonly profile: Validators;
  readonly items: Validators;
  /** The version of our copy after it. If that has changed since, "not modified" does not describe our copy. */
  readonly localVersion: string;
}

export type Outcome = 'found' | 'unchanged' | 'unknown' | 'refused' | 'failed' | 'takenDown';

export interface Visit {
  readonly name: string;
  readonly outcome: Outcome;
  /** The profile if it has changed, then the items if they have. */
  readonly rows: readonly Row[];
  readonly fetched?: Omit<LastFetch, 'localVersion'>;
}

/** The rows of one user are numbered below this. */
export const MAX_ROWS = MAX_ITEMS + 1;

export interface VisitorOptions {
  readonly family: Family;
  readonly site: SiteClient;
  /** Claims an id for a user in this run; the name of another user who has it already. */
  readonly claimId: (id: string, key: string) => string | undefined;
  readonly isTakenDown: (what: 'name' | 'id', value: string) => boolean;
  readonly onFault: (line: string) => void;
}

type Lookup = 'profile' | 'items';

export type Visitor = ReturnType<typeof createVisitor>;

export function createVisitor({ family, site, claimId, isTakenDown, onFault }: VisitorOptions) {
  async function visit(name: string, last: LastFetch | undefined): Promise<Visit> {
    const profile = await get(name, 'profile', last?.profile);
    if (profile.state === 'unknown') {
      onFault(`${urlOf(name, 'profile')}: unknown user`);
      return { name, outcome: 'unknown', rows: [] };
    }
    const profileRows =
      profile.state === 'body' ? accept(name, 'profile', parseProfile(profile.body, family, name)) : [];
    if (profileRows === undefined) return failed(name);
    // Without a body there was a validator, so there was a last fetch.
    const id = profileRows[0]?.id ?? (last as LastFetch).id;
    if (isTakenDown('id', id)) return { name, outcome: 'takenDown', rows: [] };
    const other = claimId(id, userKey(name));
    if (other !== undefined) {
      report(name, 'profile', 'id', `is the id of ${JSON.stringify(other)} already`, id);
      return failed(name);
    }

    const known = id === last?.id ? last : undefined;
    const items = await get(name, 'items', known?.items);
    if (items.state === 'unknown')
      throw new SiteError(`${urlOf(name, 'items')}: status 404 although the profile exists`, false);
    const itemRows = items.state === 'body' ? accept(name, 'items', parseItems(items.body, family, id)) : [];
    if (itemRows === undefined) return failed(name);
    const unchanged = profile.state === 'unchanged' && items.state === 'unchanged';
    return {
      name,
      outcome: unchanged ? 'unchanged' : 'found',
      rows: [...profileRows, ...itemRows],
      fetched: { id, profile: validatorsOf(profile, last?.profile), items: validatorsOf(items, last?.items) },
    };
  }

  async function get(name: string, lookup: Lookup, validators: Validators | undefined) {
    try {
      return await site.get(site.lookups(name)[lookup], validators);
    } catch (error) {
      if (error instanceof SiteError)
        throw new SiteError(`${urlOf(name, lookup)}: ${error.message}`, error.siteDown);
      throw error;
    }
  }

  /** The rows; undefined if there is any fault, which is then reported. */
  function accept(name: string, lookup: Lookup, { rows, faults }: ParsedBody): readonly Row[] | undefined {
    for (const { member, reason, got } of faults) report(name, lookup, member, reason, got);
    return faults.length > 0 ? undefined : rows;
  }

  function report(name: string, lookup: Lookup, member: string, reason: string, got: string): void {
    onFault(`${urlOf(name, lookup)}: ${member}: ${reason}${got === '' ? '' : `, got "${got}"`}`);
  }

  const urlOf = (name: string, lookup: Lookup) => site.urlOf(site.lookups(name)[lookup]);

  return { visit, report };
}

/** Without a body there were validators, and they still hold. */
const validatorsOf = (response: SiteResponse, last: Validators | undefined): Validators =>
  response.state === 'body' ? response.validators : (last as Validators);

const failed = (name: string): Visit => ({ name, outcome: 'failed', rows: [] });
