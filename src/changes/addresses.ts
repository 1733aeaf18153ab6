// Which addresses of the site answer differently after a change.
import { type Config, listMounts } from '../config/config.ts';
import type { Change } from '../stores/changes.ts';
import { lookupAddresses, VARIANTS } from '../variants.ts';

/**
 * The addresses of all mounted variants, for each spelling of the name that the data has or had: URLs where the base URL of
 * the variant names a host, and paths otherwise.
 */
export const changedAddresses = (config: Config, change: Change): string[] =>
  listMounts(config)
    .filter(({ variant }) => VARIANTS[variant].family === change.family)
    .flatMap(({ variant, base }) => {
      const origin = base.origin ?? '';
      return spellings(change).flatMap((name) => {
        const { profile, items } = lookupAddresses(VARIANTS[variant].style, base.path, name);
        const place = `${variant}/${encodeURIComponent(name)}`;
        const paths = [
          ...(change.profile ? [profile] : []),
          ...(change.list ? [items] : []),
          ...(config.explorer ? [`/people/${place}`] : []),
          ...['svg', 'png'].map((extension) => `/card/${place}.${extension}`),
          ...FEED_EXTENSIONS.map((extension) => `/feeds/${place}.${extension}`),
        ];
        return paths.map((path) => origin + path);
      });
    });

const FEED_EXTENSIONS = ['atom', 'json'] as const;

/** The feeds of a user, as they name themselves. */
export const feedAddresses = (config: Config, { family, username = '' }: Change): string[] =>
  listMounts(config)
    .filter(({ variant, base }) => VARIANTS[variant].family === family && base.origin !== undefined)
    .flatMap(({ variant, base }) =>
      FEED_EXTENSIONS.map(
        (extension) => `${base.origin}/feeds/${variant}/${encodeURIComponent(username)}.${extension}`,
      ),
    );

const spellings = ({ key, username, earlier }: Change) =>
  [...new Set([username, earlier, key])].filter((name) => name !== undefined);

/** A change for other programs. */
export const describeChange = (config: Config, change: Change) => ({
  family: change.family,
  user: change.username ?? change.earlier ?? change.key,
  what:
    change.username === undefined
      ? ['removed']
      : [...(change.profile ? ['profile'] : []), ...(change.list ? ['list'] : [])],
  addresses: changedAddresses(config, change),
});
