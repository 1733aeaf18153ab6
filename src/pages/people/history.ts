// A user's items in parts, for pages. Where a part of older items begins depends on the item's id alone. So an item that is
// added or removed changes no other part, and nothing is counted. Only parts that MOST_BYTES cuts may move.
import { computeEtag } from '../../records/etag.ts';
import { type Family, ITEM_CAP } from '../../records/kinds.ts';
import { type Answer, type History, type ItemSize, MOST_BYTES, type Reader } from '../../stores/reader.ts';
import { unpackedText } from '../../stores/sql/packing.ts';
import { VARIANTS, type Variant } from '../../variants.ts';

/** The page of the newest items shows the stored list, which is that of the API. */
export const FIRST_PAGE = ITEM_CAP;

/** One id in N, whether they are numbered one by one or not: a multiplicative hash. */
const isEveryNth = (many: bigint, id: string) =>
  BigInt.asUintN(32, BigInt(id) * 2_654_435_761n) < 2n ** 32n / many;

export const isPageBorder = (id: string) => isEveryNth(16n, id);

/** How many of the items fit into one part. */
function countFitting(items: readonly ItemSize[]): number {
  let bytes = 0;
  for (const [nth, item] of items.entries()) {
    bytes += item.bytes;
    if (bytes > MOST_BYTES) return nth;
  }
  return items.length;
}

/** A user and some of their items. */
export interface ItemPart {
  readonly profile: Answer;
  /** Of the items, and of what else of the user's data shapes a page or feed of them. */
  readonly etag: string;
  /** The records as a JSON array. */
  items(): string;
  /** Everything that may name copies of pictures. */
  texts(): string;
  readonly hasOlder: boolean;
  readonly newer?: string | undefined;
}

/** The first of the items that were found. `behind` is the id of the item behind them; the page shows also `newer`. */
function takePart({ profile, items, next }: History, count: number, newer?: string) {
  const shown = items.slice(0, count).map(({ record }) => record);
  const text = shown.join();
  const behind = items[count]?.id ?? next;
  return {
    profile,
    etag: computeEtag([text, behind, newer].join()),
    items: () => `[${text}]`,
    texts: () => profile.body + text,
    isEmpty: shown.length === 0,
    hasOlder: behind !== undefined,
    behind,
  };
}

/** The newest items, which are those of the stored list: to read them one by one costs five times as much. */
export async function readNewest(
  store: Reader,
  variant: Variant,
  userKey: string,
): Promise<ItemPart | undefined> {
  const { family, collection } = VARIANTS[variant];
  const newest = await store.newest(family, userKey, collection);
  if (newest === undefined) return undefined;
  const { profile, list, hasMore, hasCopies } = newest;
  const { body } = list;
  if (body === null) {
    const history = await store.history(family, userKey, { limit: FIRST_PAGE + 1 });
    return history && takePart(history, FIRST_PAGE);
  }
  const items = () => unpackedText(body).slice(`{"${collection}":`.length, -1);
  const texts = () => (hasCopies ? profile.body + items() : '');
  return { profile, etag: hasMore ? `${list.etag}-more` : list.etag, items, texts, hasOlder: hasMore };
}

/** On a page of older items, at most. */
const PAGE_SIZE = 30;

/**
 * The items of a page that are older than one, up to a border; `newer` is what the page before begins behind: undefined for
 * the page of the newest.
 */
export async function readOlder(store: Reader, family: Family, userKey: string, before: string) {
  const [history, ahead] = await Promise.all([
    store.history(family, userKey, { from: before, limit: PAGE_SIZE + 1, skip: 1 }),
    store.historySizes(family, userKey, { from: before, limit: PAGE_SIZE + 1, side: 'newer' }),
  ]);
  if (history === undefined || history.items.length === 0) return undefined;
  const newer = ahead[countNewer(ahead)]?.id;
  return { ...takePart(history, countOnPage(history.items), newer), newer };
}

/** How many of these items are on a page that begins with the first one. */
const countOnPage = (items: readonly { id: string }[]) =>
  (findBorder(items, isPageBorder, 0) ?? PAGE_SIZE - 1) + 1;

/** How many of these, backwards from the last one of a page, are on it. */
const countBefore = (items: readonly ItemSize[]) =>
  Math.min(findBorder(items, isPageBorder, 1) ?? PAGE_SIZE, countFitting(items));

/** The place of what the page before begins behind, of the items that are newer than a page; none has it if that is the newest page. */
function countNewer(ahead: readonly ItemSize[]): number {
  const isSecond = ahead.length <= FIRST_PAGE && countFitting(ahead.toReversed()) >= ahead.length;
  return isSecond ? ahead.length : countBefore(ahead);
}

/**
 * What pages of older items begin behind, of all the items of a user: those that links to older items lead to, and those that links
 * back do, which may be others.
 */
export function listOlder(items: readonly ItemSize[]): string[] {
  const lasts = new Set<number>();
  const add = (last: number) => void (last >= 0 && last < items.length - 1 && lasts.add(last));
  // At least one item fits on each page.
  add(countFitting(items.slice(0, FIRST_PAGE)) - 1);
  // Those that are added on the way have their turn as well.
  for (const last of lasts) {
    const behind = items.slice(last + 1, last + PAGE_SIZE + 2);
    add(last + Math.min(countOnPage(behind), countFitting(behind)));
    const ahead = items.slice(Math.max(0, last - PAGE_SIZE), last + 1).toReversed();
    add(last - countNewer(ahead));
  }
  return [...lasts].sort((one, other) => one - other).flatMap((last) => items[last]?.id ?? []);
}

/** An item; the ids of those beside it are `behind` and `newer`. */
export async function readItem(store: Reader, family: Family, userKey: string, id: string) {
  const found = await store.item(family, userKey, id);
  if (found === undefined) return undefined;
  const { profile, record, older: next, newer } = found;
  return { ...takePart({ profile, items: [{ id, record }], next }, 1, newer), newer };
}

/** The index of the first item that ends a part, of those from `least` on. */
function findBorder(
  items: readonly { id: string }[],
  isBorder: (id: string) => boolean,
  minimum: number,
): number | undefined {
  const found = items.findIndex(({ id }, nth) => nth >= minimum && isBorder(id));
  return found === -1 ? undefined : found;
}
