// @ts-check
// What the page shows, as named in its URL: the variant, the user and which of the two requests.
import { byId } from './dom.js';
import { loadRecent } from './recent.js';

/** @typedef {import('./api.js').Variant} Variant */
/** @typedef {import('./api.js').Resource} Resource */
/** @typedef {{ variant: Variant, user: string, resource: Resource }} State */
/** @typedef {{ name: string, avatar: string }} Person */

/** Where the explorer is. */
export const root = new URL('.', import.meta.url);

/**
 * Written into the page by the server.
 * @type {{ variants: Variant[], samples: string | null, people: Record<Variant['family'], Person[]>, imageHosts: '*' | string[],
 *   live: number | null }}
 */
export const configuration = JSON.parse(byId('configuration').textContent ?? 'null');

/** What was looked at among the sample users is not in the operator's data. */
export const recent = loadRecent(configuration.samples ? 'vitrine-samples' : 'vitrine');

/** Parts missing from the URL default to the last ones used here, then to the first ones available. @returns {State} */
export function currentState() {
  const { variants, people } = configuration;
  const query = new URLSearchParams(location.search);
  const wanted = query.get('variant') ?? recent.variant;
  const named = variants.find(({ name }) => name === wanted);
  const here = variants.filter(({ origin }) => origin === null || new URL(origin).host === location.host);
  const inhabited = here.find(({ family }) => people[family].length > 0);
  const variant = named ?? inhabited ?? here[0] ?? /** @type {Variant} */ (variants[0]);
  return {
    variant,
    user: query.get('user') ?? recent.user ?? people[variant?.family]?.[0]?.name ?? '',
    resource: query.get('show') === 'items' ? 'items' : 'profile',
  };
}

/** The page's address after this change. @param {Partial<State>} change */
export function addressAfter(change) {
  const { variant, user, resource } = { ...currentState(), ...change };
  const query = new URLSearchParams({ variant: variant.name, user });
  if (resource === 'items') query.set('show', 'items');
  return new URL(`?${query}`, root).href;
}

/** The names that the page can suggest: users of the variant's data, and those looked at before. @param {Variant | undefined} variant */
export function knownNames(variant) {
  const named = variant === undefined ? [] : configuration.people[variant.family].map(({ name }) => name);
  return configuration.samples ? named : [...new Set([...named, ...recent.users])];
}
