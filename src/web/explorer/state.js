// @ts-check
// What the page shows, as named in its URL: the variant, the user and which of the two requests.
import { byId } from './dom.js';
import { loadRecent } from './recent.js';

/** @typedef {import('./api.js').Variant} Variant */
/** @typedef {import('./api.js').Resource} Resource */
/** @typedef {{ variant: Variant, user: string, resource: Resource }} State */
/** @typedef {{ name: string, avatar: string }} Person */

/**
 * Written into the page by the server.
 * @type {{ variants: Variant[], samples: boolean, people: Person[], imageHosts: '*' | string[], docs: boolean }}
 */
export const configuration = JSON.parse(byId('configuration').textContent ?? 'null');

export const recent = loadRecent();

/** Parts missing from the URL default to the last ones used here, then to the first ones available. @returns {State} */
export function currentState() {
  const { variants, people } = configuration;
  const query = new URLSearchParams(location.search);
  const named = variants.find(({ name }) => name === (query.get('variant') ?? recent.variant));
  return {
    variant: named ?? /** @type {Variant} */ (variants[0]),
    user: query.get('user') ?? recent.user ?? people[0]?.name ?? '',
    resource: query.get('show') === 'items' ? 'items' : 'profile',
  };
}

/** The page's query string after this change. @param {Partial<State>} change */
export function queryAfter(change) {
  const { variant, user, resource } = { ...currentState(), ...change };
  const query = new URLSearchParams({ variant: variant.name, user });
  if (resource === 'items') query.set('show', 'items');
  return `?${query}`;
}

/** Names that the page can suggest: the sample users, or the users looked at before. */
export const knownNames = () =>
  configuration.samples ? configuration.people.map(({ name }) => name) : recent.users;
