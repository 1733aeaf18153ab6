// @ts-check
// Creates DOM elements from data. Text is set as text only.

/**
 * @param {string} tag
 * @param {Record<string, unknown>} [attributes] functions become listeners; null, undefined and false are left out
 * @param {...(Node | string | null | undefined | false)} children
 */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === 'function') element.addEventListener(name, /** @type {EventListener} */ (value));
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children)
    if (child !== null && child !== undefined && child !== false) element.append(child);
  return element;
}

/** @param {string} id */
export function byId(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no #${id}`);
  return found;
}

/** Text that may wrap after the separators of a URL. @param {string} words */
export const breakable = (words) =>
  words.split(/(?<=[/?&=])(?![/?&=])/).flatMap((part, index) => (index === 0 ? [part] : [el('wbr'), part]));

/**
 * @param {string} label what is copied, for the button's accessible name
 * @param {() => string} read
 * @param {(message: string) => void} announce
 */
export const copyButton = (label, read, announce) =>
  copyButtonIn(
    {
      copy: 'Copy',
      label: `Copy ${label}`,
      copied: 'Copied',
      done: `${label} copied`,
      failed: 'The browser does not allow copying here',
    },
    read,
    announce,
  );

/**
 * The same in any words.
 * @param {{ copy: string, label: string, copied: string, done: string, failed: string }} words
 * @param {() => string} read
 * @param {(message: string) => void} announce
 */
export function copyButtonIn(words, read, announce) {
  const button = el('button', { type: 'button', class: 'copy', 'aria-label': words.label }, words.copy);
  button.addEventListener('click', async () => {
    const done = await copy(read());
    button.textContent = done ? words.copied : 'Ctrl+C';
    announce(done ? words.done : words.failed);
    setTimeout(() => {
      button.textContent = words.copy;
    }, 1600);
  });
  return button;
}

/** @param {string} value */
async function copy(value) {
  try {
    await navigator.clipboard.writeText(value);
    return true;
  } catch {
    // The clipboard API needs https; execCommand does not.
    const box = el('textarea', { class: 'visually-hidden', 'aria-hidden': 'true', tabindex: '-1' }, value);
    const before = document.activeElement;
    document.body.append(box);
    /** @type {HTMLTextAreaElement} */ (box).select();
    const done = document.execCommand('copy');
    box.remove();
    if (before instanceof HTMLElement) before.focus();
    return done;
  }
}
