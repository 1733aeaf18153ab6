/* The element <vitrine-profile>. How to use it is in embed.d.ts, beside this script. */
import {
  chooseHue,
  distinctInitials,
  grouped,
  HUES,
  shownPrice,
  takeInitials,
  visible,
  writtenDate,
} from './shown.js';

const SHEET = `
:host { display: grid; width: fit-content; grid-template-columns: minmax(10rem, var(--vitrine-width, 26rem)) }
article { --dim: min(1, .14 / y); --lift: max(0, (.3 - y) / (1 - y));
  --accent: var(--vitrine-accent, light-dark(
    color(from #0c6b5b xyz calc(x * var(--dim)) calc(y * var(--dim)) calc(z * var(--dim))),
    color(from #67d3bd xyz calc(x + (.95 - x) * var(--lift)) calc(y + (1 - y) * var(--lift)) calc(z + (1.09 - z) * var(--lift)))));
  --back: var(--vitrine-background, light-dark(#fff, #131a18));
  --ink: var(--vitrine-text, light-dark(#13201c, #e9f0ee));
  --quiet: var(--vitrine-muted, light-dark(#52625d, #9fb1ab));
  --line: var(--vitrine-border, light-dark(#d5dfdb, #27332f)) }
:host([hidden]) { display: none }
:host([theme='light']) { color-scheme: light }
:host([theme='dark']) { color-scheme: dark }
:host([theme='auto']) { color-scheme: light dark }
* { box-sizing: border-box; margin: 0; padding: 0 }
article { container-type: inline-size; display: grid; grid-template-columns: minmax(0, 1fr); overflow: hidden;
  color: var(--ink); background: var(--back); text-align: start;
  border: 1px solid var(--line); border-radius: var(--vitrine-radius, 10px);
  font-family: var(--vitrine-font, inherit); font-size: 15px; line-height: 1.5 }
.content, .skeleton { grid-area: 1 / 1; display: flex; flex-direction: column }
[aria-busy] .content, article:not([aria-busy]) .skeleton { visibility: hidden }
[role=status]:not(.state *) { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden }
.cover { height: 6.5rem }
header, .more { padding: 0 1.25rem }
header { margin-top: -2.25rem }
.avatar { width: 4.5rem; height: 4.5rem; border-radius: 50%; box-shadow: 0 0 0 4px var(--back); font-size: 1.4rem }
.pic { position: relative; display: grid; place-items: center; overflow: hidden; color: #fff; font-weight: 600 }
img { position: absolute; inset: 0; width: 100%; height: 100%; object-fit: cover }
.name, .bio, .text, .title { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; overflow: hidden;
  overflow-wrap: anywhere; white-space: pre-line }
.bio, .text { -webkit-line-clamp: 3 }
.name { margin-top: .6rem; font-size: 1.25rem; font-weight: 700; line-height: 1.25; letter-spacing: -.02em }
.quiet, dt { color: var(--quiet); font-size: .875em }
.line { overflow: hidden; white-space: nowrap; text-overflow: ellipsis }
.bio { margin-top: .6rem }
dl { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin-top: .75rem }
dl div { display: flex; gap: .35rem; align-items: baseline }
dd { font-weight: 600; order: -1 }
ul { list-style: none; margin: 1.1rem 1.25rem 0 }
.grid { display: grid; gap: .5rem; grid-template-columns: repeat(var(--vitrine-columns, 2), minmax(0, 1fr)) }
@container (min-width: 22rem) { .grid { grid-template-columns: repeat(var(--vitrine-columns, 3), minmax(0, 1fr)) } }
.tile { aspect-ratio: 4/3; border-radius: 4px }
.title { font-size: .8125em; line-height: 1.35; margin-top: .3rem; min-height: 2lh }
li { position: relative }
.grid a::after, .line:not(.line ~ .line) a::after { content: ''; position: absolute; inset: 0 }
.line ~ .line a { position: relative }
.verified { display: inline-block; width: 1em; margin-left: .3em; border-radius: 50%; font-size: .7em; line-height: 1em;
  text-align: center; vertical-align: .15em; color: var(--back); background: var(--accent) }
.posts li { display: flex; gap: .9rem; min-height: 7rem; padding: .75rem 0; border-top: 1px solid var(--line) }
.words { flex: 1; min-width: 0 }
.photo { flex: none; width: 5.5rem; height: 5.5rem; border-radius: 4px }
a { color: var(--accent) }
.name a, a.title { color: inherit; text-decoration: none }
a:hover { text-decoration: underline }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
.more { flex: 1; display: grid; place-items: center; padding-block: .5rem }
.state { flex: 1; display: grid; place-content: center; justify-items: center; padding: 2.25rem 1.25rem; text-align: center }
.state b { overflow-wrap: anywhere }
button { margin-top: .9rem; padding: .4rem 1rem; font: inherit; color: var(--accent); background: none; border: 1px solid; border-radius: 6px; cursor: pointer }
.skeleton, .skeleton * { color: transparent }
.skeleton .pic { background: var(--line) }
.skeleton :is(p, .title, dl) { border-radius: 4px;
  background: repeating-linear-gradient(#0000 0 .2lh, var(--line) .2lh .8lh, #0000 .8lh 1lh) }
`;

const ROOT = new URL('.', import.meta.url);
// The server puts its table of variants here, whether it has pages of people, and the address of the sample pictures.
const VARIANTS = {};
const WORDS = {};
const PAGES = true;
const SAMPLES = ' ';
const MAX_BYTES = 2 ** 21;
const TIMEOUT_MS = 12_000;
const UNAVAILABLE = 'The profile is not available right now';
const NOT_A_PROFILE = 'The response is not a profile.';

/** A server that renders pages imports this file, too, and has no elements. */
const inBrowser = typeof HTMLElement === 'function';
const sheet = inBrowser ? new CSSStyleSheet() : undefined;
sheet?.replaceSync(SHEET);

/** An error with a message that is shown on the card; `retry`: the same request may succeed later; `isFinal`: no other base knows more. */
const fail = (message, retry = false, isFinal = false) =>
  Object.assign(new Error(message), { retry, isFinal });

const LOADING = ['base', 'variant', 'user', 'items'];
const ATTRIBUTES = [...LOADING, 'theme'];

class VitrineProfile extends (inBrowser ? HTMLElement : Object) {
  static observedAttributes = LOADING;
  #pending = new AbortController();
  #turn = 0;
  #status = h('p', { role: 'status' });
  #content = h('div', { class: 'content' });
  #skeleton = h('div', { class: 'skeleton', 'aria-hidden': 'true' });
  #card = h('article', { part: 'card' }, this.#status, this.#skeleton, this.#content);

  constructor() {
    super();
    const root = this.attachShadow({ mode: 'open' });
    root.adoptedStyleSheets = [sheet];
    root.append(this.#card);
  }
  connectedCallback() {
    // Properties that were set before this script ran hide those of the class.
    for (const name of ATTRIBUTES) {
      if (!Object.hasOwn(this, name)) continue;
      const value = this[name];
      delete this[name];
      this[name] = value;
    }
    this.#schedule();
  }
  disconnectedCallback() {
    this.#pending.abort();
  }
  attributeChangedCallback(_name, before, after) {
    if (before !== after) this.#schedule();
  }

  /** Loads once when several attributes are set in a row. */
  #schedule() {
    const turn = ++this.#turn;
    queueMicrotask(() => turn === this.#turn && this.isConnected && this.#load());
  }

  async #load() {
    this.#pending.abort();
    this.#pending = new AbortController();
    const { signal } = this.#pending;
    const { user } = this;
    const letter = (this.variant || 'b').toLowerCase();
    const variant = Object.hasOwn(VARIANTS, letter) ? VARIANTS[letter] : undefined;
    const count = Math.min(Math.max(Number.parseInt(this.items || '6', 10) || 0, 0), 15);
    this.#showLoading(user, variant, count);
    try {
      if (variant === undefined)
        throw fail(`The attribute \`variant\` must be one of ${Object.keys(VARIANTS).join(', ')}.`);
      if (user === '') throw fail('The attribute `user` is missing.');
      const bases = this.base.match(/\S+/g) ?? [new URL(letter, ROOT).href];
      const [base, profile, items] = await load(bases, variant, user, count, signal);
      const page = PAGES && new URL(base, document.baseURI).origin === ROOT.origin && `people/${letter}/`;
      if (signal.aborted) return;
      this.#showProfile(variant, profile, items, count, page);
      this.dispatchEvent(new CustomEvent('load', { detail: { profile, items } }));
    } catch (thrown) {
      if (signal.aborted) return;
      const error = thrown.retry === undefined ? fail(`${UNAVAILABLE}.`, true) : thrown;
      this.#showError(error);
      this.dispatchEvent(new ErrorEvent('error', { error, message: error.message }));
    }
  }

  /** The skeleton, a card of blank data, stays behind the content to reserve its height. */
  #showLoading(user, variant = VARIANTS.b, count) {
    const blank = { username: '-', bio: '-\n-', totalFollowers: '1' };
    this.#skeleton.replaceChildren(...drawCard(variant, blank, Array(count).fill({}), count, PAGES));
    this.#card.setAttribute('aria-busy', 'true');
    this.#card.setAttribute('aria-label', 'Profile');
    this.#status.textContent = `Loading ${user}…`;
  }

  #showError({ message, retry }) {
    const again = h('button', { type: 'button' }, 'Try again');
    again.addEventListener('click', () => this.#load());
    const words = h('p', { role: 'status' }, h('b', {}, message));
    if (!retry) this.#skeleton.replaceChildren();
    this.#show('Profile', h('div', { class: 'state' }, words, retry ? again : ''));
  }

  #showProfile(variant, profile, items, count, page) {
    const name = visible(text(profile, 'name')) || text(profile, 'username');
    this.#show(`${name}, profile`, ...drawCard(variant, profile, items, count, page));
  }

  #show(label, ...content) {
    this.#content.replaceChildren(...content);
    this.#status.textContent = '';
    this.#card.setAttribute('aria-label', label);
    this.#card.removeAttribute('aria-busy');
  }
}

for (const name of ATTRIBUTES)
  Object.defineProperty(VitrineProfile.prototype, name, {
    get() {
      return this.getAttribute(name) ?? '';
    },
    set(value) {
      if (value == null) this.removeAttribute(name);
      else this.setAttribute(name, value);
    },
  });

/** From the first base that knows whether there is this user; they share the time. */
async function load([base, ...others], variant, user, count, signal, ms = TIMEOUT_MS / (others.length + 1)) {
  try {
    return [
      base,
      ...(await loadFrom(base, variant, user, count, AbortSignal.any([signal, AbortSignal.timeout(ms)]))),
    ];
  } catch (error) {
    if (others.length === 0 || signal.aborted || error.isFinal) throw error;
    return load(others, variant, user, count, signal, ms);
  }
}

async function loadFrom(base, variant, user, count, limit) {
  if (!URL.canParse(base, document.baseURI)) throw fail('The attribute `base` is not a valid address.');
  const root = new URL(base, document.baseURI).href.replace(/[?#].*$/s, '').replace(/\/+$/, '');
  const url = (lookup) => root + lookup.replace(':username', encodeURIComponent(user.toWellFormed()));
  const [profile, body] = await Promise.all([
    request(url(variant.profile), user, limit),
    count > 0 ? request(url(variant.items), user, limit) : {},
  ]);
  const list = body[variant.list];
  if (text(profile, 'username') === '') throw fail(NOT_A_PROFILE, true);
  return [profile, Array.isArray(list) ? list.filter(isData).slice(0, count) : []];
}

async function request(address, user, signal) {
  const response = await fetch(address, { signal, credentials: 'omit' });
  const { ok, status } = response;
  const data = await readJson(response);
  if (ok && data) return data;
  if (ok) throw fail(NOT_A_PROFILE, true);
  if (data?.code === 'USER_NOT_FOUND' || status === 410)
    throw fail(`No user named “${user.slice(0, 60).toWellFormed()}”.`, false, true);
  if (status === 404) throw fail('Nothing at this address: check the attributes `base` and `variant`.');
  throw fail(`${UNAVAILABLE} (${status}).`, status === 429 || status >= 500);
}

/** The JSON object in a body; undefined for anything else. Reads at most MAX_BYTES. */
async function readJson({ body }) {
  if (body === null) return undefined;
  const decoder = new TextDecoder();
  let [json, size] = ['', 0];
  for (const reader = body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > MAX_BYTES) {
      reader.cancel();
      throw fail('The response is too large.');
    }
    json += decoder.decode(value, { stream: true });
  }
  try {
    const data = JSON.parse(json + decoder.decode());
    return isData(data) ? data : undefined;
  } catch {}
}

function drawCard({ item, total }, profile, items, wanted, page) {
  const noun = `${item}s`;
  const user = text(profile, 'username');
  const name = visible(text(profile, 'name')) || user;
  const bio = text(profile, 'bio');
  /** A zero says nothing: totals are often not imported. */
  const count = (word, member) =>
    /[1-9]/.test(text(profile, member))
      ? h('div', {}, h('dt', {}, word), h('dd', {}, grouped(text(profile, member))))
      : '';
  const list = h('ul', {
    part: 'items',
    class: item === 'post' ? 'posts' : 'grid',
    'aria-label': WORDS.latest[noun],
  });
  const marks = distinctInitials(items.map((each) => visible(text(each, 'title'))));
  // In the skeleton, links lead nowhere.
  const own = typeof page === 'string' ? new URL(page + encodeURIComponent(user), ROOT).href : '';
  list.append(
    ...items.map((each, index) => (item === 'post' ? post(each) : shot(each, marks[index] ?? '', own))),
  );
  return [
    picture(text(profile, 'cover_image'), 'cover', `${user} cover`, '', 'cover'),
    h(
      'header',
      { dir: 'auto' },
      picture(text(profile, 'avatar'), 'avatar', user, takeInitials(name), 'avatar'),
      h(
        'p',
        { class: 'name', part: 'name' },
        link(text(profile, 'website'), {}, name),
        /[1-9]/.test(text(profile, 'verified'))
          ? h('span', { class: 'verified', role: 'img', 'aria-label': WORDS.verified }, '✓')
          : '',
      ),
      h('p', { class: 'quiet line' }, h('bdi', {}, `@${user}`)),
      bio && h('p', { class: 'bio', part: 'bio', dir: 'auto' }, bio),
      h(
        'dl',
        { part: 'counts' },
        count(WORDS.counts[noun], total),
        count(WORDS.counts.followers, 'totalFollowers'),
      ),
    ),
    items.length > 0 ? list : '',
    h(
      'div',
      { class: 'more quiet' },
      items.length === 0 && wanted > 0 ? h('p', {}, WORDS.none[noun]) : '',
      page ? link(own, {}, `${WORDS.all[noun]} · ${ROOT.host}`) : '',
    ),
  ].filter((part) => part instanceof Node);
}

/** `own` is the page of the person, if there is one. */
function shot(item, mark, own) {
  const title = visible(text(item, 'title')) || WORDS.untitled;
  const price = shownPrice(text(item, 'price_item').slice(0, 24));
  return h(
    'li',
    { part: 'item' },
    picture(text(item, 'image'), 'tile', `${title} ${text(item, 'id')}`, mark),
    link(
      own
        ? `${own}/${encodeURIComponent(text(item, 'id'))}`
        : text(item, 'url_purchased') || text(item, 'attachment') || text(item, 'large_image'),
      { class: 'title', dir: 'auto' },
      title,
      price && ` · ${price}`,
    ),
  );
}

function post(item) {
  const words = text(item, 'post_details');
  const photo = text(item, 'photo') || text(item, 'video_thumbnail');
  const [video, audio] = [text(item, 'video_url'), text(item, 'url_audio')];
  return h(
    'li',
    { part: 'item' },
    h(
      'div',
      { class: 'words' },
      h('p', { class: 'text', dir: 'auto' }, words),
      video &&
        h('p', { class: 'line' }, link(video, {}, visible(text(item, 'video_title')) || WORDS.kinds.Video)),
      audio &&
        h('p', { class: 'line' }, link(audio, {}, visible(text(item, 'title_audio')) || WORDS.kinds.Audio)),
      h('p', { class: 'quiet' }, writtenDate(text(item, 'date'))),
    ),
    photo && picture(photo, 'photo', words, ''),
  );
}

/** The picture over a fallback of initials on a gradient. */
function picture(address, kind, seed, letters, part) {
  const frame = h('div', { class: `pic ${kind}`, part, 'aria-hidden': 'true' }, letters);
  // Set from script: a Content-Security-Policy may forbid style attributes.
  frame.style.background = `linear-gradient(140deg, ${HUES[chooseHue(seed)]})`;
  const source = web(address);
  if (source === undefined) return frame;
  const image = h('img', { alt: '', loading: 'lazy', referrerpolicy: 'no-referrer' });
  image.addEventListener('error', () => image.remove());
  image.setAttribute('src', source.href);
  frame.append(image);
  return frame;
}

function link(address, attributes, ...words) {
  const url = web(address);
  return url === undefined
    ? h('span', attributes, ...words)
    : h('a', { ...attributes, href: url.href, rel: 'noopener noreferrer nofollow' }, ...words);
}

function web(address) {
  if (address.startsWith(SAMPLES)) return new URL(`samples/${address.slice(SAMPLES.length)}`, ROOT);
  const url = URL.canParse(address) ? new URL(address) : undefined;
  return url && /^https?:$/.test(url.protocol) ? url : undefined;
}

function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (value !== undefined) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== ''));
  return element;
}

const isData = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const text = (data, member) => (typeof data[member] === 'string' ? data[member].slice(0, 2000) : '');

if (inBrowser && !customElements.get('vitrine-profile'))
  customElements.define('vitrine-profile', VitrineProfile);
