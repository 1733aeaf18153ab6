// @ts-check
// The table of contents: folded on phones, with the part that is being read marked.
import { byId, el } from '../explorer/dom.js';

/** @typedef {{ id: string, title: string }} Entry */
/** @typedef {{ name: string, section: Node, entries: Entry[] }} Section */

/** @param {string} name */
export const idOf = (name) => name.toLowerCase().replaceAll(' ', '-');

/** @param {Section[]} sections */
export function drawContents(sections) {
  const list = el('ul', { class: 'contents-list' }, ...sections.map(drawSection));
  const fold = el('details', {}, el('summary', {}, 'Contents'), list);
  const wide = matchMedia('(min-width: 60rem)');
  const update = () => fold.toggleAttribute('open', wide.matches);
  wide.addEventListener('change', update);
  update();
  list.addEventListener('click', ({ target }) => {
    if (target instanceof HTMLAnchorElement) update();
  });
  byId('contents').replaceChildren(fold);
  markCurrent(list);
}

/** @param {Section} section */
function drawSection({ name, entries }) {
  const links = entries.map(({ id, title }) => el('li', {}, el('a', { href: `#${id}` }, title)));
  return el('li', {}, el('a', { href: `#${idOf(name)}` }, name), links.length > 0 && el('ul', {}, ...links));
}

/** Marks the link to the last part that has reached the upper third of the window. @param {Element} list */
function markCurrent(list) {
  const links = [...list.querySelectorAll('a')];
  const parts = links.map(({ hash }) => byId(hash.slice(1)));
  const mark = () => {
    const index = parts.findLastIndex((part) => part.getBoundingClientRect().top < innerHeight / 3);
    for (const [each, link] of links.entries())
      if (each === index) link.setAttribute('aria-current', 'true');
      else link.removeAttribute('aria-current');
  };
  const observer = new IntersectionObserver(mark, { rootMargin: '0px 0px -66% 0px' });
  for (const part of parts) observer.observe(part);
}
