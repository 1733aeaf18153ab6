// @ts-check
// A request and its response: the address, status, time and size, the body and the headers.
import { breakable, copyButton, el } from './dom.js';
import { drawJson } from './json.js';
import { isResponse } from './send.js';

/** @typedef {import('./send.js').Outcome} Outcome */
/** @typedef {{ url: string, headers?: Record<string, string> }} ApiRequest */
/** @typedef {(message: string) => void} Announce */

const MAX_RAW_CHARACTERS = 4000;

const FAILURE_WORDS = {
  unreachable: 'No response: the server is not reachable',
  timeout: 'No response in time',
  'other-host': 'Not sent: on another host',
  'dot-segment': 'Not sent: browsers cannot request this name',
};

/** @param {ApiRequest} request @param {Announce} announce */
export function drawRequestLine({ url, headers = {} }, announce) {
  const shown = url.startsWith(location.origin) ? url.slice(location.origin.length) : url;
  const lines = Object.entries(headers).map(([name, value]) => el('span', {}, `${name}: ${value}`));
  return el(
    'p',
    { class: 'request-line' },
    el('code', { class: 'address' }, el('b', {}, 'GET'), ' ', ...breakable(shown), ...lines),
    copyButton('the address', () => url, announce),
  );
}

/** Without an outcome, the request is on its way. @param {Outcome | undefined} outcome @param {(etag: string) => void} onRevalidate */
export function drawStatus(outcome, onRevalidate) {
  const etag = isResponse(outcome) && outcome.status === 200 ? outcome.headers.get('etag') : null;
  return el(
    'p',
    { class: 'status-line' },
    el('span', { class: `dot ${chooseTone(outcome)}` }),
    el('strong', {}, describeStatus(outcome)),
    isResponse(outcome) && el('span', {}, `${formatDuration(outcome.ms)} · ${formatSize(outcome.bytes)}`),
    etag !== null &&
      el(
        'button',
        { type: 'button', class: 'secondary', click: () => onRevalidate(etag) },
        'Send again with this ETag',
      ),
  );
}

/** @param {Outcome | undefined} outcome */
export function describeStatus(outcome) {
  if (outcome === undefined) return 'Loading…';
  return isResponse(outcome) ? `${outcome.status} ${outcome.statusText}`.trim() : FAILURE_WORDS[outcome.kind];
}

/** The body and the headers; nothing without a response. @param {string} name @param {Outcome} outcome @param {Announce} announce */
export function drawResponse(name, outcome, announce) {
  if (!isResponse(outcome)) return [];
  const { text, json, headers } = outcome;
  const type = headers.get('content-type') ?? '';
  const isFile = /^(image|audio|video)\/|\/pdf$/.test(type);
  const body =
    json === undefined
      ? el('pre', { tabindex: '0', role: 'region' }, el('code', {}, text.slice(0, MAX_RAW_CHARACTERS)))
      : drawJson(json);
  body.setAttribute('aria-label', name);
  const copy = copyButton('the body', () => text, announce);
  const rows = [...headers].map(([header, value]) =>
    el('div', {}, el('dt', {}, header), el('dd', {}, value)),
  );
  return [
    isFile && el('p', { class: 'note' }, `The body is a file of the type ${type}.`),
    text !== '' && !isFile && el('figure', { class: 'code' }, el('figcaption', {}, 'Body', copy), body),
    el(
      'details',
      { class: 'fold' },
      el('summary', {}, 'Response headers'),
      el('dl', { class: 'headers' }, ...rows),
    ),
  ].filter((part) => part instanceof Node);
}

/** @param {number} ms */
export const formatDuration = (ms) => (ms < 10 ? `${ms.toFixed(1)} ms` : `${Math.round(ms)} ms`);
/** @param {number} bytes */
const formatSize = (bytes) => (bytes < 1024 ? `${bytes} B` : `${(bytes / 1024).toFixed(1)} KB`);

/** The colour of a status. @param {Outcome | undefined} outcome */
function chooseTone(outcome) {
  if (!isResponse(outcome)) return 'none';
  if (outcome.status < 400) return 'good';
  return outcome.status < 500 ? 'poor' : 'bad';
}
