// The body of one file, on its way into the folder: its type is found out from its start, and it is hashed, counted and
// written as it comes, within limits for all copies and for those of each host.
import { createHash } from 'node:crypto';
import { OutputError } from '../files/output.ts';
import type { BodyReader } from '../remote/http-client.ts';
import { fileType, HEAD_LENGTH } from './file-type.ts';
import type { IncomingFile, MediaFolder } from './folder.ts';

export interface ReceiveOptions {
  readonly folder: MediaFolder;
  /** Whether other files than pictures are wanted. */
  readonly files: boolean;
  /** The hashes of pictures that are refused. */
  readonly placeholders: ReadonlySet<string>;
}

/** A copy, why there is none, or why nothing more can be received at all. */
export type Received =
  | { readonly file: string; readonly bytes: number }
  | { readonly reason: string }
  | { readonly stop: Error };

export const HOST_LIMIT = 'the host has given as much as --max-host allows';
/** The reason holds the hash, so that later runs know it. */
export const placeholderReason = (sha256: string) => `placeholder ${sha256}`;

export const fileReceiver =
  (options: ReceiveOptions, share: Share): BodyReader<Received> =>
  async (chunks) => {
    const receiving = createReceiving(options, share);
    try {
      for await (const chunk of withHead(chunks)) {
        const reason = await receiving.add(chunk);
        if (reason !== undefined) return { reason };
      }
      return await receiving.finish();
    } catch (error) {
      // The request did not fail, so it must not be repeated.
      if (error instanceof OutputError || error instanceof QuotaReached) return { stop: error };
      throw error;
    } finally {
      await receiving.close();
    }
  };

function createReceiving({ folder, files, placeholders }: ReceiveOptions, share: Share) {
  const hash = createHash('sha256');
  let incoming: IncomingFile | undefined;
  let extension = '';
  let bytes = 0;
  let isKept = false;

  return {
    /** Why the file is refused; undefined if it is not. The first chunk must be the head. */
    async add(chunk: Buffer): Promise<string | undefined> {
      if (incoming === undefined) {
        const type = fileType(chunk, files);
        if (typeof type !== 'string') return type.reason;
        extension = type;
        incoming = await folder.receive();
      }
      if (!share.take(chunk.length)) return HOST_LIMIT;
      bytes += chunk.length;
      hash.update(chunk);
      await incoming.write(chunk);
      return undefined;
    },

    async finish(): Promise<Received> {
      const sha256 = hash.digest('hex');
      if (placeholders.has(sha256)) return { reason: placeholderReason(sha256) };
      const file = `${sha256}.${extension}`;
      isKept = (await incoming?.keep(file)) ?? false;
      return { file, bytes };
    },

    async close(): Promise<void> {
      if (!isKept) share.giveBack(bytes);
      await incoming?.discard();
    },
  };
}

/** Chunks, of which the first is long enough to tell the type. */
async function* withHead(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const head: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks)
    if (length >= HEAD_LENGTH) yield chunk;
    else {
      head.push(chunk);
      length += chunk.length;
      if (length >= HEAD_LENGTH) yield Buffer.concat(head);
    }
  if (length < HEAD_LENGTH) yield Buffer.concat(head);
}

/** The copies take all the room they may have. */
export class QuotaReached extends Error {
  override name = 'QuotaReached';
}

export interface ByteLimits {
  readonly maxHost: number;
  readonly quota: number;
}

export interface Share {
  /** Whether the copies take all the room they may have. */
  readonly isQuotaUsedUp: () => boolean;
  /** Whether the host has given all it may. */
  readonly isUsedUp: () => boolean;
  /** Takes bytes for a file; whether the host may give so many. */
  take(bytes: number): boolean;
  /** For a file that is not kept. */
  giveBack(bytes: number): void;
}

export type Limits = ReturnType<typeof createByteLimits>;

export function createByteLimits({ maxHost, quota }: ByteLimits) {
  const hosts = new Map<string, number>();
  let total = 0;

  function add(host: string, bytes: number): void {
    total += bytes;
    hosts.set(host, (hosts.get(host) ?? 0) + bytes);
  }

  return {
    /** Counts what the folder holds. */
    addHeld(bytes: number): void {
      total += bytes;
    },
    /** Counts what a host gave in earlier runs, which the folder holds. */
    addOfHost: (host: string, bytes: number) => void hosts.set(host, (hosts.get(host) ?? 0) + bytes),
    shareOf: (host: string): Share => ({
      isQuotaUsedUp: () => total >= quota,
      isUsedUp: () => (hosts.get(host) ?? 0) >= maxHost,
      take(bytes) {
        if (total + bytes > quota) throw new QuotaReached();
        if ((hosts.get(host) ?? 0) + bytes > maxHost) return false;
        add(host, bytes);
        return true;
      },
      giveBack: (bytes) => add(host, -bytes),
    }),
  };
}
