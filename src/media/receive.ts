// The body of one file, on its way into the folder: its type is found out from its start, and it is hashed, counted and
// written as it comes, within the quota for all copies.
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
  /** The bytes that further copies may take. */
  readonly quota: { left: number };
}

/** A copy, or why there is none. */
type ReceivedFile = { readonly file: string; readonly bytes: number } | { readonly reason: string };

/** The copies take all the room they may have. */
export class QuotaReached extends Error {
  override name = 'QuotaReached';
}

/** The reason holds the hash, so that later runs know it. */
export const placeholderReason = (sha256: string) => `placeholder ${sha256}`;

export const fileReceiver =
  ({ folder, files, placeholders, quota }: ReceiveOptions): BodyReader<ReceivedFile> =>
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
        if (chunk.length > quota.left) throw new QuotaReached();
        quota.left -= chunk.length;
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
      if (!isKept) quota.left += bytes;
      await incoming?.discard();
    }
  };

/** Chunks, of which the first is long enough to tell the type. */
async function* withHead(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const head: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    if (length >= HEAD_LENGTH) yield chunk;
    else {
      head.push(chunk);
      length += chunk.length;
      if (length >= HEAD_LENGTH) yield Buffer.concat(head);
    }
  }
  if (length < HEAD_LENGTH) yield Buffer.concat(head);
}
