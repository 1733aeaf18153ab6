// @ts-check
// What is shown in place of a profile when there is none: what happened, and what to do next.
import { isResponse } from './api.js';
import { byId, el, text } from './dom.js';

/** @typedef {import('./api.js').ApiResponse} ApiResponse */
/** @typedef {import('./api.js').Outcome} Outcome */
/** @typedef {import('./api.js').Failure} Failure */
/** @typedef {import('./api.js').Variant} Variant */
/**
 * `elsewhere` is a variant of the other family that has the user.
 * @typedef {{ title: string, details: string[], names?: string[], retry?: boolean, elsewhere?: Variant }} Notice
 */

/**
 * @param {Notice} notice
 * @param {{ onRetry: () => void, personLink: (name: string) => Node, variantLink: (variant: Variant) => Node }} actions
 */
export function drawNotice({ title, details, names = [], retry, elsewhere }, actions) {
  const drawing = /** @type {HTMLTemplateElement} */ (byId('empty-case')).content.cloneNode(true);
  return el(
    'div',
    { class: 'notice' },
    drawing,
    el('h2', { dir: 'auto' }, title),
    elsewhere !== undefined && el('p', {}, actions.variantLink(elsewhere)),
    ...details.map((sentence) => el('p', { dir: 'auto' }, sentence)),
    names.length > 0 &&
      el(
        'ul',
        { class: 'suggestions', 'aria-label': 'Suggestions' },
        ...names.map((name) => el('li', {}, actions.personLink(name))),
      ),
    retry && el('button', { type: 'button', class: 'primary', click: actions.onRetry }, 'Try again'),
  );
}

/** @param {Outcome} outcome */
export const isUnknownUser = (outcome) =>
  isResponse(outcome) &&
  ['USER_NOT_FOUND', 'USER_GONE'].includes(
    text(/** @type {Record<string, unknown> | undefined} */ (outcome.json)?.code),
  );

/** @param {Outcome} outcome @param {Variant} variant @param {string} user @param {string[]} knownNames @returns {Notice} */
export function noticeFor(outcome, variant, user, knownNames) {
  if (!isResponse(outcome)) return FAILURES[outcome.kind](variant);
  if (isUnknownUser(outcome)) return userNotFound(user, knownNames);
  const { message } = /** @type {Record<string, unknown>} */ (outcome.json ?? {});
  return noticeForStatus(outcome, text(message));
}

/** @param {string} user @param {string[]} knownNames @returns {Notice} */
function userNotFound(user, knownNames) {
  const similar = knownNames.filter((name) => isSimilar(name, user));
  const names = similar.length > 0 ? similar : knownNames.slice(0, 5);
  const lead = similar.length > 0 ? 'Did you mean:' : 'These users exist:';
  return {
    title: `No user named “${truncate(user)}”`,
    details: ['User names are not case-sensitive. Check the spelling.', ...(names.length > 0 ? [lead] : [])],
    names,
  };
}

/** @param {ApiResponse} response @param {string} message @returns {Notice} */
function noticeForStatus({ status, retryAfter }, message) {
  const wait = retryAfter === null ? [] : [`Try again in ${retryAfter} s.`];
  if (status === 404)
    return {
      title: 'Nothing at this address',
      details: ['No variant answers here. A proxy in front of the server may have removed the path prefix.'],
    };
  if (status === 429)
    return { title: 'Too many requests', details: [message || 'Wait a moment.', ...wait], retry: true };
  if (status === 503)
    return {
      title: 'Temporarily unavailable',
      details: [message || 'The server is not ready.', ...wait],
      retry: true,
    };
  if (status >= 500)
    return { title: 'Server error', details: [message || 'The request failed.'], retry: true };
  if (status >= 400)
    return { title: 'Invalid request', details: [message || 'The server rejected the request.'] };
  return {
    title: 'Unexpected response',
    details: ['The response is not a profile. A proxy may have sent a page of its own.'],
    retry: true,
  };
}

/** @type {Record<Failure['kind'], (variant: Variant) => Notice>} */
const FAILURES = {
  unreachable: () => ({
    title: 'No response',
    details: [`${location.host} is not reachable. Try again when the server is back.`],
    retry: true,
  }),
  timeout: () => ({
    title: 'Request timed out',
    details: [`${location.host} took too long to answer.`],
    retry: true,
  }),
  'other-host': ({ name, origin, path }) => ({
    title: `Variant ${name.toUpperCase()} is on another host`,
    details: [
      `It answers at ${origin}${path} only. This page sends requests to its own host and no other.`,
      'The commands shown here work in a terminal.',
    ],
  }),
  'dot-segment': () => ({
    title: 'Browsers cannot request this name',
    details: ['They resolve . and .. as path steps. Use curl with --path-as-is.'],
  }),
};

/** @param {string} name */
const truncate = (name) => (name.length > 60 ? `${name.slice(0, 60).toWellFormed()}…` : name);

/** @param {string} one @param {string} two */
function isSimilar(one, two) {
  const [a, b] = [one, two].map((name) => name.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase().trim());
  if (a === undefined || b === undefined || b === '') return false;
  if (b.length >= 2 && (a.startsWith(b) || b.startsWith(a))) return true;
  return b.length < 40 && levenshtein(a, b) <= (b.length > 4 ? 2 : 1);
}

/** @param {string} a @param {string} b */
function levenshtein(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next[j] = Math.min(
        (row[j] ?? 0) + 1,
        (next[j - 1] ?? 0) + 1,
        (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1),
      );
    row = next;
  }
  return row[b.length] ?? 0;
}
