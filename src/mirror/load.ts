// Loads a batch of visits into the store, then notes it. In this order, so that nobody is noted who was not stored.
// A mirror changes the users and items that it brought, and adds new ones; it never takes over what came from elsewhere, such
// as an import or another site that counts its ids from 1 as well.
import { KIND_NAMES } from '../records/kinds.ts';
import { MAX_ITEMS } from '../remote/site-client.ts';
import type { Owners } from '../stores/archive.ts';
import type { Tallies } from '../stores/load.ts';
import type { Writer } from '../stores/writer.ts';
import { type Mirror, type Outcome, type Refusal, reportRefusal, type Visit } from './context.ts';

type Refusals = Map<Visit, Refusal>;

/** The rows of one user are numbered below this. */
const MAX_ROWS = MAX_ITEMS + 1;
/** Users with these outcomes are not noted. */
const NOT_NOTED: ReadonlySet<Outcome> = new Set(['refused', 'failed', 'takenDown']);

export async function loadAndNote(visits: readonly Visit[], mirror: Mirror): Promise<void> {
  const { writer, memory, counts } = mirror;
  const conflicts = await findConflicts(visits, mirror);
  const loadable = visits.filter((visit) => visit.rows.length > 0 && !conflicts.has(visit));
  memory.beginLoading(loadable.map(({ key, fetched }) => ({ userKey: key, id: fetched?.id as string })));
  const misfits: Refusals = new Map();
  const tallies = await loadFitting(loadable, writer, misfits);
  if (tallies !== undefined) addTallies(counts.tallies, tallies);
  for (const [{ name }, refusal] of [...conflicts, ...misfits]) reportRefusal(name, refusal, mirror);

  const noted: Visit[] = [];
  for (const visit of visits) {
    const outcome = conflicts.has(visit) ? 'refused' : misfits.has(visit) ? 'failed' : visit.outcome;
    counts.users[outcome]++;
    if (!NOT_NOTED.has(outcome)) noted.push(visit);
  }
  await note(noted, mirror);
}

/** A user whose rows do not fit is left out whole; the others are loaded. Undefined when nothing was left to load. */
async function loadFitting(
  visits: readonly Visit[],
  writer: Writer,
  misfits: Refusals,
): Promise<Tallies | undefined> {
  const fitting = visits.filter((visit) => !misfits.has(visit));
  if (fitting.length === 0) return undefined;
  const before = misfits.size;
  const tallies = await loadAll(fitting, writer, misfits);
  if (tallies !== undefined) return tallies;
  // The store refuses a load only for misfits, so each turn has fewer visits.
  if (misfits.size === before) throw new Error('the store refused a load without naming a misfit');
  return await loadFitting(fitting, writer, misfits);
}

/** Loads all visits, or none and adds those at fault to `misfits`. */
async function loadAll(
  visits: readonly Visit[],
  writer: Writer,
  misfits: Refusals,
): Promise<Tallies | undefined> {
  const load = await writer.load({
    replace: false,
    skipInvalid: false,
    onMisfit({ place, member, reason, got }) {
      const visit = visits[Math.floor(place / MAX_ROWS)] as Visit;
      const lookup = member === 'username' ? 'profile' : 'items';
      if (!misfits.has(visit)) misfits.set(visit, { lookup, member, reason, got });
    },
  });
  try {
    for (const [index, { rows }] of visits.entries())
      for (const [row, content] of rows.entries()) await load.add(content, index * MAX_ROWS + row);
    return await load.finish();
  } catch (error) {
    await load.abandon();
    throw error;
  }
}

/** A load of nothing: the store notes that a mirror came to its end, although nothing changed. */
export const noteRun = (writer: Writer) => loadAll([], writer, new Map());

function addTallies(sum: Tallies, tallies: Tallies): void {
  for (const kind of KIND_NAMES)
    for (const column of ['new', 'changed', 'unchanged', 'removed', 'takenDown'] as const)
      sum[kind][column] += tallies[kind][column];
}

async function note(visits: readonly Visit[], mirror: Mirror): Promise<void> {
  const keys = visits.map(({ key }) => key);
  const here = await readUsers(mirror, keys);
  mirror.memory.save(
    visits.map(({ key, outcome, fetched }) => {
      const localVersion = here.get(key)?.version;
      const { reading } = mirror;
      const lastFetch =
        fetched && localVersion !== undefined ? { ...fetched, localVersion, reading } : undefined;
      return { userKey: key, known: outcome !== 'unknown', id: fetched?.id, lastFetch };
    }),
  );
}

interface LocalUser {
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
async function findConflicts(visits: readonly Visit[], mirror: Mirror): Promise<Map<Visit, Refusal>> {
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
