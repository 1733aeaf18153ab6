// @ts-check
// Links to other users: the sample users, or those looked at before.
import { byId, el } from './dom.js';
import { takeInitials } from './pictures.js';
import { addressAfter, configuration, currentState, knownNames } from './state.js';

/** @typedef {import('./pictures.js').Pictures} Pictures */
/** @typedef {(name: string) => void} OnChoose */

/** @param {Pictures} pictures @param {OnChoose} onChoose */
export function drawPeople(pictures, onChoose) {
  const names = knownNames(currentState().variant);
  byId('names').replaceChildren(...names.map((value) => el('option', { value })));
  const people = byId('people');
  const focused = people.contains(document.activeElement) ? document.activeElement?.textContent : undefined;
  const links = names.map((name) => personLink(name, pictures, onChoose));
  people.replaceChildren(...links);
  links.find((link) => link.textContent === focused)?.focus();
}

/** Other clicks open a link in a new tab or window. @param {MouseEvent} event */
export const isPlainClick = ({ ctrlKey, metaKey, shiftKey, button }) =>
  !ctrlKey && !metaKey && !shiftKey && button === 0;

/** @param {string} name @param {Pictures} pictures @param {OnChoose} onChoose */
export function personLink(name, pictures, onChoose) {
  const avatar =
    Object.values(configuration.people)
      .flat()
      .find((person) => person.name === name)?.avatar ?? '';
  const picture = pictures.picture(avatar, {
    kind: 'avatar chip',
    seed: name,
    initials: takeInitials(name),
  });
  const current = name.toLowerCase() === currentState().user.toLowerCase();
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
    if (!isPlainClick(event)) return;
    event.preventDefault();
    onChoose(name);
  });
  return link;
}
