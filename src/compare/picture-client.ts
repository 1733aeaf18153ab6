// Pictures of both sites, compared by the SHA-256 of their bytes.
import { createHash } from 'node:crypto';
import { createFileClient, type FileClientOptions } from '../remote/file-client.ts';

export type PictureOptions = Omit<FileClientOptions, 'accept' | 'hostsOption' | 'maxBytes'>;

/** The hash of a picture, or why there is none. */
type Hashed = { readonly sha256: string } | { readonly reason: string };

export type PictureMatch = 'same bytes' | 'other bytes' | { readonly reason: string };

const MAX_BYTES = 64 * 1024 * 1024;
const MAX_ADDRESS = 2048;
/** Many users share a picture, such as the one for those who have none. */
const REMEMBERED = 1000;

export type PictureClient = ReturnType<typeof createPictureClient>;

export function createPictureClient(options: PictureOptions) {
  const files = createFileClient({
    ...options,
    accept: 'image/*, */*;q=0.5',
    hostsOption: '--picture-hosts',
    maxBytes: MAX_BYTES,
  });
  const remembered = new Map<string, Promise<Hashed>>();

  async function hashPicture(address: string): Promise<Hashed> {
    const fetched = await files.fetch(address, readHash);
    return 'reason' in fetched ? fetched : fetched.body;
  }

  function picture(address: string): Promise<Hashed> {
    if (address.length > MAX_ADDRESS)
      return Promise.resolve({ reason: `the address is longer than ${MAX_ADDRESS} characters` });
    const found = remembered.get(address) ?? hashPicture(address);
    remembered.set(address, found);
    const [oldest] = remembered.keys();
    if (remembered.size > REMEMBERED) remembered.delete(oldest as string);
    return found;
  }

  return {
    async match(oldAddress: string, newAddress: string): Promise<PictureMatch> {
      const refused = files.refusal(oldAddress) ?? files.refusal(newAddress);
      if (refused !== undefined) return { reason: refused };
      const [one, other] = await Promise.all([picture(oldAddress), picture(newAddress)]);
      if ('reason' in one) return { reason: `old: ${one.reason}` };
      if ('reason' in other) return { reason: `new: ${other.reason}` };
      return one.sha256 === other.sha256 ? 'same bytes' : 'other bytes';
    },
    close: files.close,
  };
}

async function readHash(chunks: AsyncIterable<Buffer>): Promise<Hashed> {
  const hash = createHash('sha256');
  let isEmpty = true;
  for await (const chunk of chunks) {
    isEmpty = false;
    hash.update(chunk);
  }
  return isEmpty ? { reason: 'empty' } : { sha256: hash.digest('hex') };
}
