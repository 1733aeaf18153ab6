// One visit to one user of the site: both lookups, checked; what came of it.
import type { Row } from '../records/row.ts';
import { userKey } from '../records/user-name.ts';
import { SiteError } from '../remote/host.ts';
import { type Lookup, MAX_ITEMS } from '../remote/lookups.ts';
import type { SiteClient, SiteResponse, Validators } from '../remote/site-client.ts';
import { type ParsedBody, type ParseOptions, parseItems, parseProfile } from './parse-body.ts';

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

/** Why a visit must not be loaded. */
export interface Refusal {
  readonly lookup: Lookup;
  readonly member: string;
  readonly reason: string;
  readonly got: string;
}

export type TakedownFilter = (what: 'name' | 'id', value: string) => boolean;

export interface VisitorOptions extends ParseOptions {
  readonly site: SiteClient;
  /** Finds the user that this run found under an id. */
  readonly memory: { readonly holderOf: (id: string) => string | undefined };
  /** The ids that the users of the current batch have. */
  readonly claims: Map<string, string>;
  readonly isTakenDown: TakedownFilter;
  readonly onFault: (line: string) => void;
  /** Why users failed or were refused, by their names. */
  readonly failures: Map<string, string>;
}

export type Visitor = ReturnType<typeof createVisitor>;

export function createVisitor(options: VisitorOptions) {
  const { site, memory, claims, isTakenDown, onFault, failures } = options;

  async function visit(name: string, last: LastFetch | undefined): Promise<Visit> {
    const profile = await site.get(name, 'profile', last?.profile);
    if (profile.state === 'unknown') {
      onFault(`${site.urlOf(name, 'profile')}: unknown user`);
      return { name, outcome: 'unknown', rows: [] };
    }
    const profileRows =
      profile.state === 'body' ? accept(name, 'profile', parseProfile(profile.body, name, options)) : [];
    if (profileRows === undefined) return failed(name);
    // Without a body there was a validator, so there was a last fetch.
    const id = profileRows[0]?.id ?? (last as LastFetch).id;
    if (isTakenDown('id', id)) return { name, outcome: 'takenDown', rows: [] };
    const other = claimId(id, userKey(name));
    if (other !== undefined) {
      const reason = `is the id of ${JSON.stringify(other)} already`;
      report(name, { lookup: 'profile', member: 'id', reason, got: id });
      return failed(name);
    }

    const known = id === last?.id ? last : undefined;
    const items = await site.get(name, 'items', known?.items);
    if (items.state === 'unknown')
      throw new SiteError(`${site.urlOf(name, 'items')}: status 404 although the profile exists`, false);
    const itemRows = items.state === 'body' ? accept(name, 'items', parseItems(items.body, id, options)) : [];
    if (itemRows === undefined) return failed(name);
    const unchanged = profile.state === 'unchanged' && items.state === 'unchanged';
    return {
      name,
      outcome: unchanged ? 'unchanged' : 'found',
      rows: [...profileRows, ...itemRows],
      fetched: { id, profile: validatorsOf(profile, last?.profile), items: validatorsOf(items, last?.items) },
    };
  }

  /** Two users of one site cannot have one id: the name of another user who has it already. */
  function claimId(id: string, key: string): string | undefined {
    const holder = claims.get(id) ?? memory.holderOf(id);
    if (holder !== undefined && holder !== key) return holder;
    claims.set(id, key);
    return undefined;
  }

  /** The rows; undefined if there is any fault, which is then reported. */
  function accept(name: string, lookup: Lookup, { rows, faults }: ParsedBody): readonly Row[] | undefined {
    for (const fault of faults) report(name, { lookup, ...fault });
    return faults.length > 0 ? undefined : rows;
  }

  function report(name: string, { lookup, member, reason, got }: Refusal): void {
    const line = `${site.urlOf(name, lookup)}: ${member}: ${reason}${got === '' ? '' : `, got "${got}"`}`;
    if (!failures.has(name)) failures.set(name, line);
    onFault(line);
  }

  return { visit, report };
}

/** Without a body there were validators, and they still hold. */
const validatorsOf = (response: SiteResponse, last: Validators | undefined): Validators =>
  response.state === 'body' ? response.validators : (last as Validators);

const failed = (name: string): Visit => ({ name, outcome: 'failed', rows: [] });
