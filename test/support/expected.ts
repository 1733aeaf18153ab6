// Expected responses, written from the specification and its samples without using code of src/.

import { readFileSync } from 'node:fs';
import { fixture } from './files.ts';

const { microblog, portfolio } = JSON.parse(readFileSync(fixture('examples.json'), 'utf8'));
const membersOf = (sample: object) => Object.keys(sample).join(' ');

/** The members of each kind, in the order of the samples. */
export const ORDERS = {
  'microblog profile': membersOf(microblog.profile),
  post: membersOf(microblog.items[0]),
  'portfolio profile': membersOf(portfolio.profile),
  shot: membersOf(portfolio.items[0]),
};
export type Kind = keyof typeof ORDERS;
export type Raw = Record<string, unknown>;

const ZERO_WHEN_ABSENT =
  'totalFollowers totalFollowing totalFavs totalPost verified Likes totalShots Lists Listed Projects type_account status status_general id_project'.split(
    ' ',
  );

function textOf(member: string, value: unknown): string {
  if (value === undefined || value === null) {
    if (member === 'created_project') return '0000-00-00 00:00:00';
    return ZERO_WHEN_ABSENT.includes(member) ? '0' : '';
  }
  return typeof value === 'boolean' ? String(Number(value)) : String(value);
}

/** Every member, in the specification's order, as a string. */
export const expectedRecord = (kind: Kind, raw: Raw) =>
  Object.fromEntries(ORDERS[kind].split(' ').map((member) => [member, textOf(member, raw[member])]));

/** The newest 15 items of an owner. */
export function expectedItems(kind: 'post' | 'shot', raws: readonly Raw[], owner: unknown) {
  return raws
    .filter((raw) => String(raw[kind === 'post' ? 'user' : 'user_id']) === String(owner))
    .map((raw) => expectedRecord(kind, raw))
    .sort(
      (a, b) =>
        later(a.date as string, b.date as string) || later(BigInt(a.id as string), BigInt(b.id as string)),
    )
    .slice(0, 15);
}

/** For a sort by which later dates and higher ids come first. */
export const later = <T extends string | bigint>(a: T, b: T) => Number(a < b) - Number(a > b);

const PORTFOLIO = { family: 'portfolio', profile: 'portfolio profile', item: 'shot' } as const;
const byPath = (variant: string) => ({
  profileOf: (name: string) => `/${variant}/api/username/${encodeURIComponent(name)}`,
  itemsOf: (name: string) => `/${variant}/api/username/${encodeURIComponent(name)}/shots`,
});

/** The three variants and their URLs under the default base URLs. */
export const VARIANTS = [
  {
    variant: 'a',
    family: 'microblog',
    profile: 'microblog profile',
    item: 'post',
    collection: 'posts',
    profileOf: (name: string) => `/a/api/?user=${encodeURIComponent(name)}`,
    itemsOf: (name: string) => `/a/api/?user=${encodeURIComponent(name)}&post=true`,
  },
  { variant: 'b', ...PORTFOLIO, collection: 'Shots', ...byPath('b') },
  { variant: 'c', ...PORTFOLIO, collection: 'Posts', ...byPath('c') },
] as const;
