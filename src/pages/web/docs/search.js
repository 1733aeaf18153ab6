// @ts-check
// The search of the reference and its guides, in their Markdown, which is loaded when it is first used.
import { byId, el } from '../explorer/dom.js';

/** What is called otherwise here, by what it is looked for as. */
export const SYNONYMS = Object.entries({
  '?page=': ['pagination', 'paging', 'cursor', 'offset'],
  absent: ['null', 'undefined'],
  container: ['docker', 'podman', 'kubernetes'],
  jsx: ['react'],
  'no key': ['auth', 'authentication', 'login'],
  ratelimit: ['quota', 'throttling'],
  record: ['schema'],
  'take users down': ['takedown', 'gdpr', 'delete'],
  sorting: ['sort', 'filter'],
  types: ['typescript'],
  typescript: ['types'],
  utc: ['timezone'],
});

const MOST_RESULTS = 12;
/** Characters before the first word that was found. */
const BEFORE = 60;
const SHOWN = 180;

/** @typedef {{ title: string, href: string, text: string }} Section */

/** @param {string} markdown @returns {Section[]} */
export const readSections = (markdown) =>
  markdown
    .split(/^## (?=\[)/m)
    .slice(1)
    .map((part) => {
      const [, title = '', href = '', body = ''] = /^\[(.*?)\]\((.*?)\)([\s\S]*)/.exec(part) ?? [];
      const text = body
        .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
        .replace(/[`*]/g, '')
        .replace(/[|\s]+|-{3,}/g, ' ');
      // The text has full addresses, and this server may have another one.
      return { title, href: href.replace(/^https?:\/\/[^/]*\//, ''), text };
    });

/**
 * The sections with every word, and what is marked in them. First come those with all words in their title: whole words
 * before parts of words, and short titles before long ones. Then those of which the words are a large part.
 * @param {Section[]} sections @param {string} query
 */
export function findSections(sections, query) {
  const words = query.toLowerCase().match(/\S+/g) ?? [];
  const patterns = words.map((word) => {
    const others = SYNONYMS.filter(([, names]) => names.includes(word)).map(([name]) => name);
    return [word, ...others].map(escapePattern).join('|');
  });
  /** @param {string} text */
  const isIn = (text) => patterns.every((pattern) => new RegExp(pattern, 'i').test(text));
  /** @param {Section} section */
  const rank = ({ title, text }) => {
    if (!isIn(title)) {
      const hits = countHits(text, patterns) + PHRASE * countHits(text, [escapePattern(query.trim())]);
      return hits / (text.length + SHORT_TEXT);
    }
    const isWhole = patterns.every((pattern) => new RegExp(`\\b(?:${pattern})\\b`, 'i').test(title));
    return (isWhole ? 2 : 1) + words.join(' ').length / title.length;
  };
  const found = sections
    .filter(({ title, text }) => isIn(`${title} ${text}`))
    .map((section) => ({ section, rank: rank(section) }))
    .sort((one, other) => other.rank - one.rank)
    .map(({ section }) => section);
  return { found, marked: new RegExp(`(${patterns.join('|')})`, 'i') };
}

/** @param {string} text */
const escapePattern = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** How much more the words count where they stand as they were typed. */
const PHRASE = 3;
/** A text of a few words is not better because it has little else. */
const SHORT_TEXT = 400;

/** Of the word that stands there least often. @param {string} text @param {string[]} patterns */
const countHits = (text, patterns) =>
  Math.min(...patterns.map((pattern) => text.match(new RegExp(pattern, 'gi'))?.length ?? 0));

/** @param {URL} root where the server is */
export function addSearch(root) {
  const field = /** @type {HTMLInputElement} */ (byId('search'));
  const results = byId('results');
  /** @type {Promise<Section[]> | undefined} */
  let loading;

  async function search() {
    loading ??= load(root);
    const sections = await loading.catch(() => undefined);
    if (sections === undefined) loading = undefined;
    const { found, marked } = findSections(sections ?? [], field.value);
    const isSearching = field.value.trim() !== '';
    byId('contents').classList.toggle('searching', isSearching);
    results.replaceChildren(
      ...(isSearching ? found.slice(0, MOST_RESULTS) : []).map((section) =>
        drawResult(section, marked, root),
      ),
    );
    const count =
      sections === undefined
        ? 'The server is not reachable'
        : `${found.length || 'No'} ${found.length === 1 ? 'part' : 'parts'} found`;
    byId('found').replaceChildren(isSearching ? count : '');
  }

  field.addEventListener('input', search);
  field.addEventListener('keydown', ({ key }) => {
    if (key === 'Enter') results.querySelector('a')?.click();
  });
  document.addEventListener('keydown', (event) => {
    if (event.key !== 'k' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    field.focus();
  });
}

/** @param {URL} root */
async function load(root) {
  const response = await fetch(new URL('docs.md', root));
  if (!response.ok) throw new Error(response.statusText);
  return readSections(await response.text());
}

/** @param {Section} section @param {RegExp} marked @param {URL} root */
function drawResult({ title, href, text }, marked, root) {
  const start = text.lastIndexOf(' ', Math.max(0, text.search(marked) - BEFORE)) + 1;
  /** @param {string} words */
  const mark = (words) =>
    words.split(marked).map((part, index) => (index % 2 === 1 ? el('mark', {}, part) : part));
  return el(
    'li',
    {},
    el('a', { href: new URL(href, root).href }, ...mark(title)),
    el('p', { class: 'note' }, start > 1 && '… ', ...mark(text.slice(start, start + SHOWN)), '…'),
  );
}
