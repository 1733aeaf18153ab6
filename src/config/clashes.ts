// Settings that exclude each other. Of two variants at one base address, one would hide users of the other.
import type { Variant } from '../variants.ts';
import type { BaseUrl } from './setting-values.ts';

/** A variant that is served, and its base address. */
export interface Mount {
  readonly variant: Variant;
  readonly base: BaseUrl;
}

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

/** Of the other settings. A hub asks for the feeds that it is told of. */
export function siteClashes(
  { directory, explorer, websubHub }: SiteSettings,
  mounts: readonly Mount[],
): string[] {
  const hasHost = mounts.some(({ base }) => base.origin !== undefined);
  return [
    ...(directory && !explorer ? ['DIRECTORY=on needs the pages of EXPLORER=on'] : []),
    ...(websubHub !== undefined && !hasHost
      ? ['WEBSUB_HUB needs a base URL that names a host, such as BASE_URL_A=https://example.org/a']
      : []),
  ];
}

interface SiteSettings {
  readonly directory: boolean;
  readonly explorer: boolean;
  readonly websubHub: URL | undefined;
}
