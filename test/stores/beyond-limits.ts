// Data that is one beyond each limit of the program. Both families have the same ids, so that what is meant for one and reaches
// the other is seen.
import { blog, folio, post, shot } from '../support/records.ts';

/** A page of users holds 200 where all are read. */
export const USERS = 201;
/** A page of items holds 1,000. */
export const ITEMS = 1001;

const ids = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

/** The families spell them differently. */
export const portfolioName = (id: number) => `Person${id}`;
export const microblogName = (id: number) => `person${id}`;

/** Users of both families. The first one has more items than a page, each other one has the item with the next id. */
export const beyondLimits = () => [
  ...ids(USERS).flatMap((id) => [
    folio(id, portfolioName(id), { totalShots: '1' }),
    blog(id, microblogName(id), { totalPost: '1' }),
  ]),
  ...ids(ITEMS + USERS - 1).flatMap((id) => {
    const owner = Math.max(1, id - ITEMS + 1);
    return [shot(id, owner, { title: `shot ${id}` }), post(id, owner, { post_details: `post ${id}` })];
  }),
];
