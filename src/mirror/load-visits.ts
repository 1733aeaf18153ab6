// The rows of a batch of visits -> the store. A user whose rows do not fit is left out whole; the others are loaded.
import type { Tallies, Writer } from '../stores/writer.ts';
import { MAX_ROWS, type Visit } from './visit-user.ts';

export interface MisfitReport {
  readonly lookup: 'profile' | 'items';
  readonly member: string;
  readonly reason: string;
  readonly got: string;
}

export interface LoadedVisits {
  /** Undefined when nothing was left to load. */
  readonly tallies: Tallies | undefined;
  readonly misfits: ReadonlyMap<Visit, MisfitReport>;
}

export async function loadVisits(writer: Writer, visits: readonly Visit[]): Promise<LoadedVisits> {
  const misfits = new Map<Visit, MisfitReport>();
  for (;;) {
    const fitting = visits.filter((visit) => visit.rows.length > 0 && !misfits.has(visit));
    if (fitting.length === 0) return { tallies: undefined, misfits };
    const before = misfits.size;
    const tallies = await loadAll(writer, fitting, misfits);
    if (tallies !== undefined) return { tallies, misfits };
    // The store refuses a load only for misfits, so each turn has fewer visits.
    if (misfits.size === before) throw new Error('the store refused a load without naming a misfit');
  }
}

/** Loads all visits, or none and adds those at fault to `misfits`. */
async function loadAll(
  writer: Writer,
  visits: readonly Visit[],
  misfits: Map<Visit, MisfitReport>,
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
