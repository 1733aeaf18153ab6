// @ts-check
// What scripts add to code: that of a request follows it, in the language that was chosen last, and can be copied.
import { breakable, copyButton, el } from './dom.js';
import { LANGUAGES, snippetIn } from './snippets.js';

/** @typedef {(message: string) => void} Announce */

const STORAGE_KEY = 'vitrine-language';

/** @param {string} code */
export const codeLines = (code) =>
  code.split('\n').map((line) => el('span', { class: 'code-line' }, ...breakable(line)));

/** @param {Element} tabs @param {() => import('./snippets.js').Shown} read @param {Announce} announce */
export function enhanceCode(tabs, read, announce) {
  const codes = [...tabs.querySelectorAll('code')];
  const update = () => {
    for (const [index, code] of codes.entries())
      code.replaceChildren(...codeLines(snippetIn(LANGUAGES[index] ?? '', read())));
  };
  const chosen = () => /** @type {HTMLInputElement} */ (tabs.querySelector(':checked')).value;
  tabs.querySelector('.panels')?.before(copyButton('the code', () => snippetIn(chosen(), read()), announce));
  return update;
}

/** One choice for all code of a page. */
export function rememberLanguage() {
  /** @param {string | null} language */
  const choose = (language) => {
    for (const radio of /** @type {NodeListOf<HTMLInputElement>} */ (
      document.querySelectorAll('.languages input')
    ))
      if (radio.value === language) radio.checked = true;
  };
  document.addEventListener('change', ({ target }) => {
    if (!(target instanceof HTMLInputElement && target.matches('.languages input'))) return;
    choose(target.value);
    try {
      localStorage.setItem(STORAGE_KEY, target.value);
    } catch {
      // Storage may be full or blocked; the page works without it.
    }
  });
  try {
    choose(localStorage.getItem(STORAGE_KEY));
  } catch {
    // As above.
  }
}
