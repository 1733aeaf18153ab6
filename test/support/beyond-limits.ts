// Data that is one beyond each limit of the program. Both families have the same ids, so that what is meant for one and reaches
// the other is seen.
import { blog, folio, post, shot } from './records.ts';

/** A page of users holds 200 where all are read. */
export const USERS = 201;
/** A page of items holds 1,000. */
export const ITEMS = 1001;

const count = (most: number) => Array.from({ length: most }, (_, index) => index + 1);

/** The ids of the users. */
export const USER_IDS = count(USERS);
/** The families spell them differently. */
export const portfolioName = (id: number) => `Person${id}`;
export const microblogName = (id: number) => `person${id}`;

/** Users of both families. `more` are further members of their profiles. */
export const usersBeyondLimits = (
  more: (family: 'microblog' | 'portfolio', id: number) => object = () => ({}),
) =>
  USER_IDS.flatMap((id) => [
    folio(id, portfolioName(id), { totalShots: '1', ...more('portfolio', id) }),
    blog(id, microblogName(id), { totalPost: '1', ...more('microblog', id) }),
  ]);

/** The same with items. The first user has more items than a page, each other one has the item with the next id. */
export const beyondLimits = () => [
  ...usersBeyondLimits(),
  ...count(ITEMS + USERS - 1).flatMap((id) => {
    const owner = Math.max(1, id - ITEMS + 1);
    return [shot(id, owner, { title: `shot ${id}` }), post(id, owner, { post_details: `post ${id}` })];
  }),
];
