// @ts-check
// Links to other users: those of the data that the page begins with, and those looked at before. Where there is a
// directory, the user's field suggests all who are called so.
import { byId, el } from './dom.js';
import { addressAfter, buildBase, configuration, currentState, isHere, listPeople, root } from './state.js';

/** @param {(name: string) => void} onChoose */
export function drawPeople(onChoose) {
  const { variant, user } = currentState();
  const known = listPeople(variant);
  byId('names').replaceChildren(...known.map((value) => el('option', { value })));
  const people = byId('people');
  const focused = people.contains(document.activeElement) ? document.activeElement?.textContent : undefined;
  const links = known.map((name) => {
    const current = name.toLowerCase() === user.toLowerCase();
    return el(
      'a',
      {
        href: addressAfter({ user: name }),
        'aria-current': current && 'true',
        click: (/** @type {MouseEvent} */ event) => {
          // Other clicks open a link in a new tab or window.
          if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
          event.preventDefault();
          onChoose(name);
        },
      },
      el('bdi', {}, name),
    );
  });
  people.replaceChildren(...links);
  links.find((link) => link.textContent === focused)?.focus();
}

const TYPING_MS = 150;
let typed = new AbortController();

/** Fills the list of the user's field with names that begin so. @param {string} text */
export async function suggestPeople(text) {
  typed.abort();
  typed = new AbortController();
  const { signal } = typed;
  const { variant } = currentState();
  if (!configuration.directory || !isHere(buildBase(variant)) || text.trim() === '') return;
  await new Promise((resolve) => setTimeout(resolve, TYPING_MS));
  try {
    signal.throwIfAborted();
    const query = new URLSearchParams({ q: text });
    const response = await fetch(new URL(`people/${variant.name}.json?${query}`, root), { signal });
    /** @type {{ people: { username: string, name: string }[] }} */
    const { people } = await response.json();
    byId('names').replaceChildren(
      ...people.map(({ username, name }) => el('option', { value: username, label: name })),
    );
  } catch {
    // It was typed on, or the server is busy: there are other ways.
  }
}
