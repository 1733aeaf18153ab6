// Expected responses, written from the specification without using code of src/.

export const ORDERS = {
  'microblog profile':
    'totalFollowers totalFollowing totalFavs totalPost id username name location country website bio avatar avatar_large verified cover_image cover_large',
  post: 'id token_id post_details photo video_code video_title video_site video_url user status video_thumbnail date status_general url_audio title_audio thumbnail_song',
  'portfolio profile':
    'totalFollowers totalFollowing Likes totalShots Lists Listed Projects id username name location social_link website bio skills avatar type_account cover_image',
  shot: 'id id_project created_project image large_image token_id description title user_id status tags date attachment url_purchased price_item',
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

const later = <T extends string | bigint>(a: T, b: T) => (a < b ? 1 : a > b ? -1 : 0);

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
