// The run of a mirror, batch by batch: visit the users, load what has changed, note what was done; then prune.
import type { Tallies } from '../stores/writer.ts';
import { loadAndNote, recoverInterrupted } from './load-batch.ts';
import { type MirrorOptions, newRun, type Run } from './mirror-run.ts';
import type { Notes } from './notes.ts';
import { pruneGone } from './prune.ts';
import { selectDue, visitAll } from './visit-batch.ts';
import { createVisitor, type Outcome } from './visit-user.ts';

export interface MirrorResult {
  readonly counts: Record<Outcome, number>;
  readonly tallies: Tallies;
  readonly skipped: number;
  readonly pruned: number;
  /** Whether the site knows any of the users. */
  readonly anyoneKnown: boolean;
  /** Why the run ended before the last user; undefined if it did not. */
  readonly stopped: string | undefined;
}

/** Few enough that their bodies fit into memory, whatever the site sends. */
const BATCH = 32;
export async function mirrorUsers(options: MirrorOptions): Promise<MirrorResult> {
  const { notes, list, prune } = options;
  const run = newRun();
  const visitor = createVisitor({ ...options, claimId: (id, key) => claimId(run, notes, id, key) });
  await recoverInterrupted(options);
  for (const names of list.batches(BATCH)) {
    const due = await selectDue(names, options, run);
    const visits = await visitAll(due, visitor, options, run);
    await loadAndNote(visits, visitor, options, run).catch((error: Error) => {
      if (error.name !== 'AbortError') throw error;
      run.stopped = 'stopped';
    });
    if (run.stopped !== undefined) break;
  }
  const anyoneKnown = run.counts.refused > 0 || notes.anyoneKnown();
  if (run.stopped === undefined) {
    if (prune) await pruneGone(anyoneKnown, options, run);
    notes.finish();
  }
  const { counts, tallies, skipped, pruned, stopped } = run;
  return { counts, tallies, skipped, pruned, stopped, anyoneKnown };
}

/** Two users of one site cannot have one id. */
function claimId({ claims }: Run, notes: Notes, id: string, key: string): string | undefined {
  const holder = claims.get(id) ?? notes.holderOf(id);
  if (holder !== undefined && holder !== key) return holder;
  claims.set(id, key);
  return undefined;
}
