// Loads a batch of visits into the store, then notes it. In this order, so that nobody is noted who was not stored.
import { KIND_NAMES } from '../records/kinds.ts';
import { userKey } from '../records/user-name.ts';
import type { Tallies, Writer } from '../stores/writer.ts';
import { findConflicts, type OwnershipOptions, readUsers } from './ownership.ts';
import type { MirrorCounts } from './report.ts';
import { MAX_ROWS, type Outcome, type Refusal, type Visit } from './visit.ts';

export interface LoadOptions extends OwnershipOptions {
  readonly writer: Writer;
  readonly counts: MirrorCounts;
  readonly onRefusal: (name: string, refusal: Refusal) => void;
}

type Refusals = Map<Visit, Refusal>;

/** Of these users nothing new is noted. */
const NOT_NOTED: ReadonlySet<Outcome> = new Set(['refused', 'failed', 'takenDown']);

export async function loadAndNote(visits: readonly Visit[], options: LoadOptions): Promise<void> {
  const { writer, memory, counts, onRefusal } = options;
  const conflicts = await findConflicts(visits, options);
  const loadable = visits.filter((visit) => visit.rows.length > 0 && !conflicts.has(visit));
  memory.beginLoading(
    loadable.map(({ name, fetched }) => ({ userKey: userKey(name), id: fetched?.id as string })),
  );
  const misfits: Refusals = new Map();
  const tallies = await load(loadable, writer, misfits);
  if (tallies !== undefined) addTallies(counts.tallies, tallies);
  for (const [{ name }, refusal] of [...conflicts, ...misfits]) onRefusal(name, refusal);

  const noted: Visit[] = [];
  for (const visit of visits) {
    const outcome = conflicts.has(visit) ? 'refused' : misfits.has(visit) ? 'failed' : visit.outcome;
    counts.users[outcome]++;
    if (!NOT_NOTED.has(outcome)) noted.push(visit);
  }
  await note(noted, options);
}

/** A user whose rows do not fit is left out whole; the others are loaded. Undefined when nothing was left to load. */
async function load(
  visits: readonly Visit[],
  writer: Writer,
  misfits: Refusals,
): Promise<Tallies | undefined> {
  for (;;) {
    const fitting = visits.filter((visit) => !misfits.has(visit));
    if (fitting.length === 0) return undefined;
    const before = misfits.size;
    const tallies = await loadAll(fitting, writer, misfits);
    if (tallies !== undefined) return tallies;
    // The store refuses a load only for misfits, so each turn has fewer visits.
    if (misfits.size === before) throw new Error('the store refused a load without naming a misfit');
  }
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
export async function noteRun(writer: Writer): Promise<void> {
  const load = await writer.load({ replace: false, skipInvalid: false, onMisfit() {} });
  await load.finish();
}

function addTallies(sum: Tallies, tallies: Tallies): void {
  for (const kind of KIND_NAMES)
    for (const column of ['new', 'changed', 'unchanged', 'removed', 'takenDown'] as const)
      sum[kind][column] += tallies[kind][column];
}

async function note(visits: readonly Visit[], options: LoadOptions): Promise<void> {
  const here = await readUsers(
    options,
    visits.map(({ name }) => userKey(name)),
  );
  options.memory.save(
    visits.map(({ name, outcome, fetched }) => {
      const key = userKey(name);
      const localVersion = here.get(key)?.version;
      const lastFetch = fetched && localVersion !== undefined ? { ...fetched, localVersion } : undefined;
      return { userKey: key, known: outcome !== 'unknown', id: fetched?.id, lastFetch };
    }),
  );
}
