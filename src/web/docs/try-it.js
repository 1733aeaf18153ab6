// @ts-check
// "Try it": a form from an operation's parameters, the request it makes, and everything that comes back.
import { copyButton, el } from '../explorer/dom.js';
import { drawBody, tone } from './tables.js';

/** @typedef {import('./document.js').Operation} Operation */
/** @typedef {import('./document.js').Parameter} Parameter */

const PATIENCE = 15_000;

/** @param {Operation} operation */
export function drawTry(operation) {
  const { operationId, parameters, path } = operation;
  const result = el('div', { class: 'result' });
  const said = el('p', { class: 'unseen', role: 'status' });
  const fields = parameters.map((parameter) => drawField(operationId, parameter));
  const button = el('button', { type: 'submit' }, 'Send');
  const form = /** @type {HTMLFormElement} */ (
    el(
      'form',
      { class: 'try', 'aria-label': `Try GET ${path}`, autocomplete: 'off', novalidate: true },
      el('h4', {}, 'Try it'),
      ...fields,
      button,
      said,
      result,
    )
  );
  let pending = new AbortController();

  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    pending.abort();
    const mine = new AbortController();
    pending = mine;
    form.setAttribute('aria-busy', 'true');
    const drawn = await send(operation, valuesOf(form), mine.signal, ask, (words) =>
      said.replaceChildren(words),
    );
    if (mine.signal.aborted) return;
    form.removeAttribute('aria-busy');
    said.replaceChildren(drawn.words);
    result.replaceChildren(...drawn.nodes);
  });

  /** Asks again, as a client does that has an answer already. @param {string} etag */
  function ask(etag) {
    const field = /** @type {HTMLInputElement | null} */ (form.elements.namedItem('If-None-Match'));
    if (field !== null) field.value = etag;
    form.requestSubmit();
  }
  return form;
}

/** @param {HTMLFormElement} form @returns {Record<string, string>} */
const valuesOf = (form) =>
  Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value)]));

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

/** The address and headers for these values; a server's address is relative to the document's own. @param {Operation} operation @param {Record<string, string>} values */
function requestFor({ path, parameters, servers }, values) {
  const server = new URL(servers[0]?.url ?? '.', new URL('openapi.json', document.baseURI)).href.replace(
    /\/+$/,
    '',
  );
  /** @type {Record<string, string>} */
  const headers = {};
  const query = [];
  let filled = path;
  for (const { name, in: place, required } of parameters) {
    const value = (values[name] ?? '').toWellFormed();
    if (place === 'path') filled = filled.replace(`{${name}}`, encodeURIComponent(value));
    else if (value === '' && !required) continue;
    else if (place === 'query') query.push(`${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
    else headers[name] = value;
  }
  return { address: `${server}${filled}${query.length > 0 ? `?${query.join('&')}` : ''}`, headers };
}

/**
 * @param {Operation} operation
 * @param {Record<string, string>} values
 * @param {AbortSignal} signal
 * @param {(etag: string) => void} askAgain
 * @param {(words: string) => void} say
 * @returns {Promise<{ words: string, nodes: Node[] }>}
 */
async function send(operation, values, signal, askAgain, say) {
  const { address, headers } = requestFor(operation, values);
  const shown = address.startsWith(location.origin) ? address.slice(location.origin.length) : address;
  const lines = Object.entries(headers).map(([name, value]) => el('span', {}, `${name}: ${value}`));
  const asked = el(
    'p',
    { class: 'line' },
    el('code', {}, el('b', {}, 'GET'), ` ${shown}`, ...lines),
    copyButton('the address', () => address, say),
  );
  // A browser takes these for steps in the path, however they are escaped.
  if (
    operation.parameters.some(
      ({ name, in: place }) => place === 'path' && /^\.{1,2}$/.test(values[name] ?? ''),
    )
  )
    return unanswered(asked, 'A browser cannot ask for a user of this name; other clients can.');

  const started = performance.now();
  try {
    const patience = AbortSignal.timeout(PATIENCE);
    const response = await fetch(address, {
      headers,
      cache: 'no-store',
      signal: AbortSignal.any([signal, patience]),
    });
    const text = await response.text();
    const ms = performance.now() - started;
    const { status } = response;
    const etag = response.headers.get('etag');
    const words = `${status} ${response.statusText}`.trim();
    const facts = `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms · ${new TextEncoder().encode(text).length} bytes`;
    const again =
      status === 200 &&
      etag !== null &&
      el(
        'button',
        { type: 'button', class: 'plain', click: () => askAgain(etag) },
        'Ask again with this ETag',
      );
    return {
      words: `${words}, in ${Math.ceil(ms)} ms`,
      nodes: [
        asked,
        el(
          'p',
          { class: 'came' },
          el('span', { class: `dot ${tone(String(status))}` }),
          el('strong', {}, words),
          ` ${facts}`,
          again,
        ),
        ...drawHeaders([...response.headers]),
        drawText(operation.operationId, text),
      ],
    };
  } catch {
    return unanswered(
      asked,
      navigator.onLine
        ? 'No answer: the server is not there, or something on the way is.'
        : 'No answer: this browser is offline.',
    );
  }
}

const TELLING = /^(etag|cache-control|content-type|retry-after|ratelimit)/;

/** Those that tell something of this answer, and the rest folded away. @param {Array<[string, string]>} headers */
function drawHeaders(headers) {
  const draw = (/** @type {Array<[string, string]>} */ some) =>
    el(
      'dl',
      { class: 'headers' },
      ...some.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))),
    );
  const rest = headers.filter(([name]) => !TELLING.test(name));
  return [
    draw(headers.filter(([name]) => TELLING.test(name))),
    el('details', { class: 'fold' }, el('summary', {}, `${rest.length} more headers`), draw(rest)),
  ];
}

/** @param {Node} asked @param {string} words */
const unanswered = (asked, words) => ({
  words,
  nodes: [asked, el('p', { class: 'came' }, el('span', { class: 'dot none' }), el('strong', {}, words))],
});

/** @param {string} operationId @param {string} text */
function drawText(operationId, text) {
  if (text === '') return el('p', { class: 'note' }, 'There is no body.');
  const name = `Body of the answer to ${operationId}`;
  try {
    return drawBody(name, JSON.parse(text));
  } catch {
    return el(
      'pre',
      { tabindex: '0', role: 'region', 'aria-label': name },
      el('code', {}, text.slice(0, 4000)),
    );
  }
}
