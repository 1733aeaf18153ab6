// @ts-check
// Pictures with a fallback: initials on a gradient, which stay visible if the picture does not load.
import { el, httpUrl } from './dom.js';
import { root } from './state.js';

/** @typedef {{ kind: string, seed: string, alt?: string, initials?: string, eager?: boolean }} PictureOptions */
/** @typedef {ReturnType<typeof createPictures>} Pictures */

/** @param {{ samples: string | null, imageHosts: '*' | string[] }} configuration */
export function createPictures({ samples, imageHosts }) {
  /** Hosts that IMAGE_HOSTS does not allow. @type {Set<string>} */
  const blocked = new Set();

  /** The URL to load; undefined if the picture may not be loaded. @param {string} address */
  function findSource(address) {
    if (address === '') return undefined;
    // Below any prefix and behind any port, the samples are beside this page.
    if (samples !== null && address.startsWith(samples))
      return new URL(`samples/${address.slice(samples.length)}`, root).href;
    const url = httpUrl(address);
    if (url === undefined) return undefined;
    if (imageHosts === '*' || url.origin === location.origin || imageHosts.includes(url.origin))
      return url.href;
    blocked.add(url.host);
    return undefined;
  }

  return {
    blocked,
    findSource,
    /** @param {string} address @param {PictureOptions} options */
    picture: (address, options) => drawPicture(findSource(address), options),
  };
}

/** @param {string | undefined} source @param {PictureOptions} options */
function drawPicture(source, { kind, seed, alt = '', initials = '', eager = false }) {
  const frame = el(
    'span',
    {
      class: `picture ${kind} hue-${chooseHue(seed)}`,
      ...(alt !== '' && { role: 'img', 'aria-label': alt }),
    },
    initials && el('span', { class: 'initials', 'aria-hidden': 'true' }, initials),
  );
  if (source === undefined) frame.classList.add('bare');
  else if (eager) loadInto(frame, source, 'high');
  else whenNear(frame, () => loadInto(frame, source));
  return frame;
}

/** @param {HTMLElement} frame @param {string} source @param {'high'} [fetchpriority] */
function loadInto(frame, source, fetchpriority) {
  const attributes = { alt: '', decoding: 'async', referrerpolicy: 'no-referrer', fetchpriority };
  const image = el('img', { ...attributes, src: source });
  image.addEventListener('error', () => {
    image.remove();
    frame.classList.add('bare');
  });
  frame.append(image);
}

/**
 * Less far ahead than `loading="lazy"`, which loads two screens and more; and before the page is printed.
 * @param {Element} element @param {() => void} act
 */
export function whenNear(element, act) {
  const observer = new IntersectionObserver(
    (entries) => {
      if (entries.some((entry) => entry.isIntersecting)) actOnce();
    },
    { rootMargin: '25%' },
  );
  function actOnce() {
    observer.disconnect();
    window.removeEventListener('beforeprint', actOnce);
    act();
  }
  window.addEventListener('beforeprint', actOnce);
  observer.observe(element);
}

/** The first letters of the first two words, which do not join to an Arabic word. @param {string} name */
export const takeInitials = (name) =>
  (name.match(/(?<![\p{L}\p{N}])[\p{L}\p{N}]/gu) ?? [])
    .slice(0, 2)
    .join(/[\u0600-\u08ff]/.test(name) ? '\u200c' : '')
    .toUpperCase();

/** Initials for each title; equal ones are numbered: LF, LF2, LF3. @param {string[]} titles */
export function distinctInitials(titles) {
  const counts = new Map();
  return titles.map((title) => {
    const initials = takeInitials(title);
    const count = (counts.get(initials) ?? 0) + 1;
    counts.set(initials, count);
    return count > 1 || initials === '' ? `${initials}${count}` : initials;
  });
}

/** @param {string} seed */
function chooseHue(seed) {
  let sum = 7;
  for (const character of seed) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) % 3600;
  return sum % 6;
}
