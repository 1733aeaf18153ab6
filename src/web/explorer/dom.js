// @ts-check
// Elements made from values. Text is only ever set as text, and a link has to be http or https.

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

/** @param {unknown} value */
export const text = (value) => (typeof value === 'string' ? value : '');

/**
 * The address as one that may be followed; undefined for anything but http and https.
 * @param {string} address
 */
export function webAddress(address) {
  if (!URL.canParse(address)) return undefined;
  const url = new URL(address);
  return url.protocol === 'https:' || url.protocol === 'http:' ? url : undefined;
}

/**
 * A link to somewhere else; plain text where it may not be followed.
 * @param {string} address
 * @param {Record<string, unknown>} attributes
 * @param {...(Node | string | null)} children
 */
export function away(address, attributes, ...children) {
  const url = webAddress(address);
  if (url === undefined) return el('span', attributes, ...children);
  return el(
    'a',
    { ...attributes, href: url.href, target: '_blank', rel: 'noopener noreferrer nofollow' },
    ...children,
  );
}

/**
 * @param {string} label what is copied, for the button's name
 * @param {() => string} what
 * @param {(message: string) => void} say
 */
export function copyButton(label, what, say) {
  const button = el('button', { type: 'button', class: 'copy', 'aria-label': `Copy ${label}` }, 'Copy');
  button.addEventListener('click', async () => {
    const done = await copy(what());
    button.textContent = done ? 'Copied' : 'Press Ctrl+C';
    say(done ? `${label} copied` : 'The browser does not allow copying here');
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 1600);
  });
  return button;
}

/** @param {string} what */
async function copy(what) {
  try {
    await navigator.clipboard.writeText(what);
    return true;
  } catch {
    // Without https there is no clipboard to ask: the old way still works.
    const box = el('textarea', { class: 'unseen', 'aria-hidden': 'true', tabindex: '-1' }, what);
    const before = document.activeElement;
    document.body.append(box);
    /** @type {HTMLTextAreaElement} */ (box).select();
    const done = document.execCommand('copy');
    box.remove();
    if (before instanceof HTMLElement) before.focus();
    return done;
  }
}
