// @ts-check
// What is shown in place of a profile when there is none: what happened, and what to do next.
import { byId, el } from './dom.js';
import { isResponse } from './send.js';

/** @typedef {import('./send.js').Outcome} Outcome */
/** @typedef {import('./state.js').Variant} Variant */
/** @typedef {{ title: string, details: string[], command?: string, retry?: boolean }} Notice */

/** @type {Notice} */
export const NO_DATA = {
  title: 'No data yet',
  details: ['Import it, then load this page again:'],
  command: 'vitrine import people.ndjson',
};

/** @type {Notice} */
export const NO_NAME = { title: 'Enter a user name', details: ['Type the name of a user in your data.'] };

/** @param {Notice} notice @param {() => void} onRetry */
export function drawNotice({ title, details, command, retry }, onRetry) {
  const drawing = /** @type {HTMLTemplateElement} */ (byId('empty-case')).content.cloneNode(true);
  return el(
    'div',
    { class: 'notice' },
    drawing,
    el('h2', { dir: 'auto' }, title),
    ...details.map((sentence) => el('p', { dir: 'auto' }, sentence)),
    command !== undefined && el('pre', {}, el('code', {}, command)),
    retry && el('button', { type: 'button', class: 'primary', click: onRetry }, 'Try again'),
  );
}

/** @param {Outcome} outcome @param {Variant} variant @returns {Notice} */
export function noticeFor(outcome, variant) {
  if (!isResponse(outcome)) return FAILURES[outcome.kind](variant);
  const { status, headers } = outcome;
  const { error, message } = /** @type {Record<string, string | undefined>} */ (outcome.json ?? {});
  const wait = headers.get('retry-after');
  return {
    title: error ?? 'Unexpected response',
    details: [
      message ??
        'This is no answer of the API. A proxy may have sent a page of its own, or changed the path.',
      ...(wait === null ? [] : [`Try again in ${wait} s.`]),
    ],
    retry: status === 429 || status >= 500,
  };
}

/** @type {Record<import('./send.js').Failure['kind'], (variant: Variant) => Notice>} */
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
