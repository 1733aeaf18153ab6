// What the steps of a mirror share, and what a visit to a user leaves.

import type { Terminal } from '../../import/terminal.ts';
import type { Family } from '../../records/kinds.ts';
import type { Mender, MendingOptions } from '../../records/mending.ts';
import { describeFault, type Fault, type Row } from '../../records/normalise.ts';
import type { StoreHandle } from '../../stores/open.ts';
import type { Reader } from '../../stores/reader.ts';
import type { Archive } from '../../stores/sql/archive.ts';
import type { RemovalLimit, Tallies } from '../../stores/sql/load.ts';
import type { Writer } from '../../stores/writer.ts';
import type { Variant } from '../../variants.ts';
import type { Run } from '../remote/each.ts';
import type { HostFlags } from '../remote/host.ts';
import type { Lookup, SiteClient } from '../remote/site-client.ts';
import type { UserSource } from '../remote/user-list.ts';
import type { LastFetch, MirrorMemory } from './memory.ts';

export interface MirrorOptions extends HostFlags, MendingOptions {
  readonly variant: Variant;
  readonly from: URL;
  readonly users: UserSource;
  /** Whether users that the mirror imported are removed when the site does not know them any more. */
  readonly prune: boolean;
  /** How many that may be at most. */
  readonly maxRemoved: RemovalLimit;
  /** Whether users who are here under the same name and id are taken over. */
  readonly adopt: boolean;
  /** A file for the users that failed or were refused, with the reasons. */
  readonly failed?: string;
  /** The path of the state file. */
  readonly state: string;
  readonly openReader: () => Promise<StoreHandle<Reader>>;
  readonly openArchive: () => Promise<StoreHandle<Archive>>;
  readonly writer: Writer;
  readonly out: Terminal;
  readonly signal: AbortSignal;
}

/** A run of the mirror. */
export interface Mirror {
  readonly options: MirrorOptions;
  readonly family: Family;
  readonly memory: MirrorMemory;
  readonly run: Run;
  readonly site: SiteClient;
  readonly counts: Record<VisitOutcome | 'pruned' | 'fullLists', number>;
  readonly tallies: Tallies;
  readonly mender: Mender;
  /** Whether a user was taken down here, by the key of the name or by id. */
  readonly isTakenDown: (what: 'name' | 'id', value: string) => boolean;
  /** The users of the current batch by their ids. */
  readonly batchIds: Map<string, string>;
  readonly onFault: (line: string) => void;
  /** Notes why a user failed or was refused. */
  readonly noteFailure: (name: string, reason: string) => void;
}

export type VisitOutcome = 'found' | 'unchanged' | 'unknown' | 'refused' | 'failed' | 'takenDown';

export interface VisitResult {
  outcome: VisitOutcome;
  /** The profile if it has changed, then the items if they have. */
  readonly rows: readonly Row[];
  readonly fetched?: Omit<LastFetch, 'localVersion'>;
}

export interface Visit extends VisitResult {
  readonly name: string;
  readonly key: string;
}

/** What is wrong with an answer about a user, as a line. */
export function describeFaults(
  site: SiteClient,
  name: string,
  lookup: Lookup,
  faults: readonly Fault[],
): string {
  return `${site.buildUrl(name, lookup)}: ${faults.map(describeFault).join('; ')}`;
}
