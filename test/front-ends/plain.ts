// A front-end without a framework: the person that the address names as `?user=`.
import { load, type Person } from './load.ts';

const user = new URLSearchParams(location.search).get('user') ?? 'ada';
const root = document.createElement('main');
document.body.append(root);

async function show(): Promise<void> {
  root.replaceChildren(...render({ state: 'loading' }));
  root.replaceChildren(...render(await load(user)));
}

function render(person: Person): Element[] {
  switch (person.state) {
    case 'loading':
      return [create('p', { role: 'status', textContent: 'Loading…' })];
    case 'unknown':
      return [create('p', { textContent: `There is no ${user}.` })];
    case 'failed': {
      const alert = create('div', { role: 'alert' });
      const button = create('button', { type: 'button', textContent: 'Try again', onclick: show });
      alert.append(create('p', { textContent: person.message }), button);
      return [alert];
    }
    case 'found': {
      const { profile, shots } = person;
      const list = create('ul', {});
      list.append(...shots.map((shot) => create('li', { textContent: shot.title })));
      return [
        create('h1', { textContent: profile.name || profile.username }),
        create('p', { textContent: profile.bio }),
        shots.length === 0 ? create('p', { textContent: 'Nothing yet.' }) : list,
      ];
    }
  }
}

const create = <Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  properties: Partial<HTMLElementTagNameMap[Tag]>,
): HTMLElementTagNameMap[Tag] => Object.assign(document.createElement(tag), properties);

show();
