// A front-end with Vue: the person that the address names as `?user=`.
import { createApp, defineComponent, h, ref, shallowRef, watchEffect } from 'vue';
import { load, type Person } from './load.ts';

function usePerson(user: () => string) {
  const person = shallowRef<Person>({ state: 'loading' });
  const attempt = ref(1);
  watchEffect(async (onCleanup) => {
    let isWanted = attempt.value > 0;
    onCleanup(() => {
      isWanted = false;
    });
    person.value = { state: 'loading' };
    const loaded = await load(user());
    if (isWanted) person.value = loaded;
  });
  return { person, tryAgain: () => attempt.value++ };
}

const PersonPage = defineComponent({
  props: { user: { type: String, required: true } },
  setup(props) {
    const { person: current, tryAgain } = usePerson(() => props.user);
    return () => {
      const person = current.value;
      switch (person.state) {
        case 'loading':
          return h('p', { role: 'status' }, 'Loading…');
        case 'unknown':
          return h('p', `There is no ${props.user}.`);
        case 'failed':
          return h('div', { role: 'alert' }, [
            h('p', person.message),
            h('button', { type: 'button', onClick: tryAgain }, 'Try again'),
          ]);
        case 'found':
          return [
            h('h1', person.profile.name || person.profile.username),
            h('p', person.profile.bio),
            person.shots.length === 0 && h('p', 'Nothing yet.'),
            h(
              'ul',
              person.shots.map((shot) => h('li', { key: shot.id }, shot.title)),
            ),
          ];
      }
    };
  },
});

const user = new URLSearchParams(location.search).get('user') ?? 'ada';
const root = document.createElement('main');
document.body.append(root);
createApp(PersonPage, { user }).mount(root);
