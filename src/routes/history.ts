// A user's items beyond the list of the newest: in parts, for feeds and pages. Where a part begins depends on the item's id
// alone, so no item that comes or goes changes another part, and no item has to be counted.
import { computeEtag } from '../records/etag.ts';
import { type Family, ITEM_CAP } from '../records/kinds.ts';
import type { Reader } from '../stores/reader.ts';
import type { Data } from '../views/read-person.ts';

/** Ids are 1 to 2^63-1. */
const LARGEST_ID = 2n ** 63n - 1n;
export const isId = (text: string) => /^[1-9]\d{0,18}$/.test(text) && BigInt(text) <= LARGEST_ID;

/** One id in N, whether they are numbered one by one or not: a multiplicative hash. */
const isOneIn = (many: bigint, id: string) =>
  BigInt.asUintN(32, BigInt(id) * 2_654_435_761n) < 2n ** 32n / many;

export const isFeedBorder = (id: string) => isOneIn(8n, id);
/** Pages of people are longer than archives of feeds. */
export const isPageBorder = (id: string) => isOneIn(16n, id);

/** Further items, at most, where no border ends them before. */
const MOST_OLDER = 15;

/** What is in a feed, or in the archive that begins with an item, and with which item the next archive begins. */
export async function readFeed(store: Reader, family: Family, userKey: string, archive?: string) {
  const least = archive === undefined ? ITEM_CAP : 1;
  const most = least + MOST_OLDER;
  const from = archive === undefined ? {} : { from: archive };
  const history = await store.history(family, userKey, { ...from, limit: most + 1 });
  if (history === undefined) return undefined;
  const items = parse(history.records);
  const shown = findBorder(items, isFeedBorder, least) ?? most;
  return {
    profile: history.profile,
    items: items.slice(0, shown),
    etag: computeEtag(history.records.slice(0, shown + 1).join()),
    older: items[shown]?.id,
  };
}

/** The items of the list of the newest; `older` is the last of them if there are more. */
export async function readNewest(store: Reader, family: Family, userKey: string) {
  const history = await store.history(family, userKey, { limit: ITEM_CAP + 1 });
  if (history === undefined) return undefined;
  const { profile, records } = history;
  const items = parse(records).slice(0, ITEM_CAP);
  return {
    profile,
    items,
    etag: computeEtag(records.join()),
    older: records.length > ITEM_CAP ? items.at(-1)?.id : undefined,
    newer: undefined,
  };
}

/** On a page of older items, at most. */
const PAGE_SIZE = 30;

/**
 * The items of a page that are older than one, up to a border; `older` is the last one of them if there are more, and `newer`
 * what the page before begins behind: undefined for the page of the newest.
 */
export async function readOlder(store: Reader, family: Family, userKey: string, before: string) {
  const [behind, ahead] = await Promise.all([
    store.history(family, userKey, { from: before, limit: PAGE_SIZE + 2 }),
    store.history(family, userKey, { from: before, limit: PAGE_SIZE + 1, side: 'newer' }),
  ]);
  if (behind === undefined || ahead === undefined || behind.records.length < 2) return undefined;
  const items = parse(behind.records).slice(1);
  const shown = (findBorder(items, isPageBorder, 0) ?? PAGE_SIZE - 1) + 1;
  const newer = parse(ahead.records);
  const isSecond = newer.length <= ITEM_CAP;
  return {
    profile: behind.profile,
    items: items.slice(0, shown),
    etag: computeEtag([...behind.records.slice(0, shown + 1), isSecond].join()),
    older: items.length > shown ? items[shown - 1]?.id : undefined,
    newer: isSecond ? undefined : (newer[findBorder(newer, isPageBorder, 1) ?? PAGE_SIZE]?.id ?? undefined),
  };
}

/** What pages of older items begin behind, of all the ids of a user. */
export function listOlder(ids: readonly string[]): string[] {
  const found: string[] = [];
  for (let start = ITEM_CAP; start < ids.length; ) {
    found.push(ids[start - 1] as string);
    const rest = ids.slice(start, start + PAGE_SIZE).map((id) => ({ id }));
    start += (findBorder(rest, isPageBorder, 0) ?? PAGE_SIZE - 1) + 1;
  }
  return found;
}

/** An item, and the ids of those beside it. */
export async function readItem(store: Reader, family: Family, userKey: string, id: string) {
  const [behind, ahead] = await Promise.all([
    store.history(family, userKey, { from: id, limit: 2 }),
    store.history(family, userKey, { from: id, limit: 1, skip: 1, side: 'newer' }),
  ]);
  if (behind === undefined || ahead === undefined) return undefined;
  const [item, older] = parse(behind.records);
  const [newer] = parse(ahead.records);
  const etag = computeEtag([behind.records[0], older?.id, newer?.id].join());
  return { profile: behind.profile, item, etag, older: older?.id, newer: newer?.id };
}

const parse = (records: readonly string[]) => records.map((record): Data => JSON.parse(record));

/** The index of the first item that ends a part, of those from `least` on. */
function findBorder(
  items: readonly Data[],
  isBorder: (id: string) => boolean,
  least: number,
): number | undefined {
  const found = items.findIndex(({ id = '' }, nth) => nth >= least && isBorder(id));
  return found === -1 ? undefined : found;
}
