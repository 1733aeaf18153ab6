// One run of `vitrine publish`: what it was asked for, and what it has open.
import { setImmediate } from 'node:timers/promises';
import type { Config } from '../../config/settings.ts';
import type { Terminal } from '../../import/terminal.ts';
import type { StoreHandle } from '../../stores/open.ts';
import { OutputError } from '../../stores/output.ts';
import type { Reader } from '../../stores/reader.ts';
import type { Archive } from '../../stores/sql/archive.ts';
import type { Answers } from './answers.ts';
import type { PlatformName, SitePart } from './targets.ts';

export interface PublishOptions {
  readonly folder: string;
  readonly platform: PlatformName;
  /** Parts that are left out. */
  readonly without: ReadonlySet<SitePart>;
  /** Reads all files. */
  readonly check: boolean;
  readonly config: Config & { readonly databaseUrl: string };
  readonly out: Terminal;
  readonly signal: AbortSignal;
}

export interface PublishRun extends PublishOptions {
  readonly store: Reader;
  readonly answers: Answers;
  readonly counts: PublishCounts;
  /** Opens the data as of now. */
  readonly openArchive: () => Promise<StoreHandle<Archive>>;
}

export interface PublishCounts {
  written: number;
  removed: number;
  /** Users with names too long for a file. */
  tooLong: number;
  /** Files that lack something, and are written again by the next run. */
  incomplete: number;
  /** Copies of pictures with other bytes than their names say. */
  damaged: number;
}

const STOPPED = 'stopped: what was published before is served on';

/**
 * Lets the event loop turn: signals arrive, requests that ended are freed, and the store reads what was committed since. Throws
 * if the run is to stop.
 */
export async function nextTurn(signal: AbortSignal, stopped = STOPPED): Promise<void> {
  await setImmediate();
  if (signal.aborted) throw new OutputError(stopped);
}
