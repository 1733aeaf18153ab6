// @ts-check
// JSON as a coloured, collapsible tree. Values are shown as JSON text, so markup in them has no effect.
import { el } from './dom.js';

/** Characters that are invisible or change the direction of the text around them. */
const INVISIBLE = /[\u007f-\u00a0\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\uffff]/g;

/** @param {unknown} value */
const stringify = (value) =>
  JSON.stringify(value).replace(
    INVISIBLE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** @param {unknown} value */
export function drawJson(value) {
  return el(
    'div',
    { class: 'json', role: 'region', 'aria-label': 'JSON body', tabindex: '0' },
    drawNode(value, { depth: 0, last: true, open: true }),
  );
}

/** @typedef {{ key?: string, depth: number, last: boolean, open: boolean }} Position */

/** @param {unknown} value @param {Position} position @returns {HTMLElement} */
function drawNode(value, { key, depth, last, open }) {
  const comma = last ? '' : ',';
  const name = key === undefined ? [] : [el('span', { class: 'key' }, stringify(key)), ': '];
  if (typeof value !== 'object' || value === null) {
    const kind = typeof value === 'string' ? 'string' : 'scalar';
    return el('div', { class: 'member' }, ...name, el('span', { class: kind }, stringify(value)), comma);
  }

  const list = Array.isArray(value);
  const entries = list
    ? value.map((entry) => /** @type {const} */ ([undefined, entry]))
    : Object.entries(value);
  const [opening, closing] = list ? ['[', ']'] : ['{', '}'];
  if (entries.length === 0) return el('div', { class: 'member' }, ...name, `${opening}${closing}${comma}`);
  const children = entries.map(([inner, entry], index) =>
    drawNode(entry, {
      ...(inner !== undefined && { key: inner }),
      depth: depth + 1,
      last: index === entries.length - 1,
      open: depth < 1 || index === 0,
    }),
  );
  const preview = el('span', { class: 'folded' }, summarise(value, entries.length), `${closing}${comma}`);
  return el(
    'details',
    { class: 'member', open },
    el('summary', {}, ...name, opening, preview),
    el('div', { class: 'inner' }, ...children),
    el('div', { class: 'closing' }, `${closing}${comma}`),
  );
}

/** A short preview of a collapsed node. @param {object} value @param {number} count */
function summarise(value, count) {
  if (Array.isArray(value)) return ` ${count} `;
  const { id, title, post_details: details } = /** @type {Record<string, unknown>} */ (value);
  const label = typeof title === 'string' && title !== '' ? title : details;
  const parts = [id, label]
    .filter((part) => typeof part === 'string')
    .map((part) => stringify(String(part).slice(0, 36)));
  return parts.length > 0 ? ` ${parts.join(' ')} … ` : ` ${count} members `;
}
