// Settings that exclude each other. Of two variants at one base address, one would hide users of the other.
import type { Variant } from '../variants.ts';
import type { BaseUrl, Mount } from './mount.ts';

/** A sentence for each pair of variants that claim one address. */
export const addressClashes = (mounts: readonly Mount[], settingName: (variant: Variant) => string) =>
  mounts.flatMap((one, index) =>
    mounts
      .slice(index + 1)
      .filter(({ base }) => base.path === one.base.path && shareHost(base, one.base))
      .map(
        (two) =>
          `${settingName(one.variant)} and ${settingName(two.variant)} claim the same address: give each its own`,
      ),
  );

/** A base address without a host is served on every host. */
const shareHost = (one: BaseUrl, two: BaseUrl) =>
  one.host === undefined || two.host === undefined || one.host === two.host;
