// @ts-check
// "Try it": sends the request that a form describes, and shows the full response.
import { codeTabs } from '../explorer/code-tabs.js';
import { describeStatus, drawRequestLine, drawResponse, drawStatus } from '../explorer/exchange.js';
import { sendRequest } from '../explorer/send.js';
import { escaped } from '../explorer/snippets.js';

/** @typedef {HTMLInputElement | HTMLSelectElement} Field */

/** @param {HTMLFormElement} form @param {URL} root where the OpenAPI document is */
export function enhanceForm(form, root) {
  const output = /** @type {Element} */ (form.querySelector('.result'));
  const status = /** @type {Element} */ (form.querySelector('[role=status]'));
  /** @param {string} words */
  const announce = (words) => status.replaceChildren(words);
  const name = (form.getAttribute('aria-label') ?? '').replace('Try ', '');
  const code = codeTabs(name, () => requestFor(form, root), announce);
  output.before(code.figure);
  form.addEventListener('input', code.update);
  let pending = new AbortController();

  /** Repeats the request with this ETag. @param {string} etag */
  const revalidate = (etag) => {
    const field = /** @type {HTMLInputElement | null} */ (form.elements.namedItem('If-None-Match'));
    if (field !== null) field.value = etag;
    form.dispatchEvent(new Event('input'));
    form.requestSubmit();
  };

  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    pending.abort();
    const { signal } = (pending = new AbortController());
    form.setAttribute('aria-busy', 'true');
    const request = requestFor(form, root);
    const outcome = await sendRequest(request.url, { ...request, signal }).catch(() => undefined);
    if (outcome === undefined) return;
    form.removeAttribute('aria-busy');
    announce(describeStatus(outcome));
    output.replaceChildren(
      drawRequestLine(request, announce),
      drawStatus(outcome, revalidate),
      ...drawResponse(`Body of the response to ${name}`, outcome, announce),
    );
  });
}

/** @param {HTMLFormElement} form @param {URL} root */
function requestFor(form, root) {
  const { path = '', server = '' } = form.dataset;
  /** @type {Record<string, string>} */
  const headers = {};
  const query = [];
  let filled = path;
  for (const { name, value, required, dataset } of /** @type {NodeListOf<Field>} */ (
    form.querySelectorAll('[data-in]')
  )) {
    if (dataset.in === 'path') filled = filled.replace(`{${name}}`, escaped(value));
    else if (value === '' && !required) continue;
    else if (dataset.in === 'query') query.push(`${escaped(name)}=${escaped(value)}`);
    else headers[name] = value;
  }
  const start = new URL(server, root).href.replace(/\/+$/, '');
  return { url: `${start}${filled}${query.length > 0 ? `?${query.join('&')}` : ''}`, headers };
}
