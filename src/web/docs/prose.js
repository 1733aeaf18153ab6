// @ts-check
// The little Markdown that the document's descriptions are written in: paragraphs, `code` and **weight**.
import { el } from '../explorer/dom.js';

/** @param {string} markdown */
export const prose = (markdown) =>
  markdown.split('\n\n').map((paragraph) => el('p', {}, ...inline(paragraph)));

/** @param {string} words @returns {(Node | string)[]} */
export function inline(words) {
  return words.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map((part) => {
    if (part.startsWith('`')) return el('code', {}, part.slice(1, -1));
    return part.startsWith('**') ? el('strong', {}, part.slice(2, -2)) : part;
  });
}
