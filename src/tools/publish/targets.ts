// Which file answers which address: a closed table, from which the configuration of every platform is made. Patterns match
// the request target as it was sent. They are in a syntax that PCRE, RE2 and JavaScript share, so there is no lookahead.
// A name stands in an address and in the name of its file in one spelling, that of encodeURIComponent. This spelling has
// no slash, so no address can lead out of the folder.

import type { ErrorCode } from '../../api/http/errors.ts';
import { type Config, listMounts } from '../../config/settings.ts';
import { listOlder } from '../../pages/people/history.ts';
import { MEDIA_TYPES } from '../../records/copy-files.ts';
import type { ItemSize } from '../../stores/reader.ts';
import { isInQuery, STYLES, USER_ADDRESSES, VARIANTS, type Variant } from '../../variants.ts';

export const PLATFORM_NAMES = ['nginx', 'cloudflare', 'netlify'] as const;
export type PlatformName = (typeof PLATFORM_NAMES)[number];

/** Parts that may be left out. */
export const SITE_PARTS = ['pages', 'cards', 'feeds', 'media'] as const;
export type SitePart = (typeof SITE_PARTS)[number];

export interface Target {
  /** A regular expression for the request target, from its start to its end. */
  readonly pattern: string;
  /** The host, if only requests for it are meant. */
  readonly host: string | undefined;
  /** The path of the file, with $1 and $2 for groups of the pattern; undefined where there is none. */
  readonly file: string | undefined;
  /** The error where there is no such file. */
  readonly error: ErrorCode;
}

const { page, follow, card, atom, json } = USER_ADDRESSES;

interface ShownFile {
  /** The folder. */
  readonly kind: string;
  readonly part: SitePart;
  /** `:item` is the item that the file shows, or begins behind. */
  readonly address: string;
  readonly file: string;
  /** The items of a user for which there is such a file; undefined if there is one for the user. */
  readonly chooseItems?: (items: readonly ItemSize[]) => readonly string[];
}

/** What people and other sites see of a user. */
const SHOWN: readonly ShownFile[] = [
  {
    kind: 'older',
    part: 'pages',
    address: `${page}?before=:item`,
    file: ':username_:item.html',
    chooseItems: listOlder,
  },
  {
    kind: 'items',
    part: 'pages',
    address: `${page}/:item`,
    file: ':username_:item.html',
    chooseItems: (items) => items.map(({ id }) => id),
  },
  { kind: 'follow', part: 'pages', address: follow, file: ':username.html' },
  { kind: 'pages', part: 'pages', address: page, file: ':username.html' },
  { kind: 'cards', part: 'cards', address: card, file: ':username.svg' },
  { kind: 'feeds', part: 'feeds', address: atom, file: ':username.atom' },
  { kind: 'feeds', part: 'feeds', address: json, file: ':username.jsonfeed' },
];

/** Whether there are files that show items which are too old for the list. */
export const showsOldItems = (config: Config, without: ReadonlySet<SitePart>) =>
  listShown(config, without).some(({ chooseItems }) => chooseItems !== undefined);

export const listShown = ({ explorer }: Config, without: ReadonlySet<SitePart>) =>
  SHOWN.filter(({ part }) => !without.has(part) && (explorer || part !== 'pages'));

const SAFE = "[A-Za-z0-9_.!~*'()-]";
export const NAME = `((?:${SAFE}|%[0-9A-F][0-9A-F])+)`;
const ANY_QUERY = '(?:\\?.*)?';

/** Longer names would not leave room for an extension in the name of a file. */
const LONGEST = 240;

/** How a user is named in addresses and files. */
export const spell = (name: string) => encodeURIComponent(name);

/** Whether there can be files of this name. */
export const isSpellable = (name: string) => spell(name).length <= LONGEST;

export const dataFile = (variant: Variant, lookup: 'profile' | 'items', spelled: string) =>
  `data/${variant}/${lookup}/${spelled}.json`;

/** Every target, in the order in which they are tried. `site` are the addresses that have one file each, by its path. */
export function listTargets(
  config: Config,
  without: ReadonlySet<SitePart>,
  site: ReadonlyMap<string, string>,
): Target[] {
  const exact = [...site].map(([file, address]) => ({
    host: undefined,
    file,
    pattern: literal(address) + ANY_QUERY,
    error: 'ROUTE_NOT_FOUND' as const,
  }));
  const media = Object.keys(MEDIA_TYPES).map((extension) => ({
    host: undefined,
    pattern: `/media/([0-9a-f][0-9a-f])([0-9a-f-]+)\\.${extension}${ANY_QUERY}`,
    file: `media/$1/$1$2.${extension}`,
    error: 'ROUTE_NOT_FOUND' as const,
  }));
  return [
    ...listMounts(config).flatMap(({ variant, base: { host, path } }) => {
      const lookups = isInQuery(VARIANTS[variant].style) ? queryRows(variant, path) : pathRows(variant, path);
      const rows = [...lookups, ...shownRows(config, without, variant)];
      return rows.map(([pattern, error, file]) => ({ host, pattern, error, file }));
    }),
    ...media,
    ...exact,
  ];
}

/** A target of one variant. */
type RouteRow = readonly [pattern: string, error: ErrorCode, file?: string];

/** Everything that is not the canonical address of a user is an error, the same as the server's wherever that is possible. */
function queryRows(variant: Variant, path: string): RouteRow[] {
  const api = `${literal(path + STYLES.query.profile.split('/?')[0])}/?`;
  const begin = `${api}\\?(?:.*&)?`;
  const more = '(?:&.*)?';
  const repeated = (name: string) => `${begin}${name}(?:=[^&]*)?&(?:.*&)?${name}(?:[=&].*)?`;
  const both = (user: string) => [
    `${begin}user=${user}&(?:.*&)?post=true${more}`,
    `${begin}post=true&(?:.*&)?user=${user}${more}`,
  ];
  return [
    [repeated('user'), 'USER_REPEATED'],
    [`${begin}user=?${more}`, 'USER_MISSING'],
    [repeated('post'), 'POST_MALFORMED'],
    ...both(NAME).map((pattern): RouteRow => [pattern, 'USER_NOT_FOUND', dataFile(variant, 'items', '$1')]),
    ...both('[^&]+').map((pattern): RouteRow => [pattern, 'USER_NOT_FOUND']),
    [`${begin}post=true${more}`, 'USER_MISSING'],
    [`${begin}post(?:[=&].*)?`, 'POST_MALFORMED'],
    [`${begin}user=${NAME}${more}`, 'USER_NOT_FOUND', dataFile(variant, 'profile', '$1')],
    [`${begin}user=[^&]+${more}`, 'USER_NOT_FOUND'],
    [`${api}${ANY_QUERY}`, 'USER_MISSING'],
  ];
}

function pathRows(variant: Variant, path: string): RouteRow[] {
  const addresses = STYLES[VARIANTS[variant].style];
  const address = (lookup: 'profile' | 'items', user: string) =>
    literal(path + addresses[lookup]).replace(':username', user) + ANY_QUERY;
  const empty = literal(path + addresses.profile.replace('/:username', ''));
  const items = literal(addresses.items.slice(addresses.profile.length));
  return [
    [address('profile', NAME), 'USER_NOT_FOUND', dataFile(variant, 'profile', '$1')],
    [address('items', NAME), 'USER_NOT_FOUND', dataFile(variant, 'items', '$1')],
    [address('profile', '[^/?]+'), 'USER_NOT_FOUND'],
    [address('items', '[^/?]+'), 'USER_NOT_FOUND'],
    [`${empty}/?(?:${items})?${ANY_QUERY}`, 'USER_MISSING'],
  ];
}

const shownRows = (config: Config, without: ReadonlySet<SitePart>, variant: Variant): RouteRow[] =>
  listShown(config, without).map(({ kind, address, file, chooseItems }) => {
    const pattern =
      literal(address)
        .replace('\\?', '\\?(?:.*&)?')
        .replace(':variant', variant)
        .replace(':username', NAME)
        .replace(':item', '([0-9]+)') + (address.includes('?') ? '(?:&.*)?' : ANY_QUERY);
    // Where there is no such item, the user may be there.
    const error = chooseItems === undefined ? 'USER_NOT_FOUND' : 'ROUTE_NOT_FOUND';
    return [pattern, error, `${kind}/${variant}/${file.replace(':username', '$$1').replace(':item', '$$2')}`];
  });

const literal = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
