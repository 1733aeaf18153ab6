// @ts-check
// Code blocks: one with a title, and one with a tab for each language.
import { breakable, copyButton, el } from './dom.js';
import { LANGUAGES, snippetIn } from './snippets.js';

/** @typedef {(message: string) => void} Announce */

/** @param {string} code */
const codeLines = (code) =>
  code.split('\n').map((line) => el('span', { class: 'code-line' }, ...breakable(line)));

/** @param {string} name @param {string} code @param {Announce} announce */
export function codeBlock(name, code, announce) {
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

const STORAGE_KEY = 'vitrine-language';

/** The language that was chosen last in this browser. */
function chosenLanguage() {
  try {
    return localStorage.getItem(STORAGE_KEY) ?? 'curl';
  } catch {
    return 'curl';
  }
}

/** @param {string} language */
function saveLanguage(language) {
  try {
    localStorage.setItem(STORAGE_KEY, language);
  } catch {
    // Storage may be full or blocked; the page works without it.
  }
}

let groups = 0;

/** The code that sends a request, in the language that the reader chooses. @param {string} name @param {() => import('./snippets.js').Shown} read @param {Announce} announce */
export function codeTabs(name, read, announce) {
  const group = `language-${(groups += 1)}`;
  let language = LANGUAGES.find((each) => each === chosenLanguage()) ?? 'curl';
  const code = el('code');
  const pre = el('pre', { tabindex: '0', role: 'region' }, code);
  const update = () => {
    pre.setAttribute('aria-label', `${name} in ${language}`);
    code.replaceChildren(...codeLines(snippetIn(language, read())));
  };
  const tabs = LANGUAGES.map((each) => {
    const choose = () => {
      saveLanguage((language = each));
      update();
    };
    const checked = each === language;
    return el(
      'label',
      {},
      el('input', { type: 'radio', name: group, value: each, checked, change: choose }),
      each,
    );
  });
  const legend = el('legend', { class: 'visually-hidden' }, 'Language');
  const copy = copyButton('the code', () => snippetIn(language, read()), announce);
  update();
  const figure = el(
    'figure',
    { class: 'code' },
    el('figcaption', {}, el('fieldset', { class: 'segments small' }, legend, ...tabs), copy),
    pre,
  );
  return { figure, update };
}
