// One user: asks both sites for the profile and the items, and says how their answers compare. Pictures of both sites are
// compared by the SHA-256 of their bytes.
import { createHash, hash } from 'node:crypto';
import { findKind, type KindName } from '../records/kinds.ts';
import { createFileClient, type FileClientOptions, type FileResult } from '../remote/file-client.ts';
import type { Lookup, SiteClient, SiteResponse } from '../remote/site-client.ts';
import type { VariantRow } from '../variants.ts';
import { compareBodies, findForm, isPicture, type Question } from './bodies.ts';
import type { AnswerComparison, Difference, UserComparison } from './verdicts.ts';

interface ComparedSites {
  readonly variant: VariantRow;
  readonly oldSite: SiteClient;
  readonly newSite: SiteClient;
  readonly pictures: PictureClient;
}

export async function compareUser(user: string, sites: ComparedSites): Promise<UserComparison> {
  const profile = await compareLookup(user, 'profile', sites);
  if (profile.old === null || profile.new === null) return { user, profile, items: null };
  const items = await compareLookup(user, 'items', sites);
  return { user, profile: dateByItems(profile, items, findKind(sites.variant.family, 'profile')), items };
}

async function compareLookup(
  user: string,
  lookup: Lookup,
  { variant: { family, collection }, oldSite, newSite, pictures }: ComparedSites,
): Promise<AnswerComparison> {
  const [old, other] = await Promise.all([oldSite.get(user, lookup), newSite.get(user, lookup)]);
  const question = { lookup, family, collection, old: oldSite.base, new: newSite.base };
  const compared = await compareAnswers(readBodyIfAny(old), readBodyIfAny(other), question, pictures);
  const isTakenDown = compared.class === 'missing' && other.state === 'unknown' && other.isGone;
  return isTakenDown ? { ...compared, class: 'taken down' } : compared;
}

const readBodyIfAny = (response: SiteResponse) => (response.state === 'body' ? response.body : undefined);

/** Bodies that are undefined are those of a 404. */
export async function compareAnswers(
  oldBody: Buffer | undefined,
  newBody: Buffer | undefined,
  question: Question,
  pictures: PictureClient,
): Promise<AnswerComparison> {
  const hashes = { old: hashBody(oldBody), new: hashBody(newBody) };
  if (oldBody === undefined || newBody === undefined)
    return { class: oldBody === newBody ? 'unknown' : 'missing', ...hashes };
  if (oldBody.equals(newBody)) return { class: 'same bytes', ...hashes };
  const { differences: found, newest } = compareBodies(oldBody, newBody, question);
  const { differences, hasSame } = await comparePictures(found, pictures);
  const form = hasSame ? 'pictures' : 'same meaning';
  const dated = newest === undefined ? form : newest === 'new' ? 'newer' : 'older';
  return {
    class: differences.length > 0 ? 'different' : dated,
    ...hashes,
    ...(differences.length > 0 && { differences }),
  };
}

const hashBody = (body: Buffer | undefined) => (body === undefined ? null : hash('sha256', body, 'hex'));

/** Leaves out the differences that are only in the addresses of the same pictures. */
async function comparePictures(found: readonly Difference[], pictures: PictureClient) {
  const differences: Difference[] = [];
  let hasSame = false;
  for (const difference of found) {
    const { member, old: one, new: other } = difference;
    if (!isPicture(member) || one === '' || other === '') {
      differences.push(difference);
      continue;
    }
    const match = await pictures.match(one, other);
    if (match === 'same bytes') hasSame = true;
    else if (match === 'other bytes') differences.push({ ...difference, reason: match });
    else differences.push({ ...difference, reason: `pictures not compared: ${match.reason}` });
  }
  return { differences, hasSame };
}

/** A profile has no date: if only its counts differ, the dates of the items decide which is newer. */
function dateByItems(profile: AnswerComparison, items: AnswerComparison, kind: KindName): AnswerComparison {
  const isDated = items.class === 'newer' || items.class === 'older';
  const onlyCounts = profile.differences?.every(({ member }) => findForm(kind, member) === 'count') ?? false;
  return isDated && onlyCounts ? { ...profile, class: items.class } : profile;
}

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
    if ('reason' in fetched && fetched.kind === 'passing') remembered.delete(address);
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
      if (refused !== undefined) return refused;
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
