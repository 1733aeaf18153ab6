// What is here already, and which visits may be loaded. A mirror changes the users and items that it brought, and adds new
// ones; it never takes over what came from elsewhere, such as an import or another site that counts its ids from 1 as well.
import type { Owners } from '../stores/archive.ts';
import type { Mirror, Refusal, Visit } from './context.ts';

export interface LocalUser {
  readonly id: string;
  /** Changes whenever one of the user's two responses does. */
  readonly version: string;
}

/** The users with these keys, as far as they are here. */
export async function readUsers(
  { family, openReader }: Mirror,
  userKeys: readonly string[],
): Promise<Map<string, LocalUser>> {
  const users = new Map<string, LocalUser>();
  if (userKeys.length === 0) return users;
  // It sees the database as it was in the turn of the event loop in which it was opened: none is kept.
  await using reader = await openReader();
  for (const key of userKeys) {
    const [profile, items] = [await reader.profile(family, key), await reader.items(family, key, 'items')];
    if (profile === undefined || items === undefined) continue;
    const { id } = JSON.parse(String(profile.body)) as { id: string };
    users.set(key, { id, version: `${profile.etag} ${items.etag}` });
  }
  return users;
}

/** Why visits must not be loaded, for each of them. */
export async function findConflicts(visits: readonly Visit[], mirror: Mirror): Promise<Map<Visit, Refusal>> {
  const conflicts = new Map<Visit, Refusal>();
  const changed = visits.filter(({ rows }) => rows.length > 0);
  if (changed.length === 0) return conflicts;
  const keys = changed.map(({ key }) => key);
  const here = await readUsers(mirror, keys);
  const owners = await readOwners(changed, mirror);
  for (const visit of changed) {
    const conflict =
      findUserConflict(visit, here.get(visit.key), owners, mirror) ?? findItemConflict(visit, owners, mirror);
    if (conflict !== undefined) conflicts.set(visit, conflict);
  }
  return conflicts;
}

/** Who has the ids of these visits here. */
async function readOwners(visits: readonly Visit[], { family, openArchive }: Mirror): Promise<Owners> {
  const users = visits.map(({ fetched }) => fetched?.id as string);
  const items = visits.flatMap(({ rows }) => rows.filter(({ owner }) => owner !== '').map(({ id }) => id));
  await using archive = await openArchive();
  return await archive.owners(family, users, items);
}

function findUserConflict(
  { name, key, fetched }: Visit,
  here: LocalUser | undefined,
  owners: Owners,
  { memory, adopt }: Mirror,
): Refusal | undefined {
  const id = fetched?.id as string;
  const ours = (user: string, itsId: string) =>
    memory.brought(user, itsId) || (adopt && user === key && itsId === id);
  const holder = owners.users.get(id);
  if (holder !== undefined && !ours(holder, id))
    return { lookup: 'profile', member: 'id', reason: `belongs to ${notBrought(holder)}`, got: id };
  if (here === undefined || ours(key, here.id)) return undefined;
  const reason = `belongs to id ${here.id} here, which this mirror did not bring`;
  return { lookup: 'profile', member: 'username', reason, got: name };
}

function findItemConflict({ rows, fetched }: Visit, owners: Owners, { memory }: Mirror): Refusal | undefined {
  for (const { id } of rows.filter(({ owner }) => owner !== '')) {
    const holder = owners.items.get(id);
    if (holder === undefined || holder.owner === fetched?.id) continue;
    if (memory.brought(holder.userKey, holder.owner)) continue;
    return { lookup: 'items', member: 'id', reason: `belongs to ${notBrought(holder.userKey)}`, got: id };
  }
  return undefined;
}

const notBrought = (user: string) => `${JSON.stringify(user)} here, whom this mirror did not bring`;
