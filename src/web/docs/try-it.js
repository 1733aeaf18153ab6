// @ts-check
// "Try it": a form built from an operation's parameters, the request it sends, and the full response.
import { codeTabs } from '../explorer/code-tabs.js';
import { breakable, copyButton, el, pairList } from '../explorer/dom.js';
import { escaped } from '../explorer/snippets.js';
import { drawBody, tone } from './tables.js';

/** @typedef {import('./openapi.js').Operation} Operation */
/** @typedef {import('./openapi.js').Parameter} Parameter */
/** @typedef {{ url: string, headers: Record<string, string> }} ApiRequest */
/** @typedef {{ summary: string, nodes: Node[] }} Result what a screen reader announces, and what is shown */

const TIMEOUT_MS = 15_000;
const MAX_RAW_CHARACTERS = 4000;

/** @param {Operation} operation */
export function drawTry(operation) {
  const { operationId, parameters, path } = operation;
  const output = el('div', { class: 'result' });
  const status = el('p', { class: 'visually-hidden', role: 'status' });
  /** @param {string} words */
  const announce = (words) => status.replaceChildren(words);
  const form = /** @type {HTMLFormElement} */ (
    el(
      'form',
      { class: 'try', 'aria-label': `Try GET ${path}`, autocomplete: 'off', novalidate: true },
      el('h4', {}, 'Try it'),
      ...parameters.map((parameter) => drawField(operationId, parameter)),
      el('button', { type: 'submit' }, 'Send'),
      status,
      output,
    )
  );
  const code = codeTabs(`GET ${path}`, () => requestFor(operation, valuesOf(form)), announce);
  output.before(code.figure);
  form.addEventListener('input', code.update);
  let pending = new AbortController();

  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    pending.abort();
    const { signal } = (pending = new AbortController());
    form.setAttribute('aria-busy', 'true');
    const result = await send(operation, form, signal, announce);
    if (signal.aborted) return;
    form.removeAttribute('aria-busy');
    announce(result.summary);
    output.replaceChildren(...result.nodes);
  });
  return form;
}

/** @param {string} operationId @param {Parameter} parameter */
function drawField(operationId, { name, required, schema, examples = {} }) {
  const id = `${operationId}-${name}`;
  const label = el(
    'label',
    { for: id },
    el('code', {}, name),
    required ? '' : el('span', { class: 'note' }, 'optional'),
  );
  if (schema.enum !== undefined) {
    const options = ['', ...schema.enum].map((value) =>
      el('option', { value }, value === '' ? '(absent)' : value),
    );
    return el('div', { class: 'field' }, label, el('select', { id, name }, ...options));
  }
  const values = Object.values(examples).map(({ value }) => String(value));
  const list = el('datalist', { id: `${id}-examples` }, ...values.map((value) => el('option', { value })));
  const input = el('input', {
    id,
    name,
    value: required ? (values[0] ?? '') : '',
    list: values.length > 0 && `${id}-examples`,
    dir: 'auto',
    autocapitalize: 'none',
    spellcheck: 'false',
  });
  return el('div', { class: 'field' }, label, input, values.length > 0 && list);
}

/** @param {HTMLFormElement} form @returns {Record<string, string>} */
const valuesOf = (form) =>
  Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value)]));

/** @param {Operation} operation @param {Record<string, string>} values @returns {ApiRequest} */
function requestFor({ path, parameters, servers }, values) {
  // The document's server URLs are relative to the document itself.
  const documentUrl = new URL('openapi.json', document.baseURI);
  const server = new URL(servers[0]?.url ?? '.', documentUrl).href.replace(/\/+$/, '');
  /** @type {Record<string, string>} */
  const headers = {};
  const query = [];
  let filled = path;
  for (const { name, in: place, required } of parameters) {
    const value = values[name] ?? '';
    if (place === 'path') filled = filled.replace(`{${name}}`, escaped(value));
    else if (value === '' && !required) continue;
    else if (place === 'query') query.push(`${escaped(name)}=${escaped(value)}`);
    else headers[name] = value;
  }
  return { url: `${server}${filled}${query.length > 0 ? `?${query.join('&')}` : ''}`, headers };
}

/**
 * @param {Operation} operation @param {HTMLFormElement} form @param {AbortSignal} signal
 * @param {(words: string) => void} announce @returns {Promise<Result>}
 */
async function send(operation, form, signal, announce) {
  const values = valuesOf(form);
  const request = requestFor(operation, values);
  const line = drawRequestLine(request, announce);
  if (hasDotSegment(operation, values)) return failure(line, 'Browsers cannot request this user name.');

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
        drawStatusLine(response, words, factsOf(ms, text), form),
        ...drawHeaders([...response.headers]),
        drawContent(operation.operationId, response, text),
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

/** Browsers resolve . and .. as path steps, even when they are escaped. @param {Operation} operation @param {Record<string, string>} values */
const hasDotSegment = ({ parameters }, values) =>
  parameters.some(({ name, in: place }) => place === 'path' && /^\.{1,2}$/.test(values[name] ?? ''));

/** @param {number} ms @param {string} text */
const factsOf = (ms, text) =>
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

/** @param {string} operationId @param {Response} response @param {string} text */
function drawContent(operationId, { headers }, text) {
  const type = headers.get('content-type') ?? '';
  if (!/^(image|audio|video)|pdf$/.test(type)) return drawText(operationId, text);
  return el('p', { class: 'note' }, `The body is a file of the type ${type}.`);
}

/** @param {string} operationId @param {string} text */
function drawText(operationId, text) {
  if (text === '') return el('p', { class: 'note' }, 'The response has no body.');
  const name = `Body of the response to ${operationId}`;
  try {
    return drawBody(name, JSON.parse(text));
  } catch {
    return el(
      'pre',
      { tabindex: '0', role: 'region', 'aria-label': name },
      el('code', {}, text.slice(0, MAX_RAW_CHARACTERS)),
    );
  }
}
