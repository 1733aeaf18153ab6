// @ts-check
// "Try it": the code follows a form, and the form sends its request and shows the full response among the documented ones.
import { el } from '../explorer/dom.js';
import { describeStatus } from '../explorer/exchange.js';
import { createRequestPanel } from '../explorer/request-panel.js';
import { buildRequest } from '../explorer/snippets.js';

/** @typedef {HTMLInputElement | HTMLSelectElement} Field */

/** @param {HTMLFormElement} form @param {URL} root where the OpenAPI document is */
export function enhanceForm(form, root) {
  const panel = /** @type {Element} */ (form.parentElement);
  const announced = /** @type {Element} */ (form.querySelector('[role=status]'));
  /** @param {string} words */
  const announce = (words) => announced.replaceChildren(words);
  const name = (form.getAttribute('aria-label') ?? '').replace('Try ', '');
  const code = /** @type {Element} */ (panel.querySelector('.languages'));
  const [line, status, response] = [el('div'), el('div'), el('div')];
  const show = addResult(/** @type {Element} */ (panel.querySelector('.statuses')), line, status, response);
  const places = { panel, code, line, status, response };
  const request = createRequestPanel(places, `Body of the response to ${name}`, announce);
  const update = () => request.show(readRequest(form, root));
  update();
  form.addEventListener('input', update);
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    show();
    const outcome = await request.send(readRequest(form, root));
    if (outcome !== undefined) announce(describeStatus(outcome));
  });
}

/** Adds what was sent to the documented responses; the function shows it. @param {Element} statuses @param {...Element} parts */
function addResult(statuses, ...parts) {
  const { name } = /** @type {HTMLInputElement} */ (statuses.querySelector('input'));
  const radio = /** @type {HTMLInputElement} */ (el('input', { type: 'radio', name, value: 'sent' }));
  return () => {
    if (!radio.isConnected) {
      statuses.querySelector('legend')?.after(el('label', {}, radio, el('span', {}, 'Sent')));
      statuses.querySelector('.panels')?.prepend(el('div', { class: 'result' }, ...parts));
    }
    radio.checked = true;
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
