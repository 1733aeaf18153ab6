// @ts-check
// What stands in the case when there is nobody to show: what happened, and the way on.
import { isAnswer } from './asking.js';
import { byId, el, text } from './dom.js';

/** @typedef {import('./asking.js').Outcome} Outcome */
/** @typedef {import('./asking.js').Variant} Variant */
/** @typedef {{ title: string, words: string[], names?: string[], again?: boolean }} Notice */

/**
 * @param {Notice} notice
 * @param {{ retry: () => void, person: (name: string) => Node }} around
 */
export function drawNotice({ title, words, names = [], again = false }, { retry, person }) {
  const drawing = /** @type {HTMLTemplateElement} */ (byId('empty-case')).content.cloneNode(true);
  return el(
    'div',
    { class: 'notice' },
    drawing,
    el('h2', { dir: 'auto' }, title),
    ...words.map((sentence) => el('p', { dir: 'auto' }, sentence)),
    names.length > 0 &&
      el(
        'ul',
        { class: 'offers', 'aria-label': 'Suggestions' },
        ...names.map((name) => el('li', {}, person(name))),
      ),
    again && el('button', { type: 'button', class: 'solid', click: retry }, 'Try again'),
  );
}

/** @param {Outcome} outcome @param {Variant} variant @param {string} user @param {string[]} known @returns {Notice} */
export function noticeOf(outcome, variant, user, known) {
  if (!isAnswer(outcome)) return UNANSWERED[outcome.kind](variant);
  const body = /** @type {Record<string, unknown> | undefined} */ (outcome.json);
  const code = text(body?.code);
  const message = text(body?.message);
  if (outcome.status === 404 && code === 'USER_NOT_FOUND') {
    const near = known.filter((name) => isNear(name, user));
    const names = near.length > 0 ? near : known.slice(0, 5);
    return {
      title: `Nobody here goes by “${clipped(user)}”`,
      words: [
        'This place in the case is empty. Letter case does not matter, spelling does.',
        near.length > 0 ? 'Did you mean:' : names.length > 0 ? 'These people are in:' : '',
      ].filter(Boolean),
      names,
    };
  }
  if (outcome.status === 404)
    return {
      title: 'There is nothing at this address',
      words: ['No variant answers there. If a proxy stands in front, it may have lost the prefix.'],
      again: true,
    };
  if (outcome.status === 429 || outcome.status === 503)
    return {
      title: outcome.status === 429 ? 'One moment, please' : 'Closed for a moment',
      words: [
        message || 'The server asks to be left alone for now.',
        outcome.retryAfter === null ? '' : `It says when to come back: in ${outcome.retryAfter} s.`,
      ].filter(Boolean),
      again: true,
    };
  if (outcome.status >= 500)
    return {
      title: 'Something broke behind the glass',
      words: [message || 'The server could not answer.'],
      again: true,
    };
  if (outcome.status >= 400)
    return { title: 'That cannot be asked', words: [message || 'The server did not accept the request.'] };
  return {
    title: 'That is not one of our answers',
    words: ['Something answered, but not with a profile. A proxy may have put its own page in between.'],
    again: true,
  };
}

/** @type {Record<'gone' | 'slow' | 'elsewhere' | 'impossible', (variant: Variant) => Notice>} */
const UNANSWERED = {
  gone: () => ({
    title: 'Nobody answers',
    words: [
      `${location.host} cannot be reached just now. What you typed is kept; try again when it is back.`,
    ],
    again: true,
  }),
  slow: () => ({ title: 'Still no answer', words: [`${location.host} took too long.`], again: true }),
  elsewhere: ({ name, origin, path }) => ({
    title: `Variant ${name.toUpperCase()} lives elsewhere`,
    words: [
      `It answers at ${origin}${path} only, and cannot be reached from here: this page asks nobody but its own host.`,
      'The lines beside it work from a terminal.',
    ],
  }),
  impossible: () => ({
    title: 'A browser cannot ask for that name',
    words: ['It takes a single or double dot for a step in the path. curl with --path-as-is can.'],
  }),
};

/** @param {string} name */
export const clipped = (name) => (name.length > 60 ? `${name.slice(0, 60).toWellFormed()}…` : name);

/** @param {string} one @param {string} two */
function isNear(one, two) {
  const [a, b] = [one, two].map((name) => name.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase().trim());
  if (a === undefined || b === undefined || b === '') return false;
  if (b.length >= 2 && (a.startsWith(b) || b.startsWith(a))) return true;
  return b.length < 40 && distance(a, b) <= (b.length > 4 ? 2 : 1);
}

/** Levenshtein's. @param {string} a @param {string} b */
function distance(a, b) {
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
