// @ts-check
// The request panel: the request, its response, the JSON, the code to send it, and the headers.
import { buildUrl, isResponse, sendRequest } from './api.js';
import { codeTabs } from './code-tabs.js';
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

/** Without an outcome, the request is on its way. @param {Request} request @param {Outcome | undefined} outcome @param {Announce} announce */
export function drawSummary(request, outcome, announce) {
  const url = buildUrl(request.variant, request.user, request.resource);
  const { pathname, search, origin } = new URL(url);
  const shown = origin === location.origin ? `${pathname}${search}` : url;
  const response = outcome !== undefined && isResponse(outcome) ? outcome : undefined;
  return el(
    'div',
    { class: 'summary' },
    el(
      'div',
      { class: 'request-line' },
      el('code', { class: 'address' }, el('b', {}, 'GET'), ' ', ...breakable(shown)),
      copyButton('the address', () => url, announce),
    ),
    pairList(`facts ${outcome === undefined ? 'none' : chooseTone(outcome)}`, [
      ['Status', outcome === undefined ? 'Loading…' : describeStatus(outcome)],
      ['Time', outcome !== undefined && outcome.ms > 0 ? formatDuration(outcome.ms) : '–'],
      ['Size', response === undefined ? '–' : formatSize(response.bytes)],
    ]),
  );
}

/** The headers, folded, and a button to revalidate. @param {Request} request @param {Outcome} outcome */
export function drawDetails(request, outcome) {
  if (!isResponse(outcome)) return el('div');
  const { status, headers, etag } = outcome;
  return el(
    'div',
    {},
    headers.length > 0 &&
      el('details', { class: 'fold' }, el('summary', {}, 'Response headers'), pairList('headers', headers)),
    status === 200 && etag !== null && drawRevalidation(request, etag),
  );
}

/** @param {Outcome} outcome */
function describeStatus(outcome) {
  if (!isResponse(outcome)) return FAILURE_STATUS[outcome.kind];
  return `${outcome.status} ${outcome.statusText}`.trim();
}

/** The colour of a status. @param {Outcome} outcome */
export function chooseTone(outcome) {
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
      el('span', { class: `dot ${modified ? 'poor' : chooseTone(outcome)}` }),
      el('strong', {}, describeStatus(outcome)),
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
  const noun = variant.family === 'microblog' ? 'posts' : 'shots';
  const items = variant.collection === noun ? `{ ${noun} }` : `{ ${variant.collection}: ${noun} }`;
  const target = resource === 'profile' ? 'profile' : items;
  return codeTabs('The request', () => ({ url: buildUrl(variant, user, resource), target }), announce).figure;
}

/** @param {Outcome} outcome @param {Announce} announce */
export function drawBody(outcome, announce) {
  if (!isResponse(outcome) || outcome.text === '') return el('div');
  const raw = outcome.json === undefined;
  const copy = copyButton('the body', () => outcome.text, announce);
  const text = el('code', {}, outcome.text.slice(0, MAX_RAW_CHARACTERS));
  return el(
    'figure',
    { class: 'code' },
    el('figcaption', {}, raw ? 'Body' : 'JSON', copy),
    raw ? el('pre', { tabindex: '0', role: 'region', 'aria-label': 'Body' }, text) : drawJson(outcome.json),
  );
}
