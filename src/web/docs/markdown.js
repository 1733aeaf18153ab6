// @ts-check
// Renders the Markdown subset used in descriptions: paragraphs, `code` and **bold**.
import { el } from '../explorer/dom.js';

/** @param {string} markdown */
export const paragraphs = (markdown) =>
  markdown.split('\n\n').map((paragraph) => el('p', {}, ...inline(paragraph)));

/** @param {string} words @returns {(Node | string)[]} */
export function inline(words) {
  return words.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map((part) => {
    if (part.startsWith('`')) return el('code', {}, part.slice(1, -1));
    return part.startsWith('**') ? el('strong', {}, part.slice(2, -2)) : part;
  });
}
