// @ts-check
// Of `serve --rehearse` only: buttons that send the shown request again, slow or failing.
import { byId, el } from './explorer/dom.js';

const WISHES = {
  'delay 2 s': 'delay=2000',
  404: 'status=404',
  410: 'status=410',
  429: 'status=429',
  500: 'status=500',
  503: 'status=503',
  empty: 'empty',
  reset: 'reset',
};

const buttons = Object.entries(WISHES).map(([name, wish]) =>
  el('button', { type: 'button', class: 'secondary', click: () => send(wish) }, name),
);

/** @param {string} wish */
const send = (wish) => document.dispatchEvent(new CustomEvent('rehearse', { detail: wish }));

byId('summary').before(
  el('fieldset', { class: 'rehearsal' }, el('legend', {}, 'Rehearse: send it once with'), ...buttons),
);
