// Loads a batch of visits into the store, then notes it. In this order, so that nobody is noted who was not stored.
import { KIND_NAMES } from '../records/kinds.ts';
import { MAX_ITEMS } from '../remote/lookups.ts';
import type { Tallies, Writer } from '../stores/writer.ts';
import { type Mirror, type Outcome, type Refusal, reportRefusal, type Visit } from './context.ts';
import { findConflicts, readUsers } from './ownership.ts';

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
      const lastFetch = fetched && localVersion !== undefined ? { ...fetched, localVersion } : undefined;
      return { userKey: key, known: outcome !== 'unknown', id: fetched?.id, lastFetch };
    }),
  );
}
