// The whole of a mirror: from what was asked for on the command line to the last word about it.

import type { Awaitable, Reader, Writer } from '../stores/store.ts';
import type { Terminal } from '../transfer/progress.ts';
import { mirror } from './mirror.ts';
import { openNotes } from './notes.ts';
import { createMirrorReport, mirrorSummary } from './report.ts';
import { createLiveSite, type SiteOptions } from './site.ts';
import { listOf, readUsers } from './user-list.ts';
import type { Held } from './visit.ts';

export interface MirrorFlags extends Omit<SiteOptions, 'base'> {
  readonly from: URL;
  readonly prune: boolean;
  readonly state?: string;
  readonly restart: boolean;
}

export type Names =
  | { readonly names: string[] }
  | { readonly file: string; readonly stdin: AsyncIterable<Buffer> };

export interface MovedIn {
  readonly said?: string;
  /** Why it is not what was asked for. */
  readonly failed?: string;
}

export async function moveIn(
  { from, prune, state, restart, ...flags }: MirrorFlags & { readonly state: string },
  names: Names,
  writer: Writer,
  openReader: () => Awaitable<Reader>,
  out: Terminal,
): Promise<MovedIn> {
  const { users, faults } =
    'names' in names ? listOf(names.names, '--user') : await readUsers(names.file, names.stdin);
  const all = users.length + faults.length;
  if (all === 0) return { failed: 'nobody is named: the list of users is empty' };
  const report = createMirrorReport(out);
  for (const fault of faults) report.trouble(fault);
  const { variant, concurrency } = flags;
  const notes = openNotes<Held>(state, `${variant} ${from.href}`, { anew: restart });
  const site = createLiveSite({ ...flags, base: from, timeout: flags.timeout * 1000 });
  try {
    const result = await mirror({
      ...{
        family: variant === 'a' ? 'microblog' : 'portfolio',
        site,
        users,
        concurrency,
        writer,
        openReader,
      },
      ...{ notes, prune, onProgress: report.progress, onTrouble: report.trouble },
    });
    const said = mirrorSummary(result);
    if (result.gaveUp !== undefined)
      return { said, failed: `given up: ${result.gaveUp}; the same command goes on where it was` };
    const missed = result.counts.failed + faults.length;
    return missed > 0 ? { said, failed: `${missed} of ${all} users could not be taken over` } : { said };
  } finally {
    report.close();
    site.close();
    notes.close();
  }
}
