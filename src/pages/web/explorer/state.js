// @ts-check
// What the page shows, as named in its URL: the variant, the user, and which of the two requests. Also what was shown last,
// and where all of it is.
import { byId } from './dom.js';
import { escaped } from './snippets.js';

/**
 * @typedef {{ name: string, profile: string, items: string, family: 'microblog' | 'portfolio', collection: string,
 *   path: string, origin: string | null }} Variant
 */
/** @typedef {'profile' | 'items'} Resource */
/** @typedef {{ variant: Variant, user: string, resource: Resource }} State */

/** Where the explorer is. */
export const root = new URL('.', import.meta.url);

/**
 * Written into the page by the server.
 * @type {{ variants: Variant[], samples: boolean, people: Record<Variant['family'], string[]>,
 *   directory: boolean, imageHosts: '*' | string[], noData: boolean,
 *   live: { made: number, savedAt: number, faults: string[] } | null }}
 */
export const configuration = JSON.parse(byId('configuration').textContent ?? 'null');

/** What was looked at among the sample users is not in the operator's data. */
const RECENT_KEY = configuration.samples ? 'vitrine-samples' : 'vitrine';
const MAX_RECENT = 8;

/** @type {{ variant?: string, user?: string, users: string[] }} */
let recent = { users: [] };
try {
  recent = { users: [], ...JSON.parse(localStorage.getItem(RECENT_KEY) ?? '{}') };
} catch {
  // Storage may be blocked; the page works without it.
}

/** @param {State} state */
export function saveRecent({ variant, user }) {
  const users = [user, ...recent.users.filter((name) => name !== user)].slice(0, MAX_RECENT);
  recent = { variant: variant.name, user, users };
  try {
    localStorage.setItem(RECENT_KEY, JSON.stringify(recent));
  } catch {
    // It may also be full.
  }
}

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
    user: query.get('user') ?? recent.user ?? people[variant?.family]?.[0] ?? '',
    resource: query.get('show') === 'items' ? 'items' : 'profile',
  };
}

/** The page's address after this change. @param {Partial<State>} change */
export function addressAfter(change) {
  const { variant, user, resource } = { ...currentState(), ...change };
  const query = new URLSearchParams({ variant: variant.name, user });
  if (resource === 'items') query.set('show', 'items');
  return new URL(`?${query}`, location.href).href;
}

/** Users that the page can suggest: those of the variant's data, and those looked at before. @param {Variant} variant */
export function listPeople({ family }) {
  const { people, samples } = configuration;
  return samples ? people[family] : [...new Set([...people[family], ...recent.users])];
}

/**
 * The variant's base URL, without a slash at its end. A path is resolved against this page, so that a proxy's prefix
 * applies to both.
 * @param {Variant} variant
 */
export function buildBase({ path, origin }) {
  const here = origin !== null && new URL(origin).host === location.host ? location.origin : origin;
  return (here === null ? new URL(`.${path}`, root).href : here + path).replace(/\/+$/, '');
}

/** Whether this page may send a request to it. @param {string} url */
export const isHere = (url) => new URL(url).origin === location.origin;

/** @param {Variant} variant @param {string} user @param {Resource} resource */
export const buildUrl = (variant, user, resource) =>
  buildBase(variant) + variant[resource].replace(':username', () => escaped(user));

/** The page of this user, which needs no script. @param {Variant} variant @param {string} user */
export const personPage = (variant, user) => `${root.href}people/${variant.name}/${escaped(user)}`;
