// A batch of visits -> the store, then the notes: whoever is in the notes is surely in the store.
import { KIND_NAMES } from '../records/kinds.ts';
import { userKey } from '../records/user-name.ts';
import type { Tallies } from '../stores/writer.ts';
import { loadVisits } from './load-visits.ts';
import type { MirrorOptions, Run } from './mirror-run.ts';
import { findConflicts } from './ownership.ts';
import type { Outcome, Visit, Visitor } from './visit-user.ts';

export async function loadAndNote(
  visits: readonly Visit[],
  visitor: Visitor,
  options: MirrorOptions,
  run: Run,
): Promise<void> {
  const { writer, notes } = options;
  const conflicts = await findConflicts(visits, options);
  const loadable = visits.filter((visit) => visit.rows.length > 0 && !conflicts.has(visit));
  notes.loading.begin(
    loadable.map(({ name, fetched }) => ({ userKey: userKey(name), id: fetched?.id as string })),
  );
  const { tallies, misfits } = await loadVisits(writer, loadable);
  if (tallies !== undefined) addTallies(run.tallies, tallies);
  for (const [{ name }, { lookup, member, reason, got }] of [...conflicts, ...misfits])
    visitor.report(name, lookup, member, reason, got);

  const done: Visit[] = [];
  for (const visit of visits) {
    const outcome = conflicts.has(visit) ? 'refused' : misfits.has(visit) ? 'failed' : visit.outcome;
    run.counts[outcome]++;
    if (!LEFT_OUT.has(outcome)) done.push(visit);
  }
  await note(done, options);
}

/** Of these users the notes say nothing new. */
const LEFT_OUT: ReadonlySet<Outcome> = new Set(['refused', 'failed', 'takenDown']);

async function note(visits: readonly Visit[], { local, notes }: MirrorOptions): Promise<void> {
  const here = await local.users(visits.map(({ name }) => userKey(name)));
  notes.save(
    visits.map(({ name, outcome, fetched }) => {
      const key = userKey(name);
      const localVersion = here.get(key)?.version;
      const lastFetch = fetched && localVersion !== undefined ? { ...fetched, localVersion } : undefined;
      return { userKey: key, known: outcome !== 'unknown', id: fetched?.id, lastFetch };
    }),
  );
}

function addTallies(sum: Tallies, tallies: Tallies): void {
  for (const kind of KIND_NAMES)
    for (const column of ['new', 'changed', 'unchanged', 'removed', 'takenDown'] as const)
      sum[kind][column] += tallies[kind][column];
}

/** If the last run was killed while it loaded a batch, what is in the store now is of that batch. */
export async function recoverInterrupted({ notes, local }: MirrorOptions): Promise<void> {
  const interrupted = notes.loading.interrupted();
  if (interrupted.length === 0) return;
  const here = await local.users(interrupted.map(({ userKey: key }) => key));
  notes.loading.recover(interrupted.filter(({ userKey: key, id }) => here.get(key)?.id === id));
}
