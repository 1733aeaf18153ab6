// @ts-check
// The section about the embeddable card: the HTML to paste, and a preview.
import { codeLines } from './code-tabs.js';
import { byId, copyButton, el } from './dom.js';
import { escaped } from './snippets.js';
import { buildBase, personPage, root } from './state.js';

/** @typedef {import('./state.js').Variant} Variant */

export function hideCardSection() {
  byId('card').setAttribute('hidden', '');
  byId('card-preview').replaceChildren();
}

/** @param {Variant} variant @param {string} user @param {(message: string) => void} announce */
export function drawCardSection(variant, user, announce) {
  const base = buildBase(variant);
  const items = variant.family === 'microblog' ? 3 : 6;
  const section = byId('card');
  section.removeAttribute('hidden');
  byId('snippet').replaceChildren(
    codeBlock('HTML', cardHtml(base, variant, user), announce),
    codeBlock('Markdown', imageMarkdown(variant, user), announce),
  );
  byId('card-preview').replaceChildren(el('vitrine-profile', { base, variant: variant.name, user, items }));
  loadCardWhenNear(section);
}

/** @param {string} name @param {string} code @param {(message: string) => void} announce */
function codeBlock(name, code, announce) {
  const copy = copyButton(`the ${name} lines`, () => code, announce);
  return el(
    'figure',
    { class: 'code' },
    el('figcaption', {}, name, copy),
    el(
      'pre',
      { tabindex: '0', role: 'region', 'aria-label': `${name} lines` },
      el('code', {}, ...codeLines(code)),
    ),
  );
}

/** @param {string} base @param {Variant} variant @param {string} user */
function cardHtml(base, variant, user) {
  const script = new URL('embed.js', root).href;
  const name = user.toWellFormed().replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
  return `<script type="module" src="${script}"></script>
<vitrine-profile base="${base}" variant="${variant.name}" user="${name}" items="6">
  <a href="${personPage(variant, user)}">${name}</a>
</vitrine-profile>`;
}

/** The image of the card for READMEs and forums. @param {Variant} variant @param {string} user */
function imageMarkdown(variant, user) {
  const image = new URL(`card/${variant.name}/${escaped(user)}.svg`, root).href;
  const name = user.toWellFormed().replace(/[\\[\]]/g, '\\$&');
  return `[![${name}](${image})](${personPage(variant, user)})`;
}

/** The card sends requests of its own, so its script loads only when the section scrolls into view. @param {Element} section */
function loadCardWhenNear(section) {
  const observer = new IntersectionObserver(
    (entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      observer.disconnect();
      import(new URL('embed.js', root).href);
    },
    { rootMargin: '25%' },
  );
  observer.observe(section);
}
