// One user of a live site: asked for, checked, and what came of it.
import type { Family } from '../records/kinds.ts';
import type { Row } from '../records/row.ts';
import { userKey } from '../records/user-name.ts';
import { type LiveSite, SiteError, type Validators } from './site.ts';
import { type Taken, takeItems, takeProfile } from './site-body.ts';

/** What is remembered of a user, so that the next visit can ask for news only. */
export interface Held {
  readonly id: string;
  readonly profile: Validators;
  readonly items: Validators;
  /** What our own answers were after that: when they have changed since, "unchanged" would not be enough. */
  readonly ours: string;
}

export type Outcome = 'found' | 'unchanged' | 'unknown' | 'failed';

export interface Visit {
  readonly name: string;
  readonly outcome: Outcome;
  readonly rows: readonly Row[];
  readonly held?: Omit<Held, 'ours'>;
}

export interface VisitorOptions {
  readonly family: Family;
  readonly site: LiveSite;
  readonly prune: boolean;
  /** Who has which id, as far as this run has seen. */
  readonly names: Map<string, string>;
  readonly onTrouble: (line: string) => void;
}

/** The site lists 15; one that lists far more is up to something. */
export const MOST_ITEMS = 1000;

export function createVisitor({ family, site, prune, names, onTrouble }: VisitorOptions) {
  async function visit(name: string, held: Held | undefined): Promise<Visit> {
    const lookups = site.lookups(name);
    const profile = await told(lookups.profile, held?.profile);
    if (profile.state === 'unknown') {
      onTrouble(
        `${site.urlOf(lookups.profile)}: nobody there has this name${prune ? '' : ': left as they are here'}`,
      );
      return { name, outcome: 'unknown', rows: [] };
    }
    const ownProfile =
      profile.state === 'body' ? checked(lookups.profile, takeProfile(profile.body, family, name)) : [];
    if (ownProfile === undefined) return failed(name);
    const id = ownProfile[0]?.id ?? (held as Held).id;
    const namesake = names.get(id);
    if (namesake !== undefined && namesake !== userKey(name)) {
      report(lookups.profile, 'id', `is that of ${JSON.stringify(namesake)} already`, id);
      return failed(name);
    }
    names.set(id, userKey(name));

    const items = await told(lookups.items, id === held?.id ? held.items : undefined);
    if (items.state === 'unknown')
      throw new SiteError(`${site.urlOf(lookups.items)}: was answered 404, but the profile is there`, false);
    const ownItems = items.state === 'body' ? checked(lookups.items, takeItems(items.body, family, id)) : [];
    if (ownItems === undefined) return failed(name);
    const rows = [...ownProfile, ...ownItems];
    return {
      ...{
        name,
        rows,
        outcome: profile.state === 'unchanged' && items.state === 'unchanged' ? 'unchanged' : 'found',
      },
      held: {
        id,
        profile: profile.state === 'body' ? profile.validators : (held as Held).profile,
        items: items.state === 'body' ? items.validators : (held as Held).items,
      },
    };
  }

  async function told(path: string, validators: Validators | undefined) {
    try {
      return await site.get(path, validators);
    } catch (error) {
      if (error instanceof SiteError)
        throw new SiteError(`${site.urlOf(path)}: ${error.message}`, error.lost);
      throw error;
    }
  }

  /** The rows, unless anything is wrong, which is then told. */
  function checked(path: string, { rows, faults }: Taken): readonly Row[] | undefined {
    for (const { member, reason, got } of faults) report(path, member, reason, got);
    if (rows.length > MOST_ITEMS)
      report(path, 'record', `must not list more than ${MOST_ITEMS} items`, String(rows.length));
    return faults.length > 0 || rows.length > MOST_ITEMS ? undefined : rows;
  }

  function report(path: string, member: string, reason: string, got: string): void {
    onTrouble(`${site.urlOf(path)}: ${member}: ${reason}${got === '' ? '' : `, got "${got}"`}`);
  }

  return { visit, report };
}

const failed = (name: string): Visit => ({ name, outcome: 'failed', rows: [] });
