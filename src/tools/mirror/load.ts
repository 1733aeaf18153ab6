// Loads a batch of visits into the store, then notes it. In this order, so that no user is noted who was not stored.
// A mirror changes the users and items that it imported, and adds new ones; it never takes over what came from elsewhere, such
// as an import or another site that counts its ids from 1 as well.
import { ITEM_CAP, KIND_NAMES } from '../../records/kinds.ts';
import type { Fault, Row } from '../../records/normalise.ts';
import type { Owners } from '../../stores/sql/archive.ts';
import type { Misfit, Tallies } from '../../stores/sql/load.ts';
import type { Writer } from '../../stores/writer.ts';
import { collectionsOf } from '../../variants.ts';
import type { Lookup } from '../remote/site-client.ts';
import { describeFaults, type Mirror, type Visit, type VisitOutcome } from './context.ts';
import { tryNote } from './memory.ts';

/** Users with these outcomes are not noted. */
const NOT_NOTED: ReadonlySet<VisitOutcome> = new Set(['refused', 'failed', 'takenDown']);

export async function loadAndNote(visits: readonly Visit[], mirror: Mirror): Promise<void> {
  const { memory, counts } = mirror;
  const loadable = await refuseOthersRecords(
    visits.filter(({ rows }) => rows.length > 0),
    mirror,
  );
  memory.reserve(loadable.map((visit) => ({ userKey: visit.key, id: idOf(visit) })));
  await loadUsers(loadable, mirror);
  for (const { outcome } of visits) counts[outcome]++;
  counts.fullLists += visits.filter(hasFullList).length;

  const noted = visits.filter(({ outcome }) => !NOT_NOTED.has(outcome));
  const keys = noted.map(({ key }) => key);
  const here = await readUsers(mirror, keys);
  const notes = noted.map(({ key, fetched }) => {
    const localVersion = here.get(key)?.version;
    const lastFetch = fetched && localVersion !== undefined ? { ...fetched, localVersion } : undefined;
    return { userKey: key, id: fetched?.id, lastFetch };
  });
  warn(
    tryNote(() => memory.save(notes)),
    mirror,
  );
}

/** The site may have older items of this user, which its API does not list. */
const hasFullList = ({ outcome, rows }: Visit) =>
  outcome === 'found' && rows.filter(({ owner }) => owner !== '').length >= ITEM_CAP;

/** What was done stays done, also when it could not be noted. */
export function warn(reason: string | undefined, { onFault }: Mirror): void {
  if (reason !== undefined) onFault(`${reason} What was imported stays; the next run asks for it again.`);
}

/** The id of a user that has rows to load. Such a visit knows it, since rows come from what was fetched. */
const idOf = ({ fetched }: Visit) => fetched?.id as string;

function refuse(visit: Visit, outcome: VisitOutcome, lookup: Lookup, fault: Fault, mirror: Mirror): void {
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
  const tallies = await load(rows, mirror.options.writer, (found) => {
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
  { family, options }: Mirror,
  userKeys: readonly string[],
): Promise<Map<string, LocalUser>> {
  const users = new Map<string, LocalUser>();
  if (userKeys.length === 0) return users;
  const reading = options.unescape ? 'unescaped' : '';
  const [name = ''] = collectionsOf(family);
  await using reader = await options.openReader();
  for (const key of userKeys) {
    const profile = await reader.profile(family, key);
    const items = await reader.items(family, key, name);
    if (profile === undefined || items === undefined) continue;
    // Each stored profile has an id.
    const { id }: { id: string } = JSON.parse(String(profile.body));
    users.set(key, { id, version: `${profile.etag} ${items.etag} ${reading}` });
  }
  return users;
}

/** Refuses visits that would change what the mirror did not import. Returns the others. */
async function refuseOthersRecords(visits: readonly Visit[], mirror: Mirror): Promise<Visit[]> {
  if (visits.length === 0) return [];
  const { memory, family } = mirror;
  const { adopt, openArchive } = mirror.options;
  const keys = visits.map(({ key }) => key);
  const here = await readUsers(mirror, keys);
  const items = visits.flatMap(({ rows }) => rows.filter(({ owner }) => owner !== '').map(({ id }) => id));
  await using archive = await openArchive();
  const owners = await archive.owners(family, visits.map(idOf), items);
  return visits.filter((visit) => {
    const isSame = ({ user, id }: ConflictingOwner) => adopt && user === visit.key && id === idOf(visit);
    const conflict = listOwners(visit, here.get(visit.key), owners).find(
      (owner) => !memory.importedByMirror(owner.user, owner.id) && !isSame(owner),
    );
    if (conflict === undefined) return true;
    const { user, id, lookup, member, got } = conflict;
    const reason = `belongs to ${JSON.stringify(user)} (id ${id}) here, which this mirror did not import`;
    refuse(visit, 'refused', lookup, { member, reason, got }, mirror);
    return false;
  });
}

/** The user here that has a value of a visit: the name, the id, or an item. */
interface ConflictingOwner extends Omit<Fault, 'reason'> {
  readonly user: string;
  readonly id: string;
  readonly lookup: Lookup;
}

function listOwners(visit: Visit, here: LocalUser | undefined, { users, items }: Owners): ConflictingOwner[] {
  const { name, key, rows } = visit;
  const id = idOf(visit);
  const holder = users.get(id);
  const found: ConflictingOwner[] = [];
  if (holder !== undefined) found.push({ user: holder, id, lookup: 'profile', member: 'id', got: id });
  if (here !== undefined)
    found.push({ user: key, id: here.id, lookup: 'profile', member: 'username', got: name });
  for (const row of rows.filter(({ owner }) => owner !== '')) {
    const item = items.get(row.id);
    if (item !== undefined && item.owner !== id)
      found.push({ user: item.userKey, id: item.owner, lookup: 'items', member: 'id', got: row.id });
  }
  return found;
}
