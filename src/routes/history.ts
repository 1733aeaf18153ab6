// A user's items in parts, for feeds and pages. Where a part of older items begins depends on the item's id alone, so no item
// that comes or goes changes another part, and no item has to be counted; but for parts of the longest records.
import { computeEtag } from '../records/etag.ts';
import { type Family, ITEM_CAP } from '../records/kinds.ts';
import { type History, type ItemSize, MOST_BYTES, type Reader } from '../stores/reader.ts';

/** Ids are 1 to 2^63-1. */
const LARGEST_ID = 2n ** 63n - 1n;
export const isId = (text: string) => /^[1-9]\d{0,18}$/.test(text) && BigInt(text) <= LARGEST_ID;

/** One id in N, whether they are numbered one by one or not: a multiplicative hash. */
const isOneIn = (many: bigint, id: string) =>
  BigInt.asUintN(32, BigInt(id) * 2_654_435_761n) < 2n ** 32n / many;

export const isFeedBorder = (id: string) => isOneIn(8n, id);
/** Pages of people are longer than archives of feeds. */
export const isPageBorder = (id: string) => isOneIn(16n, id);

/** How many of the items fit into one part. */
function countFitting(items: readonly ItemSize[]): number {
  let bytes = 0;
  const found = items.findIndex((item) => (bytes += item.bytes) > MOST_BYTES);
  return found === -1 ? items.length : found;
}

/** The first of the items that were found. `behind` is the id of the item behind them. */
function takePart({ profile, items, next }: History, count: number) {
  const shown = items.slice(0, count);
  const last = shown.at(-1)?.id;
  const behind = items[count]?.id ?? next;
  return { profile, records: shown.map(({ record }) => record), last, behind };
}

/** The newest items; `older` is the last of them if there are more. */
export async function readNewest(store: Reader, family: Family, userKey: string, most = ITEM_CAP) {
  const history = await store.history(family, userKey, { limit: most + 1 });
  if (history === undefined) return undefined;
  const { last, behind, ...part } = takePart(history, most);
  const older = behind && last;
  return { ...part, etag: computeEtag([...part.records, older].join()), older, newer: undefined };
}

/** Further items, at most, where no border ends them before. */
const MOST_OLDER = 15;

/** What is in a feed, or in the archive that begins with an item, and with which item the next archive begins. */
export async function readFeed(store: Reader, family: Family, userKey: string, archive?: string) {
  const least = archive === undefined ? ITEM_CAP : 1;
  const from = archive === undefined ? {} : { from: archive };
  const history = await store.history(family, userKey, { ...from, limit: least + MOST_OLDER + 1 });
  if (history === undefined) return undefined;
  const { behind: older, ...part } = takePart(history, countInFeed(history.items, least));
  return { ...part, etag: computeEtag([...part.records, older].join()), older };
}

const countInFeed = (items: readonly { id: string }[], least: number) =>
  findBorder(items, isFeedBorder, least) ?? least + MOST_OLDER;

/** What archives of the feed begin with, of all the items of a user. */
export function listArchives(items: readonly ItemSize[]): string[] {
  const found: string[] = [];
  const take = (start: number, least: number) => {
    const next = items.slice(start, start + least + MOST_OLDER + 1);
    return start + Math.min(countInFeed(next, least), countFitting(next));
  };
  for (let start = take(0, ITEM_CAP); start < items.length; start = take(start, 1))
    found.push(items[start]?.id as string);
  return found;
}

/** On a page of older items, at most. */
const PAGE_SIZE = 30;

/**
 * The items of a page that are older than one, up to a border; `older` is the last one of them if there are more, and `newer`
 * what the page before begins behind: undefined for the page of the newest.
 */
export async function readOlder(store: Reader, family: Family, userKey: string, before: string) {
  const [history, ahead] = await Promise.all([
    store.history(family, userKey, { from: before, limit: PAGE_SIZE + 1, skip: 1 }),
    store.historySizes(family, userKey, { from: before, limit: PAGE_SIZE + 1, side: 'newer' }),
  ]);
  if (history === undefined || history.items.length === 0) return undefined;
  const { last, behind, ...part } = takePart(history, countOnPage(history.items));
  const older = behind && last;
  const isSecond = ahead.length <= ITEM_CAP && countFitting(ahead.toReversed()) >= ahead.length;
  const newer = isSecond ? undefined : ahead[countBefore(ahead)]?.id;
  return { ...part, etag: computeEtag([...part.records, older, newer].join()), older, newer };
}

/** How many of these items are on a page that begins with the first one. */
const countOnPage = (items: readonly { id: string }[]) =>
  (findBorder(items, isPageBorder, 0) ?? PAGE_SIZE - 1) + 1;

/** How many of these, backwards from the last one of a page, are on it. */
const countBefore = (items: readonly ItemSize[]) =>
  Math.min(findBorder(items, isPageBorder, 1) ?? PAGE_SIZE, countFitting(items));

/** What pages of older items begin behind, of all the items of a user. */
export function listOlder(items: readonly ItemSize[]): string[] {
  const found: string[] = [];
  for (let start = countFitting(items.slice(0, ITEM_CAP)); start < items.length; ) {
    found.push(items[start - 1]?.id as string);
    const next = items.slice(start, start + PAGE_SIZE + 1);
    start += Math.min(countOnPage(next), countFitting(next));
  }
  return found;
}

/** An item, and the ids of those beside it. */
export async function readItem(store: Reader, family: Family, userKey: string, id: string) {
  const [history, [newer]] = await Promise.all([
    store.history(family, userKey, { from: id, limit: 2 }),
    store.historySizes(family, userKey, { from: id, limit: 1, skip: 1, side: 'newer' }),
  ]);
  if (history === undefined) return undefined;
  const { behind: older, ...part } = takePart(history, 1);
  const etag = computeEtag([...part.records, older, newer?.id].join());
  return { ...part, etag, older, newer: newer?.id };
}

/** The index of the first item that ends a part, of those from `least` on. */
function findBorder(
  items: readonly { id: string }[],
  isBorder: (id: string) => boolean,
  least: number,
): number | undefined {
  const found = items.findIndex(({ id }, nth) => nth >= least && isBorder(id));
  return found === -1 ? undefined : found;
}
