// @ts-check
// "Try it": the code follows a form, and the form sends its request and shows the full response among the documented ones.
import { enhanceCode } from '../explorer/code-tabs.js';
import { el } from '../explorer/dom.js';
import { describeStatus, drawRequestLine, drawResponse, drawStatus } from '../explorer/exchange.js';
import { sendRequest } from '../explorer/send.js';
import { buildRequest } from '../explorer/snippets.js';

/** @typedef {HTMLInputElement | HTMLSelectElement} Field */

/** @param {HTMLFormElement} form @param {URL} root where the OpenAPI document is */
export function enhanceForm(form, root) {
  const exchange = /** @type {Element} */ (form.parentElement);
  const status = /** @type {Element} */ (form.querySelector('[role=status]'));
  /** @param {string} words */
  const announce = (words) => status.replaceChildren(words);
  const name = (form.getAttribute('aria-label') ?? '').replace('Try ', '');
  const languages = /** @type {Element} */ (exchange.querySelector('.languages'));
  const update = enhanceCode(languages, () => readRequest(form, root), announce);
  update();
  form.addEventListener('input', update);
  const show = addPanel(/** @type {Element} */ (exchange.querySelector('.statuses')));
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
    exchange.setAttribute('aria-busy', 'true');
    const request = readRequest(form, root);
    const outcome = await sendRequest(request.url, { ...request, signal }).catch(() => undefined);
    if (outcome === undefined) return;
    exchange.removeAttribute('aria-busy');
    announce(describeStatus(outcome));
    show(
      drawRequestLine(request, announce),
      drawStatus(outcome, revalidate),
      ...drawResponse(`Body of the response to ${name}`, outcome, announce),
    );
  });
}

/** Adds a panel for what was sent; the function shows it. @param {Element} statuses */
function addPanel(statuses) {
  const { name } = /** @type {HTMLInputElement} */ (statuses.querySelector('input'));
  const radio = /** @type {HTMLInputElement} */ (el('input', { type: 'radio', name, value: 'sent' }));
  const panel = el('div', { class: 'result' });
  return (/** @type {Node[]} */ ...parts) => {
    if (!radio.isConnected) {
      statuses.querySelector('legend')?.after(el('label', {}, radio, el('span', {}, 'Sent')));
      statuses.querySelector('.panels')?.prepend(panel);
    }
    radio.checked = true;
    panel.replaceChildren(...parts);
  };
}

/** @param {HTMLFormElement} form @param {URL} root */
function readRequest(form, root) {
  const { path = '', server = '', types = '' } = form.dataset;
  const fields = /** @type {NodeListOf<Field>} */ (form.querySelectorAll('[data-in]'));
  const values = [...fields]
    .filter(({ required, value }) => required || value !== '')
    .map(({ name, value, dataset }) => ({ name, value, in: dataset.in ?? '' }));
  return buildRequest({ path, server, types: types.split(' ') }, values, root.href);
}
