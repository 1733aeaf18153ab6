// @ts-check
// "Try it": sends the request that a form describes, and shows the full response.
import { codeTabs } from '../explorer/code-tabs.js';
import { breakable, copyButton, el, pairList } from '../explorer/dom.js';
import { drawJson } from '../explorer/json.js';
import { escaped } from '../explorer/snippets.js';

/** @typedef {{ url: string, headers: Record<string, string> }} ApiRequest */
/** @typedef {{ summary: string, nodes: Node[] }} Result what a screen reader announces, and what is shown */
/** @typedef {HTMLInputElement | HTMLSelectElement} Field */

const TIMEOUT_MS = 15_000;
const MAX_RAW_CHARACTERS = 4000;

/** @param {HTMLFormElement} form @param {URL} root where the OpenAPI document is */
export function enhanceForm(form, root) {
  const output = /** @type {Element} */ (form.querySelector('.result'));
  const status = /** @type {Element} */ (form.querySelector('[role=status]'));
  /** @param {string} words */
  const announce = (words) => status.replaceChildren(words);
  const code = codeTabs(formName(form), () => requestFor(form, root), announce);
  output.before(code.figure);
  form.addEventListener('input', code.update);
  let pending = new AbortController();

  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    pending.abort();
    const { signal } = (pending = new AbortController());
    form.setAttribute('aria-busy', 'true');
    const result = await send(form, requestFor(form, root), signal, announce);
    if (signal.aborted) return;
    form.removeAttribute('aria-busy');
    announce(result.summary);
    output.replaceChildren(...result.nodes);
  });
}

/** The request as a heading names it. @param {HTMLFormElement} form */
const formName = (form) => (form.getAttribute('aria-label') ?? '').replace('Try ', '');

/** @param {HTMLFormElement} form */
const listFields = (form) => /** @type {NodeListOf<Field>} */ (form.querySelectorAll('[data-in]'));

/** @param {HTMLFormElement} form @param {URL} root @returns {ApiRequest} */
function requestFor(form, root) {
  const { path = '', server = '' } = form.dataset;
  /** @type {Record<string, string>} */
  const headers = {};
  const query = [];
  let filled = path;
  for (const { name, value, required, dataset } of listFields(form)) {
    if (dataset.in === 'path') filled = filled.replace(`{${name}}`, escaped(value));
    else if (value === '' && !required) continue;
    else if (dataset.in === 'query') query.push(`${escaped(name)}=${escaped(value)}`);
    else headers[name] = value;
  }
  const start = new URL(server, root).href.replace(/\/+$/, '');
  return { url: `${start}${filled}${query.length > 0 ? `?${query.join('&')}` : ''}`, headers };
}

/**
 * @param {HTMLFormElement} form @param {ApiRequest} request @param {AbortSignal} signal
 * @param {(words: string) => void} announce @returns {Promise<Result>}
 */
async function send(form, request, signal, announce) {
  const line = drawRequestLine(request, announce);
  if (hasDotSegment(form)) return failure(line, 'Browsers cannot request this user name.');

  const started = performance.now();
  try {
    const response = await fetch(request.url, {
      headers: request.headers,
      cache: 'no-store',
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    const text = await response.text();
    const ms = performance.now() - started;
    const words = `${response.status} ${response.statusText}`.trim();
    return {
      summary: `${words}, in ${Math.ceil(ms)} ms`,
      nodes: [
        line,
        drawStatusLine(response, words, listFacts(ms, text), form),
        ...drawHeaders([...response.headers]),
        drawContent(`Body of the response to ${formName(form)}`, response, text),
      ],
    };
  } catch {
    return failure(
      line,
      navigator.onLine
        ? 'No response: the server is not reachable.'
        : 'No response: this browser is offline.',
    );
  }
}

/** Browsers resolve . and .. as path steps, even when they are escaped. @param {HTMLFormElement} form */
const hasDotSegment = (form) =>
  [...listFields(form)].some(({ value, dataset }) => dataset.in === 'path' && /^\.{1,2}$/.test(value));

/** @param {number} ms @param {string} text */
const listFacts = (ms, text) =>
  `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms · ${new TextEncoder().encode(text).length} bytes`;

/** @param {ApiRequest} request @param {(words: string) => void} announce */
function drawRequestLine({ url, headers }, announce) {
  const shown = url.startsWith(location.origin) ? url.slice(location.origin.length) : url;
  const lines = Object.entries(headers).map(([name, value]) => el('span', {}, `${name}: ${value}`));
  return el(
    'p',
    { class: 'line' },
    el('code', {}, el('b', {}, 'GET'), ' ', ...breakable(shown), ...lines),
    copyButton('the address', () => url, announce),
  );
}

/** @param {Response} response @param {string} words @param {string} facts @param {HTMLFormElement} form */
function drawStatusLine({ status, headers }, words, facts, form) {
  const etag = headers.get('etag');
  /** Repeats the request with If-None-Match. */
  const revalidate = () => {
    const field = /** @type {HTMLInputElement | null} */ (form.elements.namedItem('If-None-Match'));
    if (field !== null) field.value = etag ?? '';
    form.dispatchEvent(new Event('input'));
    form.requestSubmit();
  };
  return el(
    'p',
    { class: 'status-line' },
    el('span', { class: `dot ${tone(String(status))}` }),
    el('strong', {}, words),
    ` ${facts}`,
    status === 200 &&
      etag !== null &&
      el('button', { type: 'button', class: 'secondary', click: revalidate }, 'Send again with this ETag'),
  );
}

const NOTABLE = /^(etag|cache-control|content-type|retry-after|ratelimit)/;

/** The notable headers, and a fold with the others. @param {Array<[string, string]>} headers */
function drawHeaders(headers) {
  const others = headers.filter(([name]) => !NOTABLE.test(name));
  return [
    pairList(
      'headers',
      headers.filter(([name]) => NOTABLE.test(name)),
    ),
    el(
      'details',
      { class: 'fold' },
      el('summary', {}, `${others.length} more headers`),
      pairList('headers', others),
    ),
  ];
}

/** @param {Node} line @param {string} words @returns {Result} */
const failure = (line, words) => ({
  summary: words,
  nodes: [
    line,
    el('p', { class: 'status-line' }, el('span', { class: 'dot none' }), el('strong', {}, words)),
  ],
});

/** @param {string} name @param {Response} response @param {string} text */
function drawContent(name, { headers }, text) {
  const type = headers.get('content-type') ?? '';
  if (/^(image|audio|video)|pdf$/.test(type))
    return el('p', { class: 'note' }, `The body is a file of the type ${type}.`);
  if (text === '') return el('p', { class: 'note' }, 'The response has no body.');
  const body = drawBody(text);
  body.setAttribute('aria-label', name);
  return body;
}

/** @param {string} text */
function drawBody(text) {
  try {
    return drawJson(JSON.parse(text));
  } catch {
    return el('pre', { tabindex: '0', role: 'region' }, el('code', {}, text.slice(0, MAX_RAW_CHARACTERS)));
  }
}

/** @param {string} status */
function tone(status) {
  if (status < '400') return 'good';
  return status < '500' ? 'poor' : 'bad';
}
