// @ts-check
// JSON, coloured and folded. Every value is written as it would stand in the file, so nothing in it can act.
import { el } from './dom.js';

/** What would move the text around it, or hide. */
const UNRULY = /[\u007f-\u00a0\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\uffff]/g;

/** @param {unknown} value */
const written = (value) =>
  JSON.stringify(value).replace(UNRULY, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** @param {unknown} value */
export function drawJson(value) {
  return el(
    'div',
    { class: 'json', role: 'region', 'aria-label': 'JSON body', tabindex: '0' },
    node(value, undefined, 0, true, true),
  );
}

/** @param {unknown} value @param {string | undefined} key @param {number} depth @param {boolean} last @param {boolean} open */
function node(value, key, depth, last, open) {
  const comma = last ? '' : ',';
  const name = key === undefined ? undefined : [el('span', { class: 'key' }, written(key)), ': '];
  if (typeof value !== 'object' || value === null)
    return el(
      'div',
      { class: 'member' },
      ...(name ?? []),
      el('span', { class: typeof value === 'string' ? 'string' : 'scalar' }, written(value)),
      comma,
    );

  const list = Array.isArray(value);
  const entries = list
    ? value.map((entry) => /** @type {const} */ ([undefined, entry]))
    : Object.entries(value);
  const [opening, closing] = list ? ['[', ']'] : ['{', '}'];
  if (entries.length === 0)
    return el('div', { class: 'member' }, ...(name ?? []), `${opening}${closing}${comma}`);
  const fold = el(
    'details',
    { class: 'member', open },
    el(
      'summary',
      {},
      ...(name ?? []),
      opening,
      el('span', { class: 'folded' }, gist(value, entries.length), `${closing}${comma}`),
    ),
    el(
      'div',
      { class: 'inner' },
      ...entries.map(([inner, entry], index) =>
        node(entry, inner, depth + 1, index === entries.length - 1, depth < 1 || index === 0),
      ),
    ),
    el('div', { class: 'closing' }, `${closing}${comma}`),
  );
  return fold;
}

/** What a fold holds, in a few words. @param {object} value @param {number} count */
function gist(value, count) {
  if (Array.isArray(value)) return ` ${count} `;
  const { id, title, post_details: words } = /** @type {Record<string, unknown>} */ (value);
  const hint = typeof title === 'string' && title !== '' ? title : words;
  const parts = [id, hint]
    .filter((part) => typeof part === 'string')
    .map((part) => written(String(part).slice(0, 36)));
  return parts.length > 0 ? ` ${parts.join(' ')} … ` : ` ${count} members `;
}
