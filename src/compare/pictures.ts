// Pictures of both sites, compared by the SHA-256 of their bytes.
import { createHash } from 'node:crypto';
import { createFileClient, type FileClientOptions, type FileResult } from '../remote/file-client.ts';

type PictureMatch = 'same bytes' | 'other bytes' | { readonly reason: string };

const MAX_BYTES = 64 * 1024 * 1024;
/** Many users share a picture, such as the one for those who have none. */
const REMEMBERED = 1000;

export type PictureClient = ReturnType<typeof createPictureClient>;

export function createPictureClient(options: Omit<FileClientOptions, 'option' | 'maxBytes'>) {
  const files = createFileClient({ ...options, option: '--picture-hosts', maxBytes: MAX_BYTES });
  const remembered = new Map<string, Promise<FileResult<string>>>();

  /** The hash of a picture. A failure that may pass is not remembered. */
  async function hashPicture(address: string): Promise<FileResult<string>> {
    const fetched = await files.fetch(address, readHash);
    if ('reason' in fetched && fetched.mayPass) remembered.delete(address);
    return fetched;
  }

  function findHash(address: string): Promise<FileResult<string>> {
    const found = remembered.get(address) ?? hashPicture(address);
    if (remembered.size >= REMEMBERED) remembered.clear();
    remembered.set(address, found);
    return found;
  }

  return {
    async match(oldAddress: string, newAddress: string): Promise<PictureMatch> {
      const refused = files.refusal(oldAddress) ?? files.refusal(newAddress);
      if (refused !== undefined) return { reason: refused };
      const [one, other] = await Promise.all([findHash(oldAddress), findHash(newAddress)]);
      if ('reason' in one) return { reason: `old: ${one.reason}` };
      if ('reason' in other) return { reason: `new: ${other.reason}` };
      return one.body === other.body ? 'same bytes' : 'other bytes';
    },
  };
}

async function readHash(chunks: AsyncIterable<Buffer>): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of chunks) hash.update(chunk);
  return hash.digest('hex');
}
