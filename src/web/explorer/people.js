// @ts-check
// Links to other users: those of the data that the page begins with, and those looked at before.
import { byId, el } from './dom.js';
import { addressAfter, currentState, listPeople } from './state.js';

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
