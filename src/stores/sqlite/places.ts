// What the integer by which an item is found is made of: the place of its owner's profile, and a slot behind it.
import type { Family } from '../../records/kinds.ts';

const FIRST_OF_PORTFOLIO = 2 ** 30;
export const LAST_SLOT = 2 ** 32 - 1;

export const familyAt = (place: number): Family => (place < FIRST_OF_PORTFOLIO ? 'microblog' : 'portfolio');

/** SQL: the items behind a profile's place, which is a column or a parameter. */
export const itemsBehind = (place: string) =>
  `place BETWEEN ${place} << 32 AND ${place} << 32 | ${LAST_SLOT}`;
