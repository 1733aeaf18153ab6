// @ts-check
// The explorer page: the server's own page of a person, next to the request that its URL names and the response.
import { drawCardSection, hideCardSection } from './explorer/card-section.js';
import { rememberLanguage } from './explorer/code-tabs.js';
import { byId, copyButton, el } from './explorer/dom.js';
import { drawNotice, NO_DATA, NO_NAME, noticeFor } from './explorer/notices.js';
import { drawPeople, suggestPeople } from './explorer/people.js';
import { createRequestPanel } from './explorer/request-panel.js';
import { isResponse, sendRequest } from './explorer/send.js';
import {
  addressAfter,
  buildBase,
  buildUrl,
  configuration,
  currentState,
  isHere,
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
const requestPanel = createRequestPanel(
  {
    panel: byId('request'),
    code: byId('request-code'),
    line: byId('summary'),
    status: byId('outcome'),
    response: byId('response'),
  },
  'Body',
  announce,
  sendHere,
);

/** @param {Partial<State>} change */
function navigate(change) {
  const address = addressAfter(change);
  if (address !== location.href.replace(/#.*/, '')) history.pushState(null, '', address);
  show();
}

/** @param {Record<string, string>} [headers] of the request */
async function show(headers = {}) {
  const state = currentState();
  pending.abort();
  pending = new AbortController();
  updateControls(state);
  if (configuration.noData || (state.user === '' && !new URLSearchParams(location.search).has('user'))) {
    byId('request').setAttribute('hidden', '');
    return showNotice(configuration.noData ? NO_DATA : NO_NAME);
  }

  byId('request').removeAttribute('hidden');
  profilePane.setAttribute('aria-busy', 'true');
  const { signal } = pending;
  const [outcome, page] = await Promise.all([
    requestPanel.send(describeRequest(state, headers)),
    loadPage(state, { signal, headers: { ...headers, Accept: 'text/html' }, cache: 'no-cache' }),
  ]);
  if (outcome === undefined || page === undefined) return;
  profilePane.removeAttribute('aria-busy');
  drawPerson(state, outcome, page);
  if (!scrolled && location.hash !== '') document.getElementById(location.hash.slice(1))?.scrollIntoView();
  // The browser could not scroll to a section that was still hidden.
  scrolled = true;
}

/**
 * Sends requests to this host and no other.
 * @param {string} url @param {Parameters<typeof sendRequest>[1]} [options] @returns {Promise<Outcome>}
 */
async function sendHere(url, options) {
  return isHere(url) ? sendRequest(url, options) : { kind: 'other-host', ms: 0 };
}

/** The person's page; undefined if another navigation aborted it. @param {State} state @param {Parameters<typeof sendRequest>[1]} options */
const loadPage = async ({ variant, user }, options) =>
  isHere(buildBase(variant))
    ? sendRequest(personPage(variant, user), options).catch(() => undefined)
    : sendHere(buildBase(variant));

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
  profilePane.removeAttribute('aria-busy');
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

/** @param {State} state @param {Record<string, string>} headers */
function describeRequest({ variant, user, resource }, headers) {
  const request = { url: buildUrl(variant, user, resource), headers };
  const noun = nounFor(variant);
  if (resource === 'profile')
    return {
      ...request,
      target: 'profile',
      types: [noun === 'posts' ? 'MicroblogProfile' : 'PortfolioProfile'],
    };
  const target = variant.collection === noun ? `{ ${noun} }` : `{ ${variant.collection}: ${noun} }`;
  return { ...request, target, types: [`Items${variant.name.toUpperCase()}`] };
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
