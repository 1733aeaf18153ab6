// @ts-check
/*
 * <vitrine-profile>: a card with a user's profile and latest items, for any web page.
 *
 *   <script type="module" src="https://…/embed.js"></script>
 *   <vitrine-profile base="https://…/b" variant="b" user="ada" items="6"></vitrine-profile>
 *
 * base     the variant's base address; default: a, b or c next to this script
 * variant  a, b or c; default b
 * user     the user name
 * items    how many items to show, 0 to 15; default 6
 *
 * Custom properties: --vitrine-accent, -background, -text, -muted, -border, -radius, -font, -columns, -width.
 * Parts: card, cover, avatar, name, bio, counts, items, item. Light or dark follows the page's `color-scheme`.
 */

const SHEET = `
:host { display: block; max-width: var(--vitrine-width, 26rem);
  --accent: var(--vitrine-accent, light-dark(#0c6b5b, #67d3bd));
  --back: var(--vitrine-background, light-dark(#fff, #131a18));
  --ink: var(--vitrine-text, light-dark(#13201c, #e9f0ee));
  --quiet: var(--vitrine-muted, light-dark(#52625d, #9fb1ab));
  --line: var(--vitrine-border, light-dark(#d5dfdb, #27332f)) }
:host([hidden]) { display: none }
* { box-sizing: border-box; margin: 0; padding: 0 }
article { container-type: inline-size; overflow: hidden; color: var(--ink); background: var(--back); text-align: start;
  border: 1px solid var(--line); border-radius: var(--vitrine-radius, 10px);
  font-family: var(--vitrine-font, inherit); font-size: 15px; line-height: 1.5 }
.cover { height: 6.5rem }
header, .more { padding: 0 1.25rem }
header { margin-top: -2.25rem }
.avatar { width: 4.5rem; height: 4.5rem; border-radius: 50%; box-shadow: 0 0 0 4px var(--back); font-size: 1.4rem }
.pic { position: relative; display: grid; place-items: center; overflow: hidden; color: #fff; font-weight: 600;
  background: linear-gradient(140deg, hsl(var(--h) 42% 42%), hsl(calc(var(--h) + 48) 40% 26%)) }
img { position: absolute; inset: 0; width: 100%; height: 100%; object-fit: cover }
.name { margin-top: .6rem; font-size: 1.25rem; font-weight: 700; line-height: 1.25; letter-spacing: -.02em }
.name, .bio, .text, .title { overflow-wrap: anywhere }
.quiet, dt { color: var(--quiet); font-size: .875em }
.bio { margin-top: .6rem; white-space: pre-line; display: -webkit-box; -webkit-line-clamp: 4; -webkit-box-orient: vertical; overflow: hidden }
dl { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin-top: .75rem }
dl div { display: flex; gap: .35rem; align-items: baseline }
dd { font-weight: 600; order: -1; font-variant-numeric: tabular-nums }
ul { list-style: none; margin: 1.1rem 1.25rem 0 }
.grid { display: grid; gap: .5rem; grid-template-columns: repeat(var(--vitrine-columns, 2), minmax(0, 1fr)) }
@container (min-width: 22rem) { .grid { grid-template-columns: repeat(var(--vitrine-columns, 3), minmax(0, 1fr)) } }
.tile { aspect-ratio: 4/3; border-radius: 4px }
.title { font-size: .8125em; line-height: 1.35; margin-top: .3rem; display: block }
.posts li { padding: .75rem 0; border-top: 1px solid var(--line) }
.photo { aspect-ratio: 16/9; border-radius: 4px; margin-top: .5rem }
.text { white-space: pre-line }
a { color: var(--accent); text-underline-offset: .2em }
.name a, a.title { color: inherit; text-decoration: none }
a:hover { text-decoration: underline }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
.more { padding-block: 1rem 1.1rem }
.state { padding: 2.25rem 1.25rem; text-align: center; color: var(--quiet) }
.state b { display: block; color: var(--ink); overflow-wrap: anywhere }
button { margin-top: .9rem; padding: .4rem 1rem; font: inherit; color: var(--accent); background: none; border: 1px solid; border-radius: 6px; cursor: pointer }
.skeleton i { display: block; height: .8rem; margin: .7rem auto 0; border-radius: 4px; background: var(--line) }
@media (prefers-reduced-motion: no-preference) {
  .skeleton i { animation: pulse 1.2s ease-in-out infinite alternate }
  @keyframes pulse { to { opacity: .4 } } }
`;

const SAMPLES = 'https://vitrine.example/samples/';
const COLLECTIONS = { a: 'posts', b: 'Shots', c: 'Posts' };
const COUNTS = {
  a: { totalPost: 'posts', totalFollowers: 'followers' },
  b: { totalShots: 'shots', totalFollowers: 'followers' },
};
const MAX_BYTES = 2 ** 21;
const TIMEOUT_MS = 12_000;

const sheet = new CSSStyleSheet();
sheet.replaceSync(SHEET);

/** An error whose message is shown on the card. */
class CardError extends Error {}

class VitrineProfile extends HTMLElement {
  static observedAttributes = ['base', 'variant', 'user', 'items'];
  #pending = new AbortController();
  #scheduled = false;
  #root = this.attachShadow({ mode: 'open' });

  constructor() {
    super();
    this.#root.adoptedStyleSheets = [sheet];
  }
  connectedCallback() {
    this.#schedule();
  }
  disconnectedCallback() {
    this.#pending.abort();
  }
  /** @param {string} _name @param {string | null} before @param {string | null} after */
  attributeChangedCallback(_name, before, after) {
    if (before !== after) this.#schedule();
  }

  /** Loads once when several attributes are set in a row. */
  #schedule() {
    if (this.#scheduled || !this.isConnected) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      if (this.isConnected) this.#load();
    });
  }

  async #load() {
    this.#pending.abort();
    this.#pending = new AbortController();
    const { signal } = this.#pending;
    const user = this.getAttribute('user') ?? '';
    const variant = /** @type {'a' | 'b' | 'c'} */ ((this.getAttribute('variant') ?? 'b').toLowerCase());
    const wanted = Number.parseInt(this.getAttribute('items') ?? '6', 10);
    const count = Math.min(Math.max(wanted || 0, 0), 15);
    this.#showLoading(user);
    try {
      const [profile, items] = await load(this.getAttribute('base'), variant, user, count, signal);
      if (!signal.aborted) this.#show(variant, profile, items.slice(0, count));
    } catch (error) {
      if (signal.aborted) return;
      this.#showError(error instanceof CardError ? error.message : 'The profile is not available right now.');
    }
  }

  /** @param {string} user */
  #showLoading(user) {
    const skeleton = h('div', { class: 'skeleton', 'aria-hidden': 'true' });
    for (const width of ['55%', '80%', '70%']) skeleton.append(set(h('i'), 'width', width));
    this.#showState(h('p', { role: 'status' }, `Loading ${user}…`), skeleton).setAttribute(
      'aria-busy',
      'true',
    );
  }

  /** @param {string} message */
  #showError(message) {
    const again = h('button', { type: 'button' }, 'Try again');
    again.addEventListener('click', () => this.#load());
    this.#showState(h('p', { role: 'status' }, h('b', {}, message)), again);
  }

  /** @param {...Node} content */
  #showState(...content) {
    const card = h(
      'article',
      { part: 'card', 'aria-label': 'Profile' },
      h('div', { class: 'state' }, ...content),
    );
    this.#root.replaceChildren(card);
    return card;
  }

  /** @param {'a' | 'b' | 'c'} variant @param {Data} profile @param {Data[]} items */
  #show(variant, profile, items) {
    const user = text(profile, 'username');
    const name = visible(profile, 'name') || user;
    const bio = text(profile, 'bio');
    const list = h('ul', {
      part: 'items',
      class: variant === 'a' ? 'posts' : 'grid',
      'aria-label': 'Latest work',
    });
    for (const item of items) list.append(variant === 'a' ? post(item) : shot(item));
    const counts = h('dl', { part: 'counts' });
    for (const [member, word] of Object.entries(COUNTS[variant === 'a' ? 'a' : 'b']))
      counts.append(h('div', {}, h('dt', {}, word), h('dd', {}, grouped(text(profile, member) || '0'))));
    this.#root.replaceChildren(
      h(
        'article',
        { part: 'card', 'aria-label': `${name}, profile` },
        picture(text(profile, 'cover_image'), 'cover', `${user} cover`, '', 'cover'),
        h(
          'header',
          {},
          picture(text(profile, 'avatar'), 'avatar', user, initials(name), 'avatar'),
          h('p', { class: 'name', part: 'name', dir: 'auto' }, link(text(profile, 'website'), {}, name)),
          h('p', { class: 'quiet' }, h('bdi', {}, `@${user}`)),
          bio && h('p', { class: 'bio', part: 'bio', dir: 'auto' }, bio),
          counts,
        ),
        items.length > 0 ? list : '',
        h(
          'div',
          { class: 'more quiet' },
          items.length > 0 ? '' : variant === 'a' ? 'No posts yet.' : 'No shots yet.',
        ),
      ),
    );
  }
}

/** @typedef {Record<string, unknown>} Data */

/**
 * @param {string | null} base @param {'a' | 'b' | 'c'} variant @param {string} user @param {number} count @param {AbortSignal} signal
 * @returns {Promise<[Data, Data[]]>}
 */
async function load(base, variant, user, count, signal) {
  if (!(variant in COLLECTIONS)) throw new CardError('The attribute `variant` must be a, b or c.');
  if (user === '') throw new CardError('The attribute `user` is missing.');
  const root = new URL(base ?? new URL(variant, import.meta.url), document.baseURI).href
    .replace(/[?#].*$/s, '')
    .replace(/\/+$/, '');
  const name = encodeURIComponent(user.toWellFormed());
  const first = `${root}/api/${variant === 'a' ? '?user=' : 'username/'}${name}`;
  const limit = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  const [profile, body] = await Promise.all([
    read(first, user, limit),
    count > 0 ? read(`${first}${variant === 'a' ? '&post=true' : '/shots'}`, user, limit) : {},
  ]);
  const list = /** @type {Data} */ (body)[COLLECTIONS[variant]];
  if (text(profile, 'username') === '') throw new CardError('The response is not a profile.');
  return [profile, Array.isArray(list) ? list.filter(isData) : []];
}

/** The JSON object at this address; stops reading at MAX_BYTES. @param {string} address @param {string} user @param {AbortSignal} signal @returns {Promise<Data>} */
async function read(address, user, signal) {
  const response = await fetch(address, { signal, credentials: 'omit' });
  if (response.status === 404) throw new CardError(`No user named “${user.slice(0, 60).toWellFormed()}”.`);
  if (!response.ok || response.body === null)
    throw new CardError(`The profile is not available right now (${response.status}).`);
  const decoder = new TextDecoder();
  let [json, size] = ['', 0];
  for (const reader = response.body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > MAX_BYTES) {
      reader.cancel();
      throw new CardError('The response is too large.');
    }
    json += decoder.decode(value, { stream: true });
  }
  const data = JSON.parse(json + decoder.decode());
  if (!isData(data)) throw new CardError('The response is not a profile.');
  return data;
}

/** @param {Data} item */
function shot(item) {
  const title = visible(item, 'title') || 'Untitled';
  const price = text(item, 'price_item');
  return h(
    'li',
    { part: 'item' },
    picture(text(item, 'image'), 'tile', title, initials(title)),
    link(
      text(item, 'url_purchased') || text(item, 'attachment'),
      { class: 'title', dir: 'auto' },
      title,
      price && ` · ${price}`,
    ),
  );
}

/** @param {Data} item */
function post(item) {
  const words = text(item, 'post_details');
  const photo = text(item, 'photo') || text(item, 'video_thumbnail');
  const [video, audio] = [text(item, 'video_url'), text(item, 'url_audio')];
  return h(
    'li',
    { part: 'item' },
    h('p', { class: 'text', dir: 'auto' }, words),
    photo && picture(photo, 'photo', words, ''),
    video && h('p', {}, link(video, {}, visible(item, 'video_title') || 'Video')),
    audio && h('p', {}, link(audio, {}, visible(item, 'title_audio') || 'Audio')),
    h('p', { class: 'quiet' }, text(item, 'date').slice(0, 10)),
  );
}

/** The picture over a fallback of initials on a gradient. @param {string} address @param {string} kind @param {string} seed @param {string} letters @param {string} [part] */
function picture(address, kind, seed, letters, part) {
  const frame = set(
    h('div', { class: `pic ${kind}`, part, 'aria-hidden': 'true' }, letters),
    '--h',
    String([...seed].reduce((sum, char) => (sum * 31 + (char.codePointAt(0) ?? 0)) % 360, 7)),
  );
  const source = address.startsWith(SAMPLES)
    ? new URL(`samples/${address.slice(SAMPLES.length)}`, import.meta.url)
    : web(address);
  if (source === undefined) return frame;
  const image = h('img', { alt: '', loading: 'lazy', decoding: 'async', referrerpolicy: 'no-referrer' });
  image.addEventListener('error', () => image.remove());
  image.setAttribute('src', source.href);
  frame.append(image);
  return frame;
}

/** @param {string} address @param {Record<string, string>} attributes @param {...string} words */
function link(address, attributes, ...words) {
  const url = web(address);
  return url === undefined
    ? h('span', attributes, ...words)
    : h('a', { ...attributes, href: url.href, rel: 'noopener noreferrer nofollow' }, ...words);
}

/** @param {string} address */
function web(address) {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  return url && /^https?:$/.test(url.protocol) ? url : undefined;
}

/** @param {string} tag @param {Record<string, string | undefined>} [attributes] @param {...(Node | string)} children */
function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (value !== undefined) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== ''));
  return element;
}

/** Works under a Content-Security-Policy that forbids style attributes. @param {HTMLElement} element @param {string} property @param {string} value */
function set(element, property, value) {
  element.style.setProperty(property, value);
  return element;
}

/** @param {unknown} value @returns {value is Data} */
const isData = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
/** @param {Data} data @param {string} member */
const text = (data, member) =>
  typeof data[member] === 'string' ? /** @type {string} */ (data[member]).slice(0, 2000) : '';
/** The text if it has a visible character, otherwise ''. @param {Data} data @param {string} member */
const visible = (data, member) =>
  /[\p{L}\p{N}\p{P}\p{S}]/u.test(text(data, member)) ? text(data, member) : '';
/** @param {string} digits */
const grouped = (digits) =>
  /^\d{1,18}$/.test(digits) ? BigInt(digits).toLocaleString('en') : digits.slice(0, 20);
/** @param {string} name */
const initials = (name) =>
  (name.match(/(?<![\p{L}\p{N}])[\p{L}\p{N}]/gu) ?? []).slice(0, 2).join('').toUpperCase();

if (!customElements.get('vitrine-profile')) customElements.define('vitrine-profile', VitrineProfile);
