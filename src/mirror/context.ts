// What the steps of a mirror share, and what a visit to a user leaves.
import type { Terminal } from '../files/terminal.ts';
import type { RecordMap } from '../import/map.ts';
import type { Family } from '../records/kinds.ts';
import type { Mender, MendingCounts, MendingOptions } from '../records/mending.ts';
import type { Row } from '../records/row.ts';
import type { Lookup, SiteClient, SiteOptions } from '../remote/site-client.ts';
import type { UserSource } from '../remote/user-list.ts';
import type { Run } from '../runs/each.ts';
import type { Archive } from '../stores/archive.ts';
import type { Tallies } from '../stores/load.ts';
import type { StoreHandle } from '../stores/open.ts';
import type { Reader } from '../stores/reader.ts';
import type { RemovalLimit } from '../stores/removal-limit.ts';
import type { Writer } from '../stores/writer.ts';
import type { LastFetch, MirrorMemory } from './memory.ts';

/** The flags of the command that are passed on as they are. */
export interface MirrorFlags extends Omit<SiteOptions, 'base' | 'userAgent' | 'signal'>, MendingOptions {
  readonly from: URL;
  /** Whether users that the mirror brought are removed when the site does not know them any more. */
  readonly prune: boolean;
  /** How many that may be at most. */
  readonly maxRemoved: RemovalLimit;
  /** Whether users who are here under the same name and id are taken over. */
  readonly adopt: boolean;
  readonly restart: boolean;
  /** The module that makes records of what the site serves. */
  readonly map?: string;
  /** A file for the users that failed or were refused, with the reasons. */
  readonly failed?: string;
}

export interface MirrorOptions extends MirrorFlags {
  readonly openReader: () => Promise<StoreHandle<Reader>>;
  readonly openArchive: () => Promise<StoreHandle<Archive>>;
  readonly writer: Writer;
  readonly users: UserSource;
  /** The path of the state file. */
  readonly state: string;
  readonly out: Terminal;
  readonly signal: AbortSignal;
}

export interface Mirror extends MirrorOptions {
  readonly family: Family;
  readonly memory: MirrorMemory;
  readonly run: Run;
  readonly site: SiteClient;
  readonly counts: MirrorCounts;
  readonly mender: Mender;
  readonly recordMap: RecordMap | undefined;
  /** How bodies are read: what was read otherwise is fetched again. */
  readonly reading: string;
  /** Whether a user was taken down here, by the key of the name or by id. */
  readonly isTakenDown: (what: 'name' | 'id', value: string) => boolean;
  /** The users of the current batch by their ids. */
  readonly claims: Map<string, string>;
  /** Why users of the current batch failed or were refused, by their names. */
  readonly failures: Map<string, string>;
  readonly onFault: (line: string) => void;
}

/** What a run has come to so far. */
export interface MirrorCounts {
  readonly users: Record<Outcome, number>;
  readonly tallies: Tallies;
  pruned: number;
  readonly mended: MendingCounts;
}

export type Outcome = 'found' | 'unchanged' | 'unknown' | 'refused' | 'failed' | 'takenDown';

export interface Visit extends VisitResult {
  readonly name: string;
  readonly key: string;
}

export interface VisitResult {
  readonly outcome: Outcome;
  /** The profile if it has changed, then the items if they have. */
  readonly rows: readonly Row[];
  readonly fetched?: Omit<LastFetch, 'localVersion'>;
}

/** Why a visit must not be loaded. */
export interface Refusal {
  readonly lookup: Lookup;
  readonly member: string;
  readonly reason: string;
  readonly got: string;
}

/** Reports why a user failed or was refused. */
export function reportRefusal(
  name: string,
  { lookup, member, reason, got }: Refusal,
  { site, failures, onFault }: Mirror,
): void {
  const line = `${site.buildUrl(name, lookup)}: ${member}: ${reason}${got === '' ? '' : `, got "${got}"`}`;
  if (!failures.has(name)) failures.set(name, line);
  onFault(line);
}
