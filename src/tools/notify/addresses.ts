// Which addresses of the site answer differently after a change.
import { type Config, listMounts } from '../../config/settings.ts';
import type { Change } from '../../stores/sql/changes.ts';
import { fillAddress, lookupAddresses, USER_ADDRESSES, VARIANTS } from '../../variants.ts';

const listUserMounts = (config: Config, { family }: Change) =>
  listMounts(config).filter(({ variant }) => VARIANTS[variant].family === family);

/**
 * The addresses of all mounted variants, for each spelling of the name that the data has or had: URLs where the base URL of
 * the variant names a host, and paths otherwise.
 */
export function changedAddresses(config: Config, change: Change): string[] {
  const { page, follow, ...others } = USER_ADDRESSES;
  const shown = [...(config.explorer ? [page, follow] : []), ...Object.values(others)];
  return listUserMounts(config, change).flatMap(({ variant, base }) =>
    spellings(change).flatMap((name) => {
      const { profile, items } = lookupAddresses(VARIANTS[variant].style, base.path, name);
      const paths = [
        ...(change.profile ? [profile] : []),
        ...(change.list ? [items] : []),
        ...shown.map((address) => fillAddress(address, variant, name)),
      ];
      return paths.map((path) => (base.origin ?? '') + path);
    }),
  );
}

const spellings = ({ key, username, earlier }: Change) =>
  [...new Set([username, earlier, key])].filter((name) => name !== undefined);

function changedParts({ username, profile, list }: Change): string[] {
  if (username === undefined) return ['removed'];
  const changed = { profile, list };
  return (['profile', 'list'] as const).filter((part) => changed[part]);
}

/** A change for other programs. */
export const describeChange = (config: Config, change: Change) => ({
  family: change.family,
  user: change.username ?? change.earlier ?? change.key,
  what: changedParts(change),
  addresses: changedAddresses(config, change),
});
