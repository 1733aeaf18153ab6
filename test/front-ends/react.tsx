// A front-end with React: the person that the address names as `?user=`.
import { useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { load, type Person } from './load.ts';

function usePerson(user: string): Person {
  const [person, setPerson] = useState<Person>({ state: 'loading' });
  useEffect(() => {
    let isWanted = true;
    load(user).then((loaded) => {
      if (isWanted) setPerson(loaded);
    });
    return () => {
      isWanted = false;
    };
  }, [user]);
  return person;
}

/** With another key it begins again. */
function App({ user }: { user: string }) {
  const [attempt, setAttempt] = useState(1);
  return <PersonPage key={attempt} user={user} tryAgain={() => setAttempt(attempt + 1)} />;
}

function PersonPage({ user, tryAgain }: { user: string; tryAgain: () => void }) {
  const person = usePerson(user);
  switch (person.state) {
    case 'loading':
      return <p role="status">Loading…</p>;
    case 'unknown':
      return <p>There is no {user}.</p>;
    case 'failed':
      return (
        <div role="alert">
          <p>{person.message}</p>
          <button type="button" onClick={tryAgain}>
            Try again
          </button>
        </div>
      );
    case 'found':
      return (
        <>
          <h1>{person.profile.name || person.profile.username}</h1>
          <p>{person.profile.bio}</p>
          {person.shots.length === 0 && <p>Nothing yet.</p>}
          <ul>
            {person.shots.map((shot) => (
              <li key={shot.id}>{shot.title}</li>
            ))}
          </ul>
        </>
      );
  }
}

const user = new URLSearchParams(location.search).get('user') ?? 'ada';
const root = document.createElement('main');
document.body.append(root);
createRoot(root).render(<App user={user} />);
