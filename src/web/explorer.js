// @ts-check
// The explorer page: requests the profile and items that its URL names, and draws them.
import { buildUrl, isResponse, itemsIn, profileIn, sendRequest } from './explorer/api.js';
import { drawCardSection, hideCardSection, personPage } from './explorer/card-section.js';
import { byId, copyButton, el } from './explorer/dom.js';
import { drawItems, itemNoun } from './explorer/items.js';
import { watchData } from './explorer/live.js';
import { drawNotice, isUnknownUser, noticeFor } from './explorer/notices.js';
import { drawPeople, isPlainClick, personLink } from './explorer/people.js';
import { createPictures } from './explorer/pictures.js';
import { displayName, drawProfile } from './explorer/profile.js';
import { saveRecent } from './explorer/recent.js';
import {
  drawBody,
  drawDetails,
  drawSnippets,
  drawSummary,
  formatDuration,
} from './explorer/request-panel.js';
import { addressAfter, configuration, currentState, recent } from './explorer/state.js';

/** @typedef {import('./explorer/api.js').Outcome} Outcome */
/** @typedef {import('./explorer/api.js').Resource} Resource */
/** @typedef {import('./explorer/state.js').State} State */
/** @typedef {import('./explorer/api.js').Variant} Variant */
/** @typedef {{ profile: Outcome, items: Outcome, elsewhere?: Variant }} Outcomes */
/** @typedef {Outcomes & { key: string }} Loaded */

const { variants } = configuration;
const pictures = createPictures(configuration);
const userField = /** @type {HTMLInputElement} */ (byId('user'));
const profilePane = byId('profile');
let pending = new AbortController();
/** @type {Loaded | undefined} */
let loaded;
let scrolled = false;

fixLinks();
listenToControls();
byId('choose').addEventListener('submit', (event) => {
  event.preventDefault();
  navigate({ user: userField.value });
});
window.addEventListener('popstate', () => show(currentState()));
watchData(showAgain);
if (variants.length === 0)
  profilePane.replaceChildren(
    notice({
      title: 'Every variant is switched off',
      details: ['Set BASE_URL_A, BASE_URL_B or BASE_URL_C to serve one.'],
    }),
  );
else show(currentState());

/** The page's links are relative to the address it was loaded from, which history changes. */
function fixLinks() {
  for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll('[href]')))
    if (!link.getAttribute('href')?.startsWith('#')) link.setAttribute('href', link.href);
}

/** @param {Partial<State>} change */
function navigate(change) {
  const address = addressAfter(change);
  if (address !== location.href.replace(/#.*/, '')) history.pushState(null, '', address);
  else loaded = undefined;
  show(currentState());
}

function showAgain() {
  loaded = undefined;
  show(currentState());
}

/** @param {string} name */
function choosePerson(name) {
  // A suggestion disappears with its notice, so the focus moves to what replaces it.
  if (profilePane.contains(document.activeElement)) profilePane.focus();
  navigate({ user: name });
}

/** @param {State} state */
async function show(state) {
  const { variant, user, resource } = state;
  pending.abort();
  pending = new AbortController();
  updateControls(state);
  if (user === '' && !new URLSearchParams(location.search).has('user')) return welcome();

  const key = JSON.stringify([variant.name, user]);
  if (loaded?.key !== key) {
    byId('summary').replaceChildren(drawSummary(state, undefined, announce));
    const outcomes = await load(state, pending.signal);
    if (outcomes === undefined) return;
    loaded = { key, ...outcomes };
    setBusy(false);
    drawOutcomes(state, loaded);
  }
  drawRequest(state, loaded[resource]);
  scrollToFragment();
}

/** The browser could not scroll to a section that was still hidden. */
function scrollToFragment() {
  if (scrolled) return;
  scrolled = true;
  if (location.hash !== '') document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

/** @param {boolean} busy */
function setBusy(busy) {
  for (const element of [profilePane, byId('request')])
    if (busy) element.setAttribute('aria-busy', 'true');
    else element.removeAttribute('aria-busy');
}

/** Undefined if another navigation aborted it. @param {State} state @param {AbortSignal} signal @returns {Promise<Outcomes | undefined>} */
async function load({ variant, user }, signal) {
  setBusy(true);
  try {
    const [profile, items] = await Promise.all([
      sendRequest(variant, user, 'profile', { signal }),
      sendRequest(variant, user, 'items', { signal }),
    ]);
    const elsewhere = isUnknownUser(profile) ? await findElsewhere(variant, user, signal) : undefined;
    return signal.aborted ? undefined : { profile, items, elsewhere };
  } catch {
    return undefined;
  }
}

/** The variant of the other family that has this user. @param {Variant} variant @param {string} user @param {AbortSignal} signal */
async function findElsewhere({ family }, user, signal) {
  const other = variants.find((variant) => variant.family !== family);
  if (other === undefined) return undefined;
  return profileIn(await sendRequest(other, user, 'profile', { signal })) === undefined ? undefined : other;
}

/** @param {State} state @param {Outcomes} outcomes */
function drawOutcomes(state, outcomes) {
  pictures.blocked.clear();
  if (profileIn(outcomes.profile) === undefined) drawMissing(state, outcomes);
  else drawFound(state, outcomes);
  drawSource(state, outcomes.profile);
}

/** @param {State} state @param {Outcomes} outcomes */
function drawMissing({ variant, user }, { profile, elsewhere }) {
  const names = configuration.people[variant.family].map(({ name }) => name);
  const missing = { ...noticeFor(profile, variant, user, names), elsewhere };
  profilePane.replaceChildren(notice(missing));
  document.title = `${missing.title} · Vitrine`;
  const sentences = [missing.title, ...missing.details];
  announce(sentences.map((sentence) => (/[.:]$/.test(sentence) ? sentence : `${sentence}.`)).join(' '));
  hideCardSection();
}

/** @param {State} state @param {Outcomes} outcomes */
function drawFound({ variant, user }, { profile, items }) {
  const record = profileIn(profile) ?? {};
  const list = itemsIn(variant, items);
  const drawn = [
    drawProfile(variant, record, pictures),
    list === undefined
      ? notice(noticeFor(items, variant, user, []))
      : drawItems(variant, record, list, pictures),
  ];
  if (pictures.blocked.size > 0) drawn.push(el('p', { class: 'blocked' }, blockedPictures()));
  profilePane.replaceChildren(...drawn);
  const name = displayName(record);
  document.title = `${name} · variant ${variant.name.toUpperCase()} · Vitrine`;
  const time = formatDuration(Math.max(profile.ms, items.ms));
  announce(`${name}, ${list?.length ?? 0} ${itemNoun(variant)}, loaded in ${time}`);
  saveRecent(recent, variant.name, user);
  drawPeople(pictures, choosePerson);
  drawCardSection(variant, user, announce);
}

function blockedPictures() {
  const hosts = [...pictures.blocked];
  const shown = `${hosts.slice(0, 3).join(', ')}${hosts.length > 3 ? ' and other hosts' : ''}`;
  return `Pictures from ${shown} are not loaded. To allow a host, add it to the setting IMAGE_HOSTS.`;
}

/** The line below the profile: where it came from. @param {State} state @param {Outcome} outcome */
function drawSource({ variant, user }, outcome) {
  const { origin, pathname, search } = new URL(buildUrl(variant, user, 'profile'));
  const status = isResponse(outcome) ? String(outcome.status) : 'no response';
  const tone = isResponse(outcome) && outcome.status < 400 ? 'good' : 'poor';
  byId('source').replaceChildren(
    el('span', {}, `Variant ${variant.name.toUpperCase()}, ${variant.family}`),
    el('code', {}, `${origin === location.origin ? '' : origin}${pathname}${search}`),
    profileIn(outcome) !== undefined && el('a', { href: personPage(variant, user) }, 'Link to this profile'),
    el('span', {}, el('span', { class: `dot ${tone}` }), status),
  );
}

/** @param {State} state @param {Outcome} outcome */
function drawRequest(state, outcome) {
  byId('summary').replaceChildren(drawSummary(state, outcome, announce));
  byId('body').replaceChildren(drawBody(outcome, announce));
  byId('snippets').replaceChildren(drawSnippets(state, announce));
  byId('details').replaceChildren(drawDetails(state, outcome));
  byId('request').removeAttribute('hidden');
}

function welcome() {
  setBusy(false);
  profilePane.replaceChildren(
    notice({
      title: 'Enter a user name',
      details: ['Type the name of a user in your data.'],
      names: recent.users.slice(0, 6),
    }),
  );
  byId('request').setAttribute('hidden', '');
  hideCardSection();
  byId('source').replaceChildren();
}

/** @param {import('./explorer/notices.js').Notice} content */
function notice(content) {
  return drawNotice(content, {
    personLink: (name) => personLink(name, pictures, choosePerson),
    variantLink,
    onRetry: showAgain,
  });
}

/** @param {Variant} variant */
function variantLink(variant) {
  const words = `Show ${currentState().user} in variant ${variant.name.toUpperCase()}`;
  const link = el('a', { href: addressAfter({ variant }), dir: 'auto' }, words);
  link.addEventListener('click', (event) => {
    if (!isPlainClick(event)) return;
    event.preventDefault();
    profilePane.focus();
    navigate({ variant });
  });
  return link;
}

function listenToControls() {
  for (const radio of radios())
    radio.addEventListener('change', () => {
      const variant = variants.find(({ name }) => name === radio.value);
      if (radio.name === 'variant') navigate({ variant });
      else navigate({ resource: /** @type {Resource} */ (radio.value) });
    });
  const own = document.getElementById('own');
  if (own !== null)
    byId('copy-own').replaceWith(copyButton('the two lines', () => own.textContent ?? '', announce));
}

/** The radio buttons for the variant and for the request. @returns {NodeListOf<HTMLInputElement>} */
function radios() {
  return document.querySelectorAll('#variants input, #resources input');
}

/** Makes the controls match the state. @param {State} state */
function updateControls({ variant, user, resource }) {
  const noun = itemNoun(variant);
  for (const radio of radios()) {
    radio.checked = radio.value === (radio.name === 'variant' ? variant.name : resource);
    if (radio.name === 'resource' && radio.nextElementSibling !== null)
      radio.nextElementSibling.textContent =
        radio.value === 'items' ? `${noun.slice(0, 1).toUpperCase()}${noun.slice(1)}` : 'Profile';
  }
  userField.value = user;
  drawPeople(pictures, choosePerson);
}

/** @param {string} message */
function announce(message) {
  byId('status').textContent = message;
}
