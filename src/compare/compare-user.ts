// One user: asks both sites for the profile and the items, and says how their answers compare.
import { hash } from 'node:crypto';
import { kindOf } from '../records/kinds.ts';
import { SiteError } from '../remote/polite-requests.ts';
import type { SiteClient, SiteResponse } from '../remote/site-client.ts';
import type { VariantRow } from '../variants.ts';
import type { Compared, ComparedUser, Difference } from './classes.ts';
import { compareBodies } from './compare-bodies.ts';
import { formOf, isPicture } from './compare-records.ts';
import type { PictureClient } from './picture-client.ts';

export interface UserComparerOptions {
  readonly variant: VariantRow;
  readonly oldSite: SiteClient;
  readonly newSite: SiteClient;
  readonly pictures: Pick<PictureClient, 'match'>;
}

type Lookup = 'profile' | 'items';

export type UserComparer = ReturnType<typeof createUserComparer>;

export function createUserComparer({ variant, oldSite, newSite, pictures }: UserComparerOptions) {
  const { family, collection } = variant;
  const isCount = (member: string) => formOf(kindOf(family, 'profile'), member) === 'count';

  async function compareLookup(user: string, lookup: Lookup): Promise<Compared> {
    const answers = await Promise.all([get(oldSite, user, lookup), get(newSite, user, lookup)]);
    return compareAnswers(...answers, { lookup, family, collection }, pictures);
  }

  return async (user: string): Promise<ComparedUser> => {
    const profile = await compareLookup(user, 'profile');
    if (profile.class === 'unknown' || profile.class === 'missing') return { user, profile, items: null };
    const items = await compareLookup(user, 'items');
    return { user, profile: datedByItems(profile, items, isCount), items };
  };
}

async function get(site: SiteClient, user: string, lookup: Lookup): Promise<Buffer | undefined> {
  const path = site.lookups(user)[lookup];
  try {
    const response: SiteResponse = await site.get(path);
    return response.state === 'body' ? response.body : undefined;
  } catch (error) {
    if (error instanceof SiteError)
      throw new SiteError(`${site.urlOf(path)}: ${error.message}`, error.siteDown);
    throw error;
  }
}

/** Bodies that are undefined are those of a 404. */
export async function compareAnswers(
  oldBody: Buffer | undefined,
  newBody: Buffer | undefined,
  question: Parameters<typeof compareBodies>[2],
  pictures: Pick<PictureClient, 'match'>,
): Promise<Compared> {
  const hashes = { old: hashOf(oldBody), new: hashOf(newBody) };
  if (oldBody === undefined || newBody === undefined)
    return { class: oldBody === newBody ? 'unknown' : 'missing', ...hashes };
  if (oldBody.equals(newBody)) return { class: 'same bytes', ...hashes };
  const { differences: found, newest, outside } = compareBodies(oldBody, newBody, question);
  const { differences, same, compared, notCompared } = await comparePictures(found, pictures);
  const form = same > 0 ? 'pictures' : 'same meaning';
  const dated = newest === undefined ? form : newest === 'new' ? 'newer' : 'older';
  return {
    class: differences.length > 0 ? 'different' : dated,
    ...hashes,
    ...(differences.length > 0 && { differences }),
    ...(outside.length > 0 && { outside }),
    ...(compared + notCompared > 0 && { pictures: { compared, notCompared } }),
  };
}

const hashOf = (body: Buffer | undefined) => (body === undefined ? null : hash('sha256', body, 'hex'));

/** Leaves out the differences that are only in the addresses of the same pictures. */
async function comparePictures(found: readonly Difference[], pictures: Pick<PictureClient, 'match'>) {
  const differences: Difference[] = [];
  let [same, compared, notCompared] = [0, 0, 0];
  for (const difference of found) {
    const { member, old: one, new: other } = difference;
    if (!isPicture(member) || one === '' || other === '') {
      differences.push(difference);
      continue;
    }
    const match = await pictures.match(one, other);
    if (typeof match === 'string') compared++;
    else notCompared++;
    if (match === 'same bytes') same++;
    else if (match === 'other bytes') differences.push({ ...difference, reason: match });
    else differences.push({ ...difference, reason: `pictures not compared: ${match.reason}` });
  }
  return { differences, same, compared, notCompared };
}

/** A profile has no date. If only its counts differ, it is as new as its items show. */
function datedByItems(profile: Compared, items: Compared, isCount: (member: string) => boolean): Compared {
  const isDated = items.class === 'newer' || items.class === 'older';
  const onlyCounts = profile.differences?.every(({ member }) => isCount(member)) ?? false;
  return isDated && onlyCounts ? { ...profile, class: items.class } : profile;
}
