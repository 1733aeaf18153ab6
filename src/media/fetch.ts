// Fetches the originals of a list into the folder, several at a time, and saves what became of each.
import type { FileClient } from '../remote/file-client.ts';
import type { MediaEntry } from '../stores/writer.ts';
import type { createByteLimits } from './byte-limits.ts';
import { QuotaReached } from './byte-limits.ts';
import { hostOf, type Originals } from './originals.ts';
import type { Outcomes } from './outcomes.ts';
import { fileReceiver, HOST_LIMIT, type ReceiveOptions } from './receive-file.ts';
import type { Saver } from './saver.ts';

export interface FetchOptions extends ReceiveOptions {
  readonly originals: Originals;
  readonly client: FileClient;
  readonly limits: ReturnType<typeof createByteLimits>;
  readonly saver: Saver;
  readonly outcomes: Outcomes;
  /** Requests at a time to one host. */
  readonly concurrency: number;
  /** Aborted by the operator, or by `stop`. */
  readonly signal: AbortSignal;
  /** Ends the requests under way. */
  readonly stop: () => void;
  readonly onProgress: (done: number) => void;
}

/** Requests at a time to all hosts. */
const MAX_AT_ONCE = 64;
/** Database indexes and servers take no longer ones. */
export const LONGEST_URL = 2048;

/** Why the run ended before the last original; undefined if it did not. */
export async function fetchOriginals(options: FetchOptions): Promise<string | undefined> {
  const { originals, concurrency, signal, outcomes, saver } = options;
  let stopped: string | undefined;
  let fatal: unknown;
  let done = 0;

  async function fetchNext(url: string): Promise<void> {
    try {
      signal.throwIfAborted();
      const entry = await fetchOriginal(url, options);
      outcomes.add(entry);
      if (Buffer.byteLength(url) <= LONGEST_URL) await saver.add(entry);
    } catch (error) {
      if (signal.aborted) stopped ??= 'stopped';
      else if (error instanceof QuotaReached) stopped ??= 'given up: the copies take all of --media-quota';
      else {
        stopped ??= 'failed';
        fatal = error;
      }
      options.stop();
    }
  }

  const lanes = lanesOf(originals, concurrency);
  async function work(): Promise<void> {
    for (const urls of lanes)
      for (const url of urls) {
        if (stopped === undefined) await fetchNext(url);
        if (stopped !== undefined) return;
        options.onProgress(++done);
      }
  }

  await Promise.all(Array.from({ length: MAX_AT_ONCE }, work));
  if (fatal !== undefined) throw fatal;
  return stopped;
}

/**
 * The originals of each host, as often as the host may be asked at a time. Every host comes once before any comes again,
 * so that slow ones do not hold up the others.
 */
function* lanesOf(originals: Originals, concurrency: number): Generator<Iterable<string>> {
  const hosts = originals.hosts().map((host) => originals.ofHost(host));
  for (let lane = 0; lane < concurrency; lane++) yield* hosts;
}

async function fetchOriginal(url: string, options: FetchOptions): Promise<MediaEntry> {
  const without = (reason: string): MediaEntry => ({ url, file: null, bytes: 0, reason });
  const refusal = refusalOf(url) ?? options.client.refusal(url);
  if (refusal !== undefined) return without(refusal);
  const share = options.limits.shareOf(hostOf(url));
  if (share.isUsedUp()) return without(HOST_LIMIT);
  const fetched = await options.client.fetch(url, fileReceiver(options, share));
  if ('reason' in fetched) return without(fetched.reason);
  const { body } = fetched;
  if ('stop' in body) throw body.stop;
  return 'reason' in body ? without(body.reason) : { url, ...body, reason: null };
}

/** Why an original cannot have a copy, whatever its host says. */
function refusalOf(url: string): string | undefined {
  if (Buffer.byteLength(url) > LONGEST_URL) return `the address is longer than ${LONGEST_URL} bytes`;
  // It could not be found in the text of the record.
  if (JSON.stringify(url) !== `"${url}"`) return 'the address holds characters that JSON writes as escapes';
  return undefined;
}
