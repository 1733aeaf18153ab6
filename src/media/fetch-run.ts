// What a fetch is given, and what it comes to.

import type { Terminal } from '../files/terminal.ts';
import type { FileClientOptions } from '../remote/file-client.ts';
import type { Archive, MediaSummary } from '../stores/archive.ts';
import type { Awaitable } from '../stores/reader.ts';
import type { Writer } from '../stores/writer.ts';
import type { ByteLimits } from './byte-limits.ts';
import type { OutcomeCounts } from './outcomes.ts';

/** The flags of the command that are passed on as they are. */
export interface FetchFlags
  extends ByteLimits,
    Pick<FileClientOptions, 'concurrency' | 'rate' | 'startRate' | 'retries'> {
  /** Seconds to wait for a host that sends nothing. */
  readonly timeout: number;
  /** Whether attachments and audio are fetched as well. */
  readonly files: boolean;
  readonly maxFile: number;
  /** Hosts that may be asked. */
  readonly mediaHosts: readonly string[];
  /** Hashes of pictures to refuse, and to take again. */
  readonly placeholder: readonly string[];
  readonly notPlaceholder: readonly string[];
}

export interface FetchRun extends FetchFlags {
  /** Sites that may be asked whatever their addresses are. */
  readonly sites: readonly URL[];
  readonly mediaDir: string;
  /** What records name copies by. */
  readonly mediaUrl: string;
  readonly openArchive: () => Awaitable<Archive>;
  readonly writer: Pick<Writer, 'saveMedia' | 'relink' | 'unknownFiles'>;
  readonly out: Terminal;
  readonly signal: AbortSignal;
}

export interface FetchOutcome {
  readonly summary: string;
  readonly result: FetchResult;
  readonly failure: string | undefined;
}

export interface FetchResult {
  readonly originals: OutcomeCounts & { readonly present: number };
  readonly total: number;
  /** Why the run ended before the last original; undefined if it did not. */
  readonly stopped: string | undefined;
  /** What copies are linked with. */
  readonly mediaUrl: string;
  /** How many profiles and lists of items name other addresses now. */
  readonly relinked: number;
  /** Copies that many originals have led to. */
  readonly likelyPlaceholders: MediaSummary['likelyPlaceholders'];
}
