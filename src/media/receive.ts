// The body of one file, on its way into the folder: its type is found out from its start, and it is hashed, counted and
// written as it comes, within limits for all copies and for those of each host.
import { createHash } from 'node:crypto';
import type { BodyReader } from '../remote/http-client.ts';
import { fileType, HEAD_LENGTH } from './file-type.ts';
import type { IncomingFile, MediaFolder } from './folder.ts';

interface ReceiveOptions {
  readonly folder: MediaFolder;
  /** Whether other files than pictures are wanted. */
  readonly files: boolean;
  /** The hashes of pictures that are refused. */
  readonly placeholders: ReadonlySet<string>;
}

/** A copy, or why there is none. */
type ReceivedFile = { readonly file: string; readonly bytes: number } | { readonly reason: string };

export const HOST_LIMIT = 'the host has given as much as --max-host allows';
/** The reason holds the hash, so that later runs know it. */
export const placeholderReason = (sha256: string) => `placeholder ${sha256}`;

export const fileReceiver =
  ({ folder, files, placeholders }: ReceiveOptions, share: Share): BodyReader<ReceivedFile> =>
  async (chunks) => {
    const hash = createHash('sha256');
    let incoming: IncomingFile | undefined;
    let extension = '';
    let bytes = 0;
    let isKept = false;
    try {
      for await (const chunk of withHead(chunks)) {
        if (incoming === undefined) {
          const type = fileType(chunk, files);
          if (typeof type !== 'string') return type;
          extension = type;
          incoming = await folder.receive();
        }
        if (!share.take(chunk.length)) return { reason: HOST_LIMIT };
        bytes += chunk.length;
        hash.update(chunk);
        await incoming.write(chunk);
      }
      const sha256 = hash.digest('hex');
      if (placeholders.has(sha256)) return { reason: placeholderReason(sha256) };
      const file = `${sha256}.${extension}`;
      isKept = (await incoming?.keep(file)) ?? false;
      return { file, bytes };
    } finally {
      if (!isKept) share.giveBack(bytes);
      await incoming?.discard();
    }
  };

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

export type Limits = ReturnType<typeof createByteLimits>;
type Share = ReturnType<Limits['shareOf']>;

export function createByteLimits({ maxHost, quota }: ByteLimits) {
  const hosts = new Map<string, number>();
  let total = 0;
  const givenBy = (host: string) => hosts.get(host) ?? 0;

  return {
    /** Counts what the folder holds. */
    addHeld(bytes: number): void {
      total += bytes;
    },
    /** Counts what a host gave in earlier runs, which the folder holds. */
    addOfHost: (host: string, bytes: number) => void hosts.set(host, givenBy(host) + bytes),

    /** What a host may give. */
    shareOf(host: string) {
      function add(bytes: number): void {
        total += bytes;
        hosts.set(host, givenBy(host) + bytes);
      }
      return {
        /** Whether it may give anything more. */
        hasRoom(): boolean {
          if (total >= quota) throw new QuotaReached();
          return givenBy(host) < maxHost;
        },
        /** Takes bytes for a file; whether the host may give so many. */
        take(bytes: number): boolean {
          if (total + bytes > quota) throw new QuotaReached();
          const mayGive = givenBy(host) + bytes <= maxHost;
          if (mayGive) add(bytes);
          return mayGive;
        },
        /** For a file that is not kept. */
        giveBack: (bytes: number) => add(-bytes),
      };
    },
  };
}
