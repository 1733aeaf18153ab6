// What a run of the mirror works with, and what it has come to so far.
import { type Family, KIND_NAMES } from '../records/kinds.ts';
import type { SiteClient } from '../remote/site-client.ts';
import type { UserList } from '../remote/user-list.ts';
import type { VisitProgress } from '../runs/report.ts';
import type { Tallies, Writer } from '../stores/writer.ts';
import type { LocalData } from './local-data.ts';
import type { Notes } from './notes.ts';
import type { Outcome } from './visit-user.ts';

export interface MirrorOptions {
  readonly family: Family;
  readonly site: SiteClient;
  readonly list: UserList;
  readonly concurrency: number;
  readonly writer: Writer;
  readonly local: LocalData;
  readonly notes: Notes;
  /** Whether a user was taken down here, by the key of the name or by id. */
  readonly isTakenDown: (what: 'name' | 'id', value: string) => boolean;
  /** Whether users that the mirror brought are removed when the site does not know them any more. */
  readonly prune: boolean;
  /** Whether users that are here under the same name and id are taken over. */
  readonly adopt: boolean;
  /** Ends the run after what is being loaded. */
  readonly signal: AbortSignal;
  readonly onProgress: (progress: VisitProgress) => void;
  readonly onFault: (line: string) => void;
}

/** What a run has come to so far. */
export interface Run {
  readonly counts: Record<Outcome, number>;
  readonly tallies: Tallies;
  /** The ids that the users of the current batch have. */
  readonly claims: Map<string, string>;
  visited: number;
  skipped: number;
  pruned: number;
  failuresInRow: number;
  stopped: string | undefined;
}

export function newRun(): Run {
  const tally = () => ({ new: 0, changed: 0, unchanged: 0, removed: 0, takenDown: 0 });
  return {
    counts: { found: 0, unchanged: 0, unknown: 0, refused: 0, failed: 0, takenDown: 0 },
    tallies: Object.fromEntries(KIND_NAMES.map((kind) => [kind, tally()])) as Tallies,
    claims: new Map(),
    visited: 0,
    skipped: 0,
    pruned: 0,
    failuresInRow: 0,
    stopped: undefined,
  };
}
