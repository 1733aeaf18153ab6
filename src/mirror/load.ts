// Loads a batch of visits into the store, then notes it. In this order, so that nobody is noted who was not stored.
// A mirror changes the users and items that it brought, and adds new ones; it never takes over what came from elsewhere, such
// as an import or another site that counts its ids from 1 as well.
import { KIND_NAMES } from '../records/kinds.ts';
import type { Fault } from '../records/normalise.ts';
import type { Row } from '../records/row.ts';
import type { Lookup } from '../remote/site-client.ts';
import type { Owners } from '../stores/archive.ts';
import type { Misfit, Tallies } from '../stores/load.ts';
import type { Writer } from '../stores/writer.ts';
import { describeFaults, type Mirror, type Outcome, type Visit } from './context.ts';

/** Users with these outcomes are not noted. */
const NOT_NOTED: ReadonlySet<Outcome> = new Set(['refused', 'failed', 'takenDown']);

export async function loadAndNote(visits: readonly Visit[], mirror: Mirror): Promise<void> {
  const { memory, counts } = mirror;
  const loadable = await refuseForeign(
    visits.filter(({ rows }) => rows.length > 0),
    mirror,
  );
  memory.claim(loadable.map((visit) => ({ userKey: visit.key, id: idOf(visit) })));
  await loadUsers(loadable, mirror);
  for (const { outcome } of visits) counts[outcome]++;

  const noted = visits.filter(({ outcome }) => !NOT_NOTED.has(outcome));
  const keys = noted.map(({ key }) => key);
  const here = await readUsers(mirror, keys);
  memory.save(
    noted.map(({ key, fetched }) => {
      const localVersion = here.get(key)?.version;
      const lastFetch = fetched && localVersion !== undefined ? { ...fetched, localVersion } : undefined;
      return { userKey: key, id: fetched?.id, lastFetch };
    }),
  );
}

/** The id of a user of whom there are rows. */
const idOf = ({ fetched }: Visit) => fetched?.id as string;

function refuse(visit: Visit, outcome: Outcome, lookup: Lookup, fault: Fault, mirror: Mirror): void {
  const line = describeFaults(mirror.site, visit.name, lookup, [fault]);
  visit.outcome = outcome;
  mirror.noteFailure(visit.name, line);
  mirror.onFault(line);
}

/** Loads all users, or if one does not fit, one by one: each is loaded whole or not at all. */
async function loadUsers(visits: readonly Visit[], mirror: Mirror): Promise<void> {
  const [first, second] = visits;
  if (first === undefined) return;
  let misfit: Misfit | undefined;
  const rows = visits.flatMap((visit) => visit.rows);
  const tallies = await load(rows, mirror.writer, (found) => {
    misfit ??= found;
  });
  if (tallies !== undefined) addTallies(mirror.tallies, tallies);
  else if (second !== undefined) for (const visit of visits) await loadUsers([visit], mirror);
  else if (misfit === undefined) throw new Error('the store refused a load without naming a misfit');
  else refuse(first, 'failed', misfit.member === 'username' ? 'profile' : 'items', misfit, mirror);
}

async function load(
  rows: readonly Row[],
  writer: Writer,
  onMisfit: (misfit: Misfit) => void,
): Promise<Tallies | undefined> {
  const load = await writer.load({ replace: false, skipInvalid: false, onMisfit });
  try {
    for (const [place, row] of rows.entries()) await load.add(row, place);
    return await load.finish();
  } catch (error) {
    await load.abandon();
    throw error;
  }
}

/** A load of nothing: the store notes that a mirror came to its end, although nothing changed. */
export const noteRun = (writer: Writer) => load([], writer, () => {});

function addTallies(sum: Tallies, tallies: Tallies): void {
  for (const kind of KIND_NAMES)
    for (const column of ['new', 'changed', 'unchanged', 'removed', 'takenDown'] as const)
      sum[kind][column] += tallies[kind][column];
}

interface LocalUser {
  readonly id: string;
  /** Changes whenever one of the user's two responses does, and with the way in which a mirror reads bodies. */
  readonly version: string;
}

/** The users with these keys, as far as they are here. */
export async function readUsers(
  { family, openReader, recordMap, ...options }: Mirror,
  userKeys: readonly string[],
): Promise<Map<string, LocalUser>> {
  const users = new Map<string, LocalUser>();
  if (userKeys.length === 0) return users;
  const reading = `${options.unescape ? 'unescaped ' : ''}${recordMap?.version ?? ''}`;
  await using reader = await openReader();
  for (const key of userKeys) {
    const person = await reader.person(family, key, 'items');
    if (person === undefined) continue;
    const [profile, items] = person;
    const { id } = JSON.parse(String(profile.body)) as { id: string };
    users.set(key, { id, version: `${profile.etag} ${items.etag} ${reading}` });
  }
  return users;
}

/** Refuses visits that would change what the mirror did not bring. Returns the others. */
async function refuseForeign(visits: readonly Visit[], mirror: Mirror): Promise<Visit[]> {
  if (visits.length === 0) return [];
  const keys = visits.map(({ key }) => key);
  const here = await readUsers(mirror, keys);
  const items = visits.flatMap(({ rows }) => rows.filter(({ owner }) => owner !== '').map(({ id }) => id));
  await using archive = await mirror.openArchive();
  const owners = await archive.owners(mirror.family, visits.map(idOf), items);
  return visits.filter((visit) => {
    const conflict =
      findUserConflict(visit, here.get(visit.key), owners, mirror) ?? findItemConflict(visit, owners, mirror);
    if (conflict === undefined) return true;
    refuse(visit, 'refused', conflict.lookup, conflict, mirror);
    return false;
  });
}

interface Conflict extends Fault {
  readonly lookup: Lookup;
}

function findUserConflict(
  visit: Visit,
  here: LocalUser | undefined,
  owners: Owners,
  { memory, adopt }: Mirror,
): Conflict | undefined {
  const { name, key } = visit;
  const id = idOf(visit);
  const ours = (user: string, itsId: string) =>
    memory.brought(user, itsId) || (adopt && user === key && itsId === id);
  const holder = owners.users.get(id);
  if (holder !== undefined && !ours(holder, id))
    return { lookup: 'profile', member: 'id', reason: `belongs to ${notBrought(holder)}`, got: id };
  if (here === undefined || ours(key, here.id)) return undefined;
  const reason = `belongs to id ${here.id} here, which this mirror did not bring`;
  return { lookup: 'profile', member: 'username', reason, got: name };
}

function findItemConflict(visit: Visit, owners: Owners, { memory }: Mirror): Conflict | undefined {
  for (const { id } of visit.rows.filter(({ owner }) => owner !== '')) {
    const holder = owners.items.get(id);
    if (holder === undefined || holder.owner === idOf(visit)) continue;
    if (memory.brought(holder.userKey, holder.owner)) continue;
    return { lookup: 'items', member: 'id', reason: `belongs to ${notBrought(holder.userKey)}`, got: id };
  }
  return undefined;
}

const notBrought = (user: string) => `${JSON.stringify(user)} here, whom this mirror did not bring`;
