// @ts-check
// The explorer: which variant and whom the address names, what is asked for them, and where it is drawn.
import { addressOf, ask, baseOf, isAnswer, itemsIn, profileIn } from './explorer/asking.js';
import { byId, el } from './explorer/dom.js';
import { drawItems, drawProfile, titleOf } from './explorer/exhibit.js';
import { codeBlock, drawAsked, drawBody, drawCode, duration } from './explorer/label.js';
import { recall, remember } from './explorer/memory.js';
import { createPictures, initialsOf } from './explorer/pictures.js';
import { drawNotice, noticeOf } from './explorer/trouble.js';

/** @typedef {import('./explorer/asking.js').Variant} Variant */
/** @typedef {import('./explorer/asking.js').Part} Part */
/** @typedef {import('./explorer/asking.js').Outcome} Outcome */
/** @typedef {{ variant: Variant, user: string, part: Part }} State */
/**
 * @type {{ variants: Variant[], samples: boolean, people: { name: string, avatar: string }[], imageHosts: '*' | string[],
 *   docs: boolean }}
 */
const configuration = JSON.parse(byId('configuration').textContent ?? 'null');
const { variants, samples, people } = configuration;
const pictures = createPictures(configuration);
const memory = recall();

const KINDS = { a: 'microblog', b: 'portfolio', c: 'portfolio' };
const itemsWord = (/** @type {Variant} */ { name }) => (name === 'a' ? 'Posts' : 'Shots');

const field = /** @type {HTMLInputElement} */ (byId('user'));
const exhibit = byId('exhibit');
let pending = new AbortController();
/** @type {{ key: string, profile: Outcome, items: Outcome } | undefined} */
let shown;

for (const link of document.querySelectorAll('.docs')) if (configuration.docs) link.removeAttribute('hidden');
drawVariants();
byId('choose').addEventListener('submit', (event) => {
  event.preventDefault();
  go({ user: field.value });
});
window.addEventListener('popstate', () => show(stateNow()));
if (variants.length === 0)
  exhibit.replaceChildren(
    notice({
      title: 'Every variant is switched off',
      words: ['Give one a base address, and it will be shown here.'],
    }),
  );
else show(stateNow());

/** The state is what the address says; what it leaves out is remembered, or the first there is. @returns {State} */
function stateNow() {
  const query = new URLSearchParams(location.search);
  const named = variants.find(({ name }) => name === (query.get('variant') ?? memory.variant));
  return {
    variant: named ?? /** @type {Variant} */ (variants[0]),
    user: query.get('user') ?? memory.user ?? people[0]?.name ?? '',
    part: query.get('show') === 'items' ? 'items' : 'profile',
  };
}

/** @param {Partial<State>} change */
function addressAfter(change) {
  const { variant, user, part } = { ...stateNow(), ...change };
  const query = new URLSearchParams({
    variant: variant.name,
    user,
    ...(part === 'items' ? { show: 'items' } : {}),
  });
  return `?${query}`;
}

/** @param {Partial<State>} change */
function go(change) {
  const address = addressAfter(change);
  if (address !== location.search) history.pushState(null, '', address);
  else shown = undefined;
  show(stateNow());
}

/** @param {State} state */
async function show(state) {
  const { variant, user, part } = state;
  pending.abort();
  const mine = new AbortController();
  pending = mine;
  drawChoice(state);
  if (user === '' && !new URLSearchParams(location.search).has('user')) return welcome();

  const key = JSON.stringify([variant.name, user]);
  if (shown?.key !== key) {
    exhibit.setAttribute('aria-busy', 'true');
    const { signal } = mine;
    const both = await Promise.all([
      ask(variant, user, 'profile', { signal }),
      ask(variant, user, 'items', { signal }),
    ]).catch(() => undefined);
    if (both === undefined || signal.aborted) return;
    shown = { key, profile: both[0], items: both[1] };
    exhibit.removeAttribute('aria-busy');
    drawCase(state, shown);
  }
  drawLabel(state, shown[part]);
}

/** @param {State} state @param {{ profile: Outcome, items: Outcome }} outcomes */
function drawCase({ variant, user }, { profile, items }) {
  const record = profileIn(profile);
  pictures.refused.clear();
  if (record === undefined) {
    const found = noticeOf(
      profile,
      variant,
      user,
      people.map(({ name }) => name),
    );
    exhibit.replaceChildren(notice(found));
    document.title = `${found.title} · Vitrine`;
    say([found.title, ...found.words].join('. '));
    drawCard(undefined, variant, user);
  } else {
    const list = itemsIn(variant, items);
    const drawn = [
      drawProfile(variant.name, record, pictures),
      list === undefined
        ? notice(noticeOf(items, variant, user, []))
        : drawItems(variant.name, record, list, pictures),
    ];
    if (pictures.refused.size > 0) drawn.push(el('p', { class: 'refused' }, refusal([...pictures.refused])));
    exhibit.replaceChildren(...drawn);
    const title = titleOf(record);
    document.title = `${title} · variant ${variant.name.toUpperCase()} · Vitrine`;
    say(
      `${title}, ${list?.length ?? 0} ${itemsWord(variant).toLowerCase()}, in ${duration(Math.max(profile.ms, items.ms))}`,
    );
    remember(memory, variant.name, user);
    drawCompany(stateNow());
    drawCard(list, variant, user);
  }
  const { origin, pathname, search } = new URL(addressOf(variant, user, 'profile'));
  const status = isAnswer(profile) ? String(profile.status) : 'no answer';
  const tone = isAnswer(profile) && profile.status < 400 ? 'good' : 'poor';
  byId('plinth').replaceChildren(
    el('span', {}, `Variant ${variant.name.toUpperCase()}, ${KINDS[variant.name]}`),
    el('code', {}, `${origin === location.origin ? '' : origin}${pathname}${search}`),
    el('span', {}, el('span', { class: `dot ${tone}` }), status),
  );
}

/** @param {string[]} hosts */
const refusal = (hosts) =>
  `Pictures at ${hosts.slice(0, 3).join(', ')}${hosts.length > 3 ? ' and elsewhere' : ''} are not loaded: the setting IMAGE_HOSTS names whom this page may ask for them.`;

/** @param {State} state @param {Outcome} outcome */
function drawLabel(state, outcome) {
  byId('asked').replaceChildren(drawAsked(state, outcome, say));
  byId('code').replaceChildren(drawCode(state, say));
  byId('body').replaceChildren(drawBody(outcome, say));
  byId('request').removeAttribute('hidden');
}

function welcome() {
  exhibit.removeAttribute('aria-busy');
  exhibit.replaceChildren(
    notice({
      title: 'Whose work shall we look at?',
      words: ['Type the name of somebody who is in your data.'],
      names: memory.recent.slice(0, 6),
    }),
  );
  byId('request').setAttribute('hidden', '');
  byId('card').setAttribute('hidden', '');
  byId('plinth').replaceChildren();
}

/** @param {unknown[] | undefined} list whether there is somebody to show @param {Variant} variant @param {string} user */
function drawCard(list, variant, user) {
  const section = byId('card');
  section.toggleAttribute('hidden', list === undefined);
  if (list === undefined) return byId('card-here').replaceChildren();
  const base = baseOf(variant).href.replace(/\/+$/, '');
  const script = new URL('embed.js', document.baseURI).href;
  const name = user.toWellFormed().replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
  const snippet = `<script type="module" src="${script}"></script>\n<vitrine-profile base="${base}" variant="${variant.name}" user="${name}" items="6"></vitrine-profile>`;
  byId('snippet').replaceChildren(codeBlock('HTML', snippet, say));
  byId('card-here').replaceChildren(
    el('vitrine-profile', { base, variant: variant.name, user, items: variant.name === 'a' ? 3 : 6 }),
  );
  // Not before it is wanted: the card asks for itself.
  new IntersectionObserver((entries, observer) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    observer.disconnect();
    import('./embed.js');
  }).observe(section);
}

/** @param {import('./explorer/trouble.js').Notice} found */
function notice(found) {
  return drawNotice(found, {
    person: (name) => personLink(name, stateNow()),
    retry() {
      shown = undefined;
      show(stateNow());
    },
  });
}

function drawVariants() {
  for (const variant of variants) {
    const radio = el('input', {
      type: 'radio',
      name: 'variant',
      value: variant.name,
      change: () => go({ variant }),
    });
    byId('variants').append(
      el(
        'label',
        {},
        radio,
        el('b', {}, variant.name.toUpperCase()),
        ' ',
        el('span', {}, KINDS[variant.name]),
      ),
    );
  }
  for (const part of /** @type {Part[]} */ (['profile', 'items'])) {
    const radio = el('input', { type: 'radio', name: 'part', value: part, change: () => go({ part }) });
    byId('parts').append(el('label', {}, radio, el('span', {})));
  }
}

/** Makes the controls say what the state is. @param {State} state */
function drawChoice(state) {
  const { variant, user, part } = state;
  for (const radio of /** @type {NodeListOf<HTMLInputElement>} */ (
    document.querySelectorAll('input[type=radio]')
  )) {
    radio.checked = radio.value === (radio.name === 'variant' ? variant.name : part);
    if (radio.name !== 'part') continue;
    const words = radio.nextElementSibling;
    if (words !== null) words.textContent = radio.value === 'items' ? itemsWord(variant) : 'Profile';
  }
  if (document.activeElement !== field || field.value === '') field.value = user;
  drawCompany(state);
}

/** Whom to look at next: the sample users, or who was looked at before. @param {State} state */
function drawCompany(state) {
  const names = samples ? people.map(({ name }) => name) : memory.recent;
  byId('names').replaceChildren(...names.map((value) => el('option', { value })));
  const company = byId('company');
  company.toggleAttribute('hidden', names.length === 0);
  company.replaceChildren(...names.map((name) => personLink(name, state)));
}

/** @param {string} name @param {State} state */
function personLink(name, state) {
  const avatar = people.find((person) => person.name === name)?.avatar ?? '';
  const picture = pictures.picture(avatar, {
    kind: 'avatar chip',
    seed: name,
    initials: initialsOf(name),
    eager: true,
  });
  const current = name.toLowerCase() === state.user.toLowerCase();
  const link = el(
    'a',
    {
      class: 'person-link',
      href: addressAfter({ user: name }),
      'aria-current': current ? 'true' : undefined,
    },
    picture,
    el('bdi', {}, name),
  );
  link.addEventListener('click', (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    field.value = name;
    go({ user: name });
  });
  return link;
}

/** @param {string} message */
function say(message) {
  byId('status').textContent = message;
}
