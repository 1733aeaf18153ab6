// @ts-check
// Pictures that never leave a hole: under each lie initials on a gradient, which stay when it cannot be had.
import { el, webAddress } from './dom.js';

const SAMPLES = 'https://vitrine.example/samples/';

/** @param {{ samples: boolean, imageHosts: '*' | string[] }} configuration */
export function createPictures({ samples, imageHosts }) {
  /** Hosts that this page may not load pictures from. @type {Set<string>} */
  const refused = new Set();

  /** @param {string} address */
  function sourceOf(address) {
    if (address === '') return undefined;
    if (samples && address.startsWith(SAMPLES))
      return new URL(`samples/${address.slice(SAMPLES.length)}`, document.baseURI).href;
    const url = webAddress(address);
    if (url === undefined) return undefined;
    if (imageHosts === '*' || url.origin === location.origin || imageHosts.includes(url.origin))
      return url.href;
    refused.add(url.host);
    return undefined;
  }

  return {
    refused,
    sourceOf,

    /**
     * @param {string} address
     * @param {{ kind: string, seed: string, alt?: string, initials?: string, eager?: boolean }} options
     */
    picture(address, { kind, seed, alt = '', initials = '', eager = false }) {
      const frame = el(
        'span',
        { class: `picture ${kind}` },
        initials && el('span', { class: 'initials', 'aria-hidden': 'true' }, initials),
      );
      frame.style.setProperty('--hue', String(hueOf(seed)));
      const source = sourceOf(address);
      const bare = () => {
        frame.classList.add('bare');
        if (alt !== '') {
          frame.setAttribute('role', 'img');
          frame.setAttribute('aria-label', alt);
        }
      };
      if (source === undefined) bare();
      else {
        const image = el('img', {
          alt,
          decoding: 'async',
          loading: eager ? undefined : 'lazy',
          referrerpolicy: 'no-referrer',
        });
        image.addEventListener('error', () => {
          image.remove();
          bare();
        });
        image.setAttribute('src', source);
        frame.append(image);
      }
      return frame;
    },
  };
}

/** @typedef {ReturnType<typeof createPictures>} Pictures */

/** The first signs of the first two words. @param {string} name */
export function initialsOf(name) {
  const words = name
    .replace(/[^\p{L}\p{N}\s]/gu, ' ')
    .trim()
    .split(/\s+/u);
  const first = words.slice(0, 2).map((word) => [...new Intl.Segmenter().segment(word)][0]?.segment ?? '');
  return first.join('').toLocaleUpperCase();
}

/** @param {string} seed */
function hueOf(seed) {
  let sum = 7;
  for (const sign of seed) sum = (sum * 31 + (sign.codePointAt(0) ?? 0)) % 3600;
  return sum % 360;
}
