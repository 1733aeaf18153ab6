// One user: asks both sites for the profile and the items, and says how their answers compare. Pictures of both sites are
// compared by the SHA-256 of their bytes.

import { createHash, hash } from 'node:crypto';
import { parseBody, writeJson } from '../../import/formats/json-text.ts';
import {
  type Family,
  FILE_MEMBERS,
  findKind,
  ITEM_CAP,
  type KindName,
  PICTURE_MEMBERS,
} from '../../records/kinds.ts';
import { resolveAddresses, unescapeTexts } from '../../records/mending.ts';
import { normalise, type RawRecord } from '../../records/normalise.ts';
import { isObject, scalarText } from '../../records/scalar.ts';
import { type Form, MEMBERS } from '../../records/schemas.ts';
import type { VariantRow } from '../../variants.ts';
import { createFileClient, type FileClientOptions, type FileResult } from '../remote/file-client.ts';
import { type Lookup, MAX_ITEMS, type SiteClient, type SiteResponse } from '../remote/site-client.ts';
import type { AnswerComparison, Difference, SiteSide, UserComparison } from './verdicts.ts';

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
  if (differences.length > 0) return { class: 'different', ...hashes, differences };
  if (newest !== undefined) return { class: newest === 'new' ? 'newer' : 'older', ...hashes };
  return { class: hasSame ? 'pictures' : 'same meaning', ...hashes };
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

type PictureClient = ReturnType<typeof createPictureClient>;

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

// The bodies of two answers that differ in their bytes: two profiles, or two lists of items. Items are matched by id, so their order
// does not matter; a list may just be newer than the other.

interface Question {
  readonly lookup: Lookup;
  readonly family: Family;
  /** The member that holds the items. */
  readonly collection: string;
  /** The addresses of both sites, which relative ones are below. */
  readonly old: URL;
  readonly new: URL;
}

function compareBodies(oldBody: Buffer, newBody: Buffer, question: Question): Comparison {
  const one = readAnswer(oldBody, question.old, question);
  const other = readAnswer(newBody, question.new, question);
  if (typeof one === 'string' || typeof other === 'string') {
    const sentence = (read: unknown) => (typeof read === 'string' ? read : 'as it should be');
    const difference = { member: 'record', old: sentence(one), new: sentence(other) };
    return { differences: [difference], newest: undefined };
  }
  if (question.lookup === 'items') return compareItems(one, other);
  const profile = ([texts = {}]: readonly Texts[]) => texts;
  return { differences: compareTexts(profile(one), profile(other)), newest: undefined };
}

/** The texts of the one profile or of all items in a body, or what is wrong with it. */
function readAnswer(
  body: Buffer,
  base: URL,
  { lookup, family, collection }: Question,
): readonly Texts[] | string {
  const kind = findKind(family, lookup === 'items' ? 'item' : 'profile');
  const read = (raw: RawRecord) => readTexts(resolveAddresses(unescapeTexts(raw), kind, base), kind);
  const value = parseBody(body);
  if (typeof value === 'string') return value;
  if (lookup === 'profile') return [read(value)];
  const list = value[collection];
  if (!Array.isArray(list)) return `no list ${collection}`;
  if (list.length > MAX_ITEMS) return `a list of ${list.length} items`;
  return list.every(isObject) ? list.map(read) : 'a list of other things than objects';
}

interface Comparison {
  readonly differences: readonly Difference[];
  /** The site that has newer items, if that is all there is to items of one site only. */
  readonly newest: SiteSide | undefined;
}

/** Items by their ids. */
type Items = ReadonlyMap<string, Texts>;

function compareItems(oldList: readonly Texts[], newList: readonly Texts[]): Comparison {
  const byId = (list: readonly Texts[]): Items => new Map(list.map((texts) => [texts.id ?? '', texts]));
  const [oldItems, newItems] = [byId(oldList), byId(newList)];
  const differences: Difference[] = [];
  for (const [id, texts] of oldItems) {
    const other = newItems.get(id);
    if (other !== undefined) differences.push(...compareTexts(texts, other, id));
  }
  const onlyOld = findExtra(oldItems, newItems);
  const onlyNew = findExtra(newItems, oldItems);
  const newest = newestSide({ oldItems, newItems, onlyOld, onlyNew });
  if (newest === undefined) {
    for (const [item] of onlyOld) differences.push({ item, member: 'record', old: 'listed', new: 'missing' });
    for (const [item] of onlyNew) differences.push({ item, member: 'record', old: 'missing', new: 'listed' });
  }
  return { differences, newest };
}

/** The items that the other list lacks, except those that are too old for it: a list ends after the newest 15. */
function findExtra(items: Items, others: Items): Items {
  const isCutOff = (item: Texts) => others.size >= ITEM_CAP && rank(item) < oldest(others);
  return new Map([...items].filter(([id, item]) => !others.has(id) && !isCutOff(item)));
}

/** Lists without a common item are not just older or newer: one of them may have been lost. */
function newestSide(
  lists: Record<'oldItems' | 'newItems' | 'onlyOld' | 'onlyNew', Items>,
): SiteSide | undefined {
  const { oldItems, newItems, onlyOld, onlyNew } = lists;
  if (![...oldItems.keys()].some((id) => newItems.has(id))) return undefined;
  if (onlyNew.size === 0 && isAhead(onlyOld, newItems)) return 'old';
  if (onlyOld.size === 0 && isAhead(onlyNew, oldItems)) return 'new';
  return undefined;
}

const isAhead = (extra: Items, others: Items) =>
  extra.size > 0 && [...others.values()].every((other) => rank(other) < oldest(extra));

/** A text that sorts items by date, then id. */
const rank = ({ date = '', id = '' }: Texts) => `${date} ${id.padStart(20, '0')}`;
/** Of items of which there are some. */
const oldest = (items: Items) => [...items.values()].map(rank).sort()[0] ?? '';

/** Members that lead to a picture or another file, of which a copy has another address. */
const PICTURES = new Set([PICTURE_MEMBERS, FILE_MEMBERS].flatMap((byKind) => Object.values(byKind).flat()));

const isPicture = (member: string) => PICTURES.has(member);

/** The texts that an import would make of a record's members. */
type Texts = Readonly<Record<string, string>>;

const findForm = (kind: KindName, member: string): Form | undefined => MEMBERS[kind][member]?.['x-form'];

/** The text of every member. A record that an import would refuse is taken as it is. */
function readTexts(raw: RawRecord, kind: KindName): Texts {
  const result = normalise(raw, kind);
  if ('row' in result) return JSON.parse(result.row.record);
  const entries = Object.entries(MEMBERS[kind]).map(([member, schema]) => {
    const value = raw[member] ?? schema.default ?? '';
    return [member, scalarText(value) ?? writeJson(value)];
  });
  return Object.fromEntries(entries);
}

function compareTexts(one: Texts, other: Texts, item?: string): Difference[] {
  return Object.entries(one)
    .map(([member, text]) => ({
      ...(item !== undefined && { item }),
      member,
      old: text,
      new: other[member] ?? '',
    }))
    .filter((difference) => difference.old !== difference.new);
}
