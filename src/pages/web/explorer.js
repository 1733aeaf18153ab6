// @ts-check
// The explorer page: the server's own page of a person, next to the request that its URL names and the response.
import { drawCardSection, hideCardSection } from './explorer/card-section.js';
import { enhanceCode, rememberLanguage } from './explorer/code-tabs.js';
import { byId, copyButton, el } from './explorer/dom.js';
import { drawRequestLine, drawResponse, drawStatus } from './explorer/exchange.js';
import { drawNotice, NO_DATA, NO_NAME, noticeFor } from './explorer/notices.js';
import { drawPeople, suggestPeople } from './explorer/people.js';
import { isResponse, sendRequest } from './explorer/send.js';
import {
  addressAfter,
  buildBase,
  buildUrl,
  configuration,
  currentState,
  personPage,
  root,
  saveRecent,
} from './explorer/state.js';

/** @typedef {import('./explorer/send.js').ApiResponse} ApiResponse */
/** @typedef {import('./explorer/send.js').Outcome} Outcome */
/** @typedef {import('./explorer/notices.js').Notice} Notice */
/** @typedef {import('./explorer/state.js').State} State */

const POLL_MS = 1000;
const { variants } = configuration;
const userField = /** @type {HTMLInputElement} */ (byId('user'));
const profilePane = byId('profile');
let pending = new AbortController();
let scrolled = false;
/** The request for which code is shown. @type {import('./explorer/snippets.js').Shown} */
let shown = { url: '', types: [] };
const updateCode = enhanceCode(byId('request-code'), () => shown, announce);

/** @param {Partial<State>} change */
function navigate(change) {
  const address = addressAfter(change);
  if (address !== location.href.replace(/#.*/, '')) history.pushState(null, '', address);
  show();
}

/** @param {Record<string, string>} [headers] of the request */
async function show(headers = {}) {
  const state = currentState();
  const { variant, user, resource } = state;
  pending.abort();
  pending = new AbortController();
  updateControls(state);
  if (configuration.noData || (user === '' && !new URLSearchParams(location.search).has('user'))) {
    byId('request').setAttribute('hidden', '');
    return showNotice(configuration.noData ? NO_DATA : NO_NAME);
  }

  const url = buildUrl(variant, user, resource);
  drawRequest(state, url, headers);
  drawOutcome(url, undefined);
  setBusy(true);
  const outcomes = await load(state, url, pending.signal, headers);
  if (outcomes === undefined) return;
  setBusy(false);
  drawPerson(state, ...outcomes);
  drawOutcome(url, outcomes[0]);
  byId('response').replaceChildren(...drawResponse('Body', outcomes[0], announce));
  if (!scrolled && location.hash !== '') document.getElementById(location.hash.slice(1))?.scrollIntoView();
  // The browser could not scroll to a section that was still hidden.
  scrolled = true;
}

/**
 * The response, and the person's page; undefined if another navigation aborted it.
 * @param {State} state @param {string} url @param {AbortSignal} signal @param {Record<string, string>} more headers
 * @returns {Promise<[Outcome, Outcome] | undefined>}
 */
async function load({ variant, user }, url, signal, more) {
  /** @type {Outcome} */
  const elsewhere = { kind: 'other-host', ms: 0 };
  if (new URL(buildBase(variant)).origin !== location.origin) return [elsewhere, elsewhere];
  const headers = { ...more, Accept: 'text/html' };
  try {
    return await Promise.all([
      sendRequest(url, { signal, headers: more }),
      sendRequest(personPage(variant, user), { signal, headers, cache: 'no-cache' }),
    ]);
  } catch {
    return undefined;
  }
}

/** @param {boolean} busy */
function setBusy(busy) {
  for (const element of [profilePane, byId('request')])
    if (busy) element.setAttribute('aria-busy', 'true');
    else element.removeAttribute('aria-busy');
}

/** The person, or what there is in their place. @param {State} state @param {Outcome} outcome @param {Outcome} page */
function drawPerson(state, outcome, page) {
  if (!isAnswer(outcome) || !isPage(page))
    return showNotice(noticeFor(isAnswer(outcome) ? page : outcome, state.variant));
  showPage(page);
  if (page.status !== 200) return hideCardSection();
  const hosts = listBlockedHosts(outcome);
  const words = `Pictures from ${hosts.join(', ')} are not loaded. To allow a host, add it to the setting IMAGE_HOSTS.`;
  profilePane.append(
    el(
      'p',
      { class: 'source' },
      el('a', { href: page.url }, 'Link to this profile'),
      hosts.length > 0 && el('span', {}, words),
    ),
  );
  saveRecent(state);
  drawPeople(choosePerson);
  drawCardSection(state.variant, state.user, announce);
}

/** A record or list, or the API's word that there is no such user. @param {Outcome} outcome @returns {outcome is ApiResponse} */
const isAnswer = (outcome) =>
  isResponse(outcome) && typeof outcome.json === 'object' && [200, 404, 410].includes(outcome.status);

/** @param {Outcome} page @returns {page is ApiResponse} */
const isPage = (page) => isResponse(page) && page.text.includes('<main ');

/** @param {ApiResponse} page */
function showPage({ url, text }) {
  const page = new DOMParser().parseFromString(text, 'text/html');
  const main = /** @type {HTMLElement} */ (page.querySelector('main'));
  for (const element of main.querySelectorAll('[href], [src]'))
    for (const name of ['href', 'src']) {
      const address = element.getAttribute(name);
      if (address !== null) element.setAttribute(name, findAddress(new URL(address, url)));
    }
  profilePane.className = `pane ${page.body.className}`;
  profilePane.dir = main.dir;
  profilePane.replaceChildren(...main.childNodes);
  document.title = page.title;
  announce(page.title);
}

/** Other people are shown here as well. @param {URL} url */
function findAddress({ href, hash }) {
  const [letter = '', name = '', ...more] = href.startsWith(`${root}people/`)
    ? href.slice(`${root}people/`.length).split(/[/?]/)
    : [];
  const variant = variants.find((each) => each.name === letter);
  const isSearch = href.includes('?');
  return variant === undefined || isSearch || hash !== '' || more.length > 0
    ? href
    : addressAfter({ variant, user: decodeURIComponent(name) });
}

const PICTURE =
  /"(?:avatar|cover|photo|image|large_image|video_thumbnail|thumbnail_song)\w*":"(https?:[^"]+)"/g;

/** The first hosts of pictures that this page may not load. @param {ApiResponse} response */
function listBlockedHosts({ text }) {
  const { imageHosts, samples } = configuration;
  if (imageHosts === '*' || samples) return [];
  const urls = [...text.matchAll(PICTURE)].map(([, address = '']) => new URL(address));
  const blocked = urls.filter(({ origin }) => origin !== location.origin && !imageHosts.includes(origin));
  return [...new Set(blocked.map(({ host }) => host))].slice(0, 3);
}

/** @param {Notice} content */
function showNotice(content) {
  setBusy(false);
  profilePane.className = 'pane';
  profilePane.dir = '';
  profilePane.replaceChildren(drawNotice(content, showAgain));
  document.title = content.title;
  announce([content.title, ...content.details].join('. '));
  hideCardSection();
}

function showAgain() {
  // The button disappears with its notice, so the focus moves to what replaces it.
  profilePane.focus();
  show();
}

/** @param {string} name */
const choosePerson = (name) => navigate({ user: name });

/** The address, and the code. @param {State} state @param {string} url @param {Record<string, string>} headers */
function drawRequest({ variant, resource }, url, headers) {
  byId('request').removeAttribute('hidden');
  byId('summary').replaceChildren(drawRequestLine({ url, headers }, announce));
  const noun = nounFor(variant);
  const items = variant.collection === noun ? `{ ${noun} }` : `{ ${variant.collection}: ${noun} }`;
  shown =
    resource === 'profile'
      ? {
          url,
          headers,
          target: 'profile',
          types: [noun === 'posts' ? 'MicroblogProfile' : 'PortfolioProfile'],
        }
      : { url, headers, target: items, types: [`Items${variant.name.toUpperCase()}`] };
  updateCode();
}

/** @param {string} url @param {Outcome | undefined} outcome */
function drawOutcome(url, outcome) {
  /** Shows whether the response is current. @param {string} etag */
  const revalidate = async (etag) => {
    const state = currentState();
    const headers = { 'If-None-Match': etag };
    drawRequest(state, url, headers);
    drawOutcome(url, await sendRequest(url, { headers }));
  };
  byId('outcome').replaceChildren(drawStatus(outcome, revalidate));
}

/** @param {State['variant']} variant */
const nounFor = ({ family }) => (family === 'microblog' ? 'posts' : 'shots');

function listenToControls() {
  byId('choose').addEventListener('submit', (event) => {
    event.preventDefault();
    // The keyboard of a phone adds a space.
    navigate({ user: userField.value.trim() });
  });
  userField.addEventListener('input', () => suggestPeople(userField.value));
  for (const radio of radios())
    radio.addEventListener('change', () => {
      const variant = variants.find(({ name }) => name === radio.value);
      if (radio.name === 'variant') navigate({ variant });
      else navigate({ resource: radio.value === 'items' ? 'items' : 'profile' });
    });
  const own = document.getElementById('own');
  if (own !== null)
    byId('copy-own').replaceWith(copyButton('the two lines', () => own.textContent ?? '', announce));
}

/** The radio buttons for the variant and for the request. @returns {NodeListOf<HTMLInputElement>} */
const radios = () => document.querySelectorAll('#variants input, #resources input');

/** Makes the controls match the state. @param {State} state */
function updateControls({ variant, user, resource }) {
  const noun = nounFor(variant);
  for (const radio of radios()) {
    radio.checked = radio.value === (radio.name === 'variant' ? variant.name : resource);
    if (radio.value === 'items')
      radio.nextElementSibling?.replaceChildren(`${noun.slice(0, 1).toUpperCase()}${noun.slice(1)}`);
  }
  userField.value = user;
  drawPeople(choosePerson);
}

/** Where files are served themselves, a saved file shows at once: this page is asked for again, and differs if the data does. */
async function watchData() {
  showSaveTime();
  if (document.hidden) return;
  try {
    const page = new DOMParser().parseFromString(await (await fetch(location.pathname)).text(), 'text/html');
    const { people, live } = JSON.parse(page.getElementById('configuration')?.textContent ?? 'null');
    if (live.made === configuration.live?.made) return;
    Object.assign(configuration, { people, live });
    showSaveTime();
    show();
  } catch {
    // The server is being started again.
  }
}

function showSaveTime() {
  if (configuration.live === null) return;
  const { savedAt, faults } = configuration.live;
  const seconds = Math.max(0, Math.floor((Date.now() - savedAt) / 1000));
  const isOld = faults.length > 0 || seconds >= 120;
  byId('saved').textContent =
    `Saved ${isOld ? `on ${new Date(savedAt).toLocaleString()}` : `${seconds} s ago`}.`;
  const box = byId('faults');
  box.hidden = faults.length === 0;
  const shown = faults.join('\n');
  const lines = /** @type {HTMLElement} */ (box.lastElementChild);
  if (lines.textContent !== shown) lines.textContent = shown;
}

/** @param {string} message */
function announce(message) {
  byId('status').textContent = message;
}

rememberLanguage();
listenToControls();
window.addEventListener('popstate', () => show());
// The buttons of `serve --rehearse`.
document.addEventListener('rehearse', (event) => {
  show({ 'X-Rehearse': /** @type {CustomEvent<string>} */ (event).detail });
});
if (configuration.live !== null) {
  showSaveTime();
  setInterval(watchData, POLL_MS);
}
if (variants.length === 0)
  showNotice({
    title: 'Every variant is switched off',
    details: ['Set BASE_URL_A, BASE_URL_B or BASE_URL_C to serve one.'],
  });
else show();
