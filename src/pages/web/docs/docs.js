// @ts-check
// What scripts add to the API reference: the part that is being read, buttons that copy, and forms that send.
import { rememberLanguage } from '../explorer/code-tabs.js';
import { byId, copyButton } from '../explorer/dom.js';
import { enhanceForm } from './try-it.js';

/** Where this server is, as the reader sees it. */
const root = new URL('.', import.meta.url);

const main = byId('main');
const contents = byId('contents');
const links = [...contents.querySelectorAll('a')];
const parts = links.map(({ hash }) => byId(hash.slice(1)));

showOwnAddress();
for (const figure of main.querySelectorAll('figure')) addCopyButton(figure);
for (const form of main.querySelectorAll('form')) enhanceForm(form, root);
rememberLanguage();
markCurrent();

/** The server may not know the address that readers reach it by. */
function showOwnAddress() {
  const { address = '' } = main.dataset;
  const texts = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = /** @type {Text} */ (texts.currentNode);
    if (text.data.includes(address)) text.data = text.data.replaceAll(address, root.href);
  }
}

/** @param {Element} figure */
function addCopyButton(figure) {
  const code = /** @type {Element} */ (figure.querySelector('pre'));
  const label = code.getAttribute('aria-label') ?? 'the code';
  const copy = copyButton(
    label,
    () => code.textContent ?? '',
    (words) => byId('status').replaceChildren(words),
  );
  figure.querySelector('figcaption')?.append(copy);
}

/** Marks the link to the last part that has reached the upper third of the window. */
function markCurrent() {
  const mark = () => {
    const index = parts.findLastIndex((part) => part.getBoundingClientRect().top < innerHeight / 3);
    for (const [each, link] of links.entries())
      if (each === index) link.setAttribute('aria-current', 'true');
      else link.removeAttribute('aria-current');
  };
  const observer = new IntersectionObserver(mark, { rootMargin: '0px 0px -66% 0px' });
  for (const part of parts) observer.observe(part);
}
