// @ts-check
// The label beside the case: the request, what came of it, how to make it elsewhere, and the JSON.
import { addressOf, ask, isAnswer } from './asking.js';
import { copyButton, el } from './dom.js';
import { drawJson } from './json.js';

/** @typedef {import('./asking.js').Outcome} Outcome */
/** @typedef {import('./asking.js').Variant} Variant */
/** @typedef {import('./asking.js').Part} Part */
/** @typedef {{ variant: Variant, user: string, part: Part }} Asked */

/** @param {number} ms */
export const duration = (ms) => (ms < 10 ? `${ms.toFixed(1)} ms` : `${Math.round(ms)} ms`);
/** @param {number} bytes */
export const size = (bytes) => (bytes < 1024 ? `${bytes} B` : `${(bytes / 1024).toFixed(1)} KB`);

const UNANSWERED = {
  gone: 'No answer',
  slow: 'No answer in time',
  elsewhere: 'Not asked',
  impossible: 'Not asked',
};

/** @param {Asked} asked @param {Outcome} outcome @param {(message: string) => void} say */
export function drawAsked({ variant, user, part }, outcome, say) {
  const address = addressOf(variant, user, part);
  const { pathname, search, origin } = new URL(address);
  const shown = origin === location.origin ? `${pathname}${search}` : address;
  const again = el('p', { class: 'again', role: 'status' });
  const tone = !isAnswer(outcome)
    ? 'none'
    : outcome.status < 400
      ? 'good'
      : outcome.status < 500
        ? 'poor'
        : 'bad';
  const facts = [
    ['Status', isAnswer(outcome) ? `${outcome.status} ${outcome.phrase}`.trim() : UNANSWERED[outcome.kind]],
    ['Time', outcome.ms > 0 ? duration(outcome.ms) : '–'],
    ['Size', isAnswer(outcome) ? size(outcome.bytes) : '–'],
  ];
  const headers = isAnswer(outcome) ? outcome.headers : [];
  const etag = isAnswer(outcome) && outcome.status === 200 ? outcome.etag : null;

  async function revalidate() {
    if (etag === null) return;
    button.setAttribute('aria-disabled', 'true');
    const second = await ask(variant, user, part, { etag });
    button.removeAttribute('aria-disabled');
    const [dot, words] = !isAnswer(second)
      ? ['none', 'No answer: the copy you have is all there is just now.']
      : second.status === 304
        ? ['good', `${duration(second.ms)} · ${size(second.bytes)} · the copy you have is current`]
        : ['poor', `${duration(second.ms)} · ${size(second.bytes)} · it has changed: show it again`];
    const status = isAnswer(second) ? `${second.status} ${second.phrase}` : '';
    again.replaceChildren(
      el('span', { class: `dot ${dot}` }),
      status && el('strong', {}, status),
      ` ${words}`,
    );
  }
  const button = el('button', { type: 'button', class: 'plain', click: revalidate }, 'Revalidate');

  return el(
    'div',
    { class: 'asked' },
    el(
      'div',
      { class: 'line' },
      el('code', { class: 'address' }, el('b', {}, 'GET'), ` ${shown}`),
      copyButton('the address', () => address, say),
    ),
    el(
      'dl',
      { class: `facts ${tone}` },
      ...facts.map(([name, value]) => el('div', {}, el('dt', {}, name ?? ''), el('dd', {}, value ?? ''))),
    ),
    headers.length > 0 &&
      el(
        'dl',
        { class: 'headers' },
        ...headers.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))),
      ),
    etag !== null && el('div', { class: 'revalidation' }, button, again),
  );
}

/** @param {Asked} asked @param {(message: string) => void} say */
export function drawCode({ variant, user, part }, say) {
  const address = addressOf(variant, user, part);
  const name = part === 'profile' ? 'profile' : variant.name === 'a' ? 'posts' : 'shots';
  const member = { a: 'posts', b: 'Shots', c: 'Posts' }[variant.name];
  const kept = part === 'profile' ? name : member === name ? `{ ${name} }` : `{ ${member}: ${name} }`;
  return el(
    'div',
    { class: 'codes' },
    codeBlock('curl', `curl -i '${address}'`, say),
    codeBlock(
      'fetch',
      `const response = await fetch(\n  '${address}',\n);\nconst ${kept} = await response.json();`,
      say,
    ),
  );
}

/** @param {string} name @param {string} code @param {(message: string) => void} say */
export function codeBlock(name, code, say) {
  return el(
    'figure',
    { class: 'code' },
    el(
      'figcaption',
      {},
      name,
      copyButton(`the ${name} lines`, () => code, say),
    ),
    el(
      'pre',
      { tabindex: '0', role: 'region', 'aria-label': `${name} lines` },
      el('code', {}, ...code.split('\n').map((line) => el('span', { class: 'code-line' }, line))),
    ),
  );
}

/** @param {Outcome} outcome @param {(message: string) => void} say */
export function drawBody(outcome, say) {
  if (!isAnswer(outcome) || outcome.text === '') return el('div');
  return el(
    'figure',
    { class: 'code' },
    el(
      'figcaption',
      {},
      outcome.json === undefined ? 'Body' : 'JSON',
      copyButton('the body', () => outcome.text, say),
    ),
    outcome.json === undefined
      ? el(
          'pre',
          { tabindex: '0', role: 'region', 'aria-label': 'Body' },
          el('code', {}, outcome.text.slice(0, 4000)),
        )
      : drawJson(outcome.json),
  );
}
