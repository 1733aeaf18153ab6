// Base URLs whose addresses overlap: one variant would hide users of another.
import { type RouteStyle, VARIANTS, type Variant } from '../variants.ts';
import type { BaseUrl } from './setting-values.ts';

/** A variant that is served, and its base address. */
export interface Site {
  readonly variant: Variant;
  readonly base: BaseUrl;
}

/** What each style answers below its base address; `*` is any user name. */
const ADDRESSES: Record<RouteStyle, readonly string[]> = {
  query: ['/api'],
  path: ['/api/username', '/api/username/*', '/api/username/*/shots'],
};

/** A sentence for each pair of variants that claim one address. `nameOf` gives the setting's name. */
export function addressClashes(sites: readonly Site[], nameOf: (variant: Variant) => string): string[] {
  return sites.flatMap((one, index) =>
    sites.slice(index + 1).flatMap((two) => {
      const names = `${nameOf(one.variant)} and ${nameOf(two.variant)}`;
      if (!shareHost(one.base, two.base)) return [];
      if (one.base.path === two.base.path) return [`${names} claim the same address: give each its own`];
      const shared = sharedAddress(one, two);
      return shared === undefined ? [] : [`${names} both claim ${shared}: give each its own base address`];
    }),
  );
}

/** A base address without a host is served on every host. */
const shareHost = (one: BaseUrl, two: BaseUrl) =>
  one.host === undefined || two.host === undefined || one.host === two.host;

function sharedAddress(one: Site, two: Site): string | undefined {
  for (const mine of addressesOf(one))
    for (const theirs of addressesOf(two)) if (overlap(mine, theirs)) return mine.replaceAll('*', 'USER');
  return undefined;
}

const addressesOf = ({ variant, base }: Site) =>
  ADDRESSES[VARIANTS[variant].style].map((address) => base.path + address);

function overlap(mine: string, theirs: string): boolean {
  const [one, two] = [mine.split('/'), theirs.split('/')];
  return (
    one.length === two.length &&
    one.every((part, index) => part === two[index] || part === '*' || two[index] === '*')
  );
}
