// Settings that exclude each other. Base addresses that overlap: one variant would hide users of the other.
import { lookupPatterns, VARIANTS, type Variant } from '../variants.ts';
import type { BaseUrl } from './setting-values.ts';

/** A variant that is served, and its base address. */
export interface Mount {
  readonly variant: Variant;
  readonly base: BaseUrl;
}

/** A sentence for each pair of variants that claim one address. */
export function addressClashes(
  mounts: readonly Mount[],
  settingName: (variant: Variant) => string,
): string[] {
  return mounts.flatMap((one, index) =>
    mounts.slice(index + 1).flatMap((two) => {
      const names = `${settingName(one.variant)} and ${settingName(two.variant)}`;
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

function sharedAddress(one: Mount, two: Mount): string | undefined {
  for (const mine of patterns(one))
    for (const theirs of patterns(two)) if (overlap(mine, theirs)) return mine.replace(':username', 'USER');
  return undefined;
}

const patterns = ({ variant, base }: Mount) =>
  lookupPatterns(VARIANTS[variant].style).map((pattern) => base.path + pattern);

function overlap(mine: string, theirs: string): boolean {
  const [one, two] = [mine.split('/'), theirs.split('/')];
  return (
    one.length === two.length &&
    one.every((part, index) => [part, two[index]].includes(':username') || part === two[index])
  );
}

export const pageClashes = ({ directory, explorer }: Record<'directory' | 'explorer', boolean>): string[] =>
  directory && !explorer ? ['DIRECTORY=on needs the pages of EXPLORER=on'] : [];
