// @ts-check
// The request panel: the request, its response, the code to send it, and the JSON.
import { isResponse, sendRequest, urlOf } from './api.js';
import { breakable, copyButton, el, pairList } from './dom.js';
import { drawJson } from './json.js';

/** @typedef {import('./api.js').Outcome} Outcome */
/** @typedef {import('./api.js').Variant} Variant */
/** @typedef {import('./api.js').Resource} Resource */
/** @typedef {{ variant: Variant, user: string, resource: Resource }} Request */
/** @typedef {(message: string) => void} Announce */

const MAX_RAW_CHARACTERS = 4000;

/** @param {number} ms */
export const formatDuration = (ms) => (ms < 10 ? `${ms.toFixed(1)} ms` : `${Math.round(ms)} ms`);
/** @param {number} bytes */
const formatSize = (bytes) => (bytes < 1024 ? `${bytes} B` : `${(bytes / 1024).toFixed(1)} KB`);

const FAILURE_STATUS = {
  unreachable: 'No response',
  timeout: 'Timed out',
  'other-host': 'Not sent',
  'dot-segment': 'Not sent',
};

/** @param {Request} request @param {Outcome} outcome @param {Announce} announce */
export function drawSummary(request, outcome, announce) {
  const url = urlOf(request.variant, request.user, request.resource);
  const { pathname, search, origin } = new URL(url);
  const shown = origin === location.origin ? `${pathname}${search}` : url;
  const response = isResponse(outcome) ? outcome : undefined;
  const etag = response?.status === 200 ? response.etag : null;
  return el(
    'div',
    { class: 'summary' },
    el(
      'div',
      { class: 'line' },
      el('code', { class: 'address' }, el('b', {}, 'GET'), ' ', ...breakable(shown)),
      copyButton('the address', () => url, announce),
    ),
    pairList(`facts ${toneOf(outcome)}`, [
      ['Status', statusOf(outcome)],
      ['Time', outcome.ms > 0 ? formatDuration(outcome.ms) : '–'],
      ['Size', response === undefined ? '–' : formatSize(response.bytes)],
    ]),
    response !== undefined && response.headers.length > 0 && pairList('headers', response.headers),
    etag !== null && etag !== undefined && drawRevalidation(request, etag),
  );
}

/** @param {Outcome} outcome */
function statusOf(outcome) {
  if (!isResponse(outcome)) return FAILURE_STATUS[outcome.kind];
  return `${outcome.status} ${outcome.statusText}`.trim();
}

/** The colour of a status. @param {Outcome} outcome */
export function toneOf(outcome) {
  if (!isResponse(outcome)) return 'none';
  if (outcome.status < 400) return 'good';
  return outcome.status < 500 ? 'poor' : 'bad';
}

/** A button that repeats the request with If-None-Match. @param {Request} request @param {string} etag */
function drawRevalidation({ variant, user, resource }, etag) {
  const result = el('p', { class: 'again', role: 'status' });
  async function revalidate() {
    button.setAttribute('aria-disabled', 'true');
    const outcome = await sendRequest(variant, user, resource, { etag });
    button.removeAttribute('aria-disabled');
    const modified = isResponse(outcome) && outcome.status !== 304;
    result.replaceChildren(
      el('span', { class: `dot ${modified ? 'poor' : toneOf(outcome)}` }),
      el('strong', {}, statusOf(outcome)),
      ` ${revalidationResult(outcome)}`,
    );
  }
  const button = el('button', { type: 'button', class: 'secondary', click: revalidate }, 'Revalidate');
  return el('div', { class: 'revalidation' }, button, result);
}

/** @param {Outcome} outcome */
function revalidationResult(outcome) {
  if (!isResponse(outcome)) return '· the shown response may be out of date';
  const cost = `${formatDuration(outcome.ms)} · ${formatSize(outcome.bytes)}`;
  return `${cost} · ${outcome.status === 304 ? 'your copy is current' : 'it has changed; press Show to reload'}`;
}

/** @param {Request} request @param {Announce} announce */
export function drawSnippets({ variant, user, resource }, announce) {
  const url = urlOf(variant, user, resource);
  const noun = variant.family === 'microblog' ? 'posts' : 'shots';
  const items = variant.collection === noun ? `{ ${noun} }` : `{ ${variant.collection}: ${noun} }`;
  const target = resource === 'profile' ? 'profile' : items;
  const script = `const response = await fetch(\n  '${url}',\n);\nconst ${target} = await response.json();`;
  return el(
    'div',
    { class: 'snippets' },
    codeBlock('curl', `curl -i '${url}'`, announce),
    codeBlock('fetch', script, announce),
  );
}

/** @param {string} name @param {string} code @param {Announce} announce */
export function codeBlock(name, code, announce) {
  const lines = code.split('\n').map((line) => el('span', { class: 'code-line' }, ...breakable(line)));
  return el(
    'figure',
    { class: 'code' },
    el(
      'figcaption',
      {},
      name,
      copyButton(`the ${name} lines`, () => code, announce),
    ),
    el('pre', { tabindex: '0', role: 'region', 'aria-label': `${name} lines` }, el('code', {}, ...lines)),
  );
}

/** @param {Outcome} outcome @param {Announce} announce */
export function drawBody(outcome, announce) {
  if (!isResponse(outcome) || outcome.text === '') return el('div');
  const raw = outcome.json === undefined;
  return el(
    'figure',
    { class: 'code' },
    el(
      'figcaption',
      {},
      raw ? 'Body' : 'JSON',
      copyButton('the body', () => outcome.text, announce),
    ),
    raw
      ? el(
          'pre',
          { tabindex: '0', role: 'region', 'aria-label': 'Body' },
          el('code', {}, outcome.text.slice(0, MAX_RAW_CHARACTERS)),
        )
      : drawJson(outcome.json),
  );
}
