// Requests of every kind in any order: users with the largest records and ordinary ones, of every spelling, at every address.
import { VARIANT_NAMES } from '../../src/variants.ts';
import { blog, folio, post, shot } from './records.ts';

const TEXTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  ordinary: { description: 'Two lines or so, as people write them.', tags: 'one, two, three' },
  ampersands: { description: '&'.repeat(64_000) },
  tags: { tags: 'a,'.repeat(32_000) },
  quotes: { description: '"'.repeat(31_000) },
  han: { description: '日'.repeat(21_000) },
  titles: { title: 'a '.repeat(32_000) },
};
const POSTS_BY = 'posts';
const ITEMS = 30;

/** The users of these requests: all but the ordinary one are as large as they may be. */
export const mixedUsers = [
  ...Object.entries(TEXTS).flatMap(([name, texts], user) => [
    folio(user + 1, name, { bio: name === 'ordinary' ? 'b' : '<'.repeat(60_000) }),
    ...Array.from({ length: ITEMS }, (_, nth) => shot(user * ITEMS + nth + 1, user + 1, texts)),
  ]),
  blog(1, POSTS_BY, { bio: 'x y '.repeat(15_000) }),
  ...Array.from({ length: ITEMS }, (_, nth) => post(nth + 1, 1, { post_details: 'a b '.repeat(16_000) })),
];

const NAMES = [
  ...Object.keys(TEXTS),
  'ORDINARY',
  'Han',
  POSTS_BY,
  'no one',
  '..',
  '%zz',
  '%00',
  'x'.repeat(300),
];
const spelled = (name: string) => (name.startsWith('%') ? name : encodeURIComponent(name));
const ROUTES: readonly ((name: string, id: number) => string)[] = [
  (name) => `/a/api/?user=${name}`,
  (name) => `/a/api/?user=${name}&post=true`,
  (name) => `/b/api/username/${name}`,
  (name) => `/b/api/username/${name}/shots`,
  (name) => `/c/api/username/${name}/shots`,
  ...VARIANT_NAMES.flatMap((variant) => [
    (name: string) => `/people/${variant}/${name}`,
    (name: string, id: number) => `/people/${variant}/${name}?before=${id}`,
    (name: string, id: number) => `/people/${variant}/${name}/${id}`,
    (name: string) => `/card/${variant}/${name}.svg`,
    (name: string) => `/feeds/${variant}/${name}.atom`,
    (name: string) => `/feeds/${variant}/${name}.json`,
    (name: string, id: number) => `/feeds/${variant}/${name}/${id}.atom`,
  ]),
  (name) => `/people/b?after=${name}`,
  (name) => `/people/b.json?q=${name}`,
  (name) => `/oembed?url=http%3A%2F%2Fx%2Fpeople%2Fb%2F${encodeURIComponent(name)}`,
  () => '/openapi.json',
  () => '/docs',
  () => '/sitemap.xml',
  (name) => `/${name}`,
];

/** The address of each name at each route, in an order without a pattern; the same each time. */
export const mixedAddresses = ROUTES.flatMap((route, at) =>
  NAMES.map((name, nth) => ({
    address: route(spelled(name), ((at * 7 + nth * 13) % (ITEMS * NAMES.length)) + 1),
    key: ((at * NAMES.length + nth) * 2_654_435_761) % 2 ** 32,
  })),
)
  .sort((one, other) => one.key - other.key)
  .map(({ address }) => address);
