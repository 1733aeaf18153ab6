// Which visits may be loaded. A mirror changes the users and items that it brought, and adds new ones; it never takes
// over what came from elsewhere, such as an import or another site that counts its ids from 1 as well.
import { userKey } from '../records/user-name.ts';
import type { IdIndex, LocalData, LocalUser } from './local-data.ts';
import type { Notes } from './notes.ts';
import type { Visit } from './visit-user.ts';

export interface Conflict {
  readonly lookup: 'profile' | 'items';
  readonly member: string;
  readonly reason: string;
  readonly got: string;
}

export interface OwnershipOptions {
  readonly local: LocalData;
  readonly notes: Pick<Notes, 'brought'>;
  /** Whether a user who is here under the same name and id is taken over. */
  readonly adopt: boolean;
}

/** The conflict of each visit that must not be loaded. */
export async function findConflicts(
  visits: readonly Visit[],
  options: OwnershipOptions,
): Promise<Map<Visit, Conflict>> {
  const conflicts = new Map<Visit, Conflict>();
  const changed = visits.filter(({ rows }) => rows.length > 0);
  if (changed.length === 0) return conflicts;
  const here = await options.local.users(changed.map(({ name }) => userKey(name)));
  const others = await options.local.othersIds();
  for (const visit of changed) {
    const conflict =
      userConflict(visit, here.get(userKey(visit.name)), others, options) ??
      itemConflict(visit, others, options);
    if (conflict !== undefined) conflicts.set(visit, conflict);
  }
  return conflicts;
}

function userConflict(
  { name, fetched }: Visit,
  here: LocalUser | undefined,
  others: IdIndex,
  { notes, adopt }: OwnershipOptions,
): Conflict | undefined {
  const key = userKey(name);
  const id = fetched?.id as string;
  const ours = (user: string, itsId: string) =>
    notes.brought(user, itsId) || (adopt && user === key && itsId === id);
  const holder = others.user(id);
  if (holder !== undefined && !ours(holder, id))
    return { lookup: 'profile', member: 'id', reason: `belongs to ${notBrought(holder)}`, got: id };
  if (here !== undefined && !ours(key, here.id))
    return {
      lookup: 'profile',
      member: 'username',
      reason: `belongs to id ${here.id} here, which this mirror did not bring`,
      got: name,
    };
  return undefined;
}

function itemConflict(
  { rows, fetched }: Visit,
  others: IdIndex,
  { notes }: OwnershipOptions,
): Conflict | undefined {
  for (const { id, owner } of rows) {
    const holder = owner === '' ? undefined : others.owner(id);
    if (holder === undefined || holder === fetched?.id) continue;
    const holderName = others.user(holder) ?? holder;
    // Adopted since the ids were read.
    if (notes.brought(holderName, holder)) continue;
    return { lookup: 'items', member: 'id', reason: `belongs to ${notBrought(holderName)}`, got: id };
  }
  return undefined;
}

const notBrought = (user: string) => `${JSON.stringify(user)} here, whom this mirror did not bring`;
