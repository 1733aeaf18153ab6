// Settings that exclude each other. Two base addresses must differ: one variant would hide users of the other.
import type { Variant } from '../variants.ts';
import type { BaseUrl } from './setting-values.ts';

/** A variant that is served, and its base address. */
export interface Mount {
  readonly variant: Variant;
  readonly base: BaseUrl;
}

/** A sentence for each pair of variants with one base address. */
export function addressClashes(
  mounts: readonly Mount[],
  settingName: (variant: Variant) => string,
): string[] {
  return mounts.flatMap((one, index) =>
    mounts
      .slice(index + 1)
      .filter(({ base }) => base.path === one.base.path && shareHost(base, one.base))
      .map(({ variant }) => `${settingName(one.variant)} and ${settingName(variant)}`)
      .map((names) => `${names} claim the same address: give each its own`),
  );
}

/** A base address without a host is served on every host. */
const shareHost = (one: BaseUrl, two: BaseUrl) =>
  one.host === undefined || two.host === undefined || one.host === two.host;

export const pageClashes = ({ directory, explorer }: Record<'directory' | 'explorer', boolean>): string[] =>
  directory && !explorer ? ['DIRECTORY=on needs the pages of EXPLORER=on'] : [];
