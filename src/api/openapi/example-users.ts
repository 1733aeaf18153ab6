// The users that the pages begin with. By default those with the lowest ids: they stay the same while users come and
// go, so that asking again and again never lists the others.

import { servesSamples } from '../../config/database-url.ts';
import type { Config } from '../../config/settings.ts';
import type { Family } from '../../records/kinds.ts';
import { SAMPLE_PEOPLE } from '../../records/samples.ts';
import type { Awaitable, Reader } from '../../stores/reader.ts';

export type ExampleUsers = Readonly<Record<Family, readonly string[]>>;

const COUNT = 5;
const NOBODY: ExampleUsers = { microblog: [], portfolio: [] };

/** Without the directory, pages about missing users name only those that the operator chose, and the samples. */
export const createSuggestedUsers = (
  config: Config,
  users: () => Awaitable<ExampleUsers>,
): (() => Awaitable<ExampleUsers>) =>
  config.directory || config.exampleUsers !== 'auto' || servesSamples(config) ? users : () => NOBODY;

/** Their names; a new object whenever the data may have changed. */
export function createExampleUsers(config: Config, store: Reader): () => Awaitable<ExampleUsers> {
  const { exampleUsers } = config;
  const given = exampleUsers === 'auto' && servesSamples(config) ? SAMPLE_PEOPLE : exampleUsers;
  let known: { version: number; users: Promise<ExampleUsers> } | undefined;
  return () => {
    const version = store.version();
    // The pages work without names; lookups report what is wrong with the data. Only what is kept can be forgotten: SQLite fails
    // at once.
    const forget = () => {
      known = undefined;
      return NOBODY;
    };
    if (known?.version !== version) known = { version, users: read().catch(forget) };
    return known.users;
  };

  async function read(): Promise<ExampleUsers> {
    if (given !== 'auto') return { microblog: given, portfolio: given };
    const [microblog, portfolio] = await Promise.all([
      store.firstUsers('microblog', COUNT),
      store.firstUsers('portfolio', COUNT),
    ]);
    return { microblog, portfolio };
  }
}

/** What `create` makes of the users, kept until they change. */
export function forUsers<T>(create: (users: ExampleUsers) => T): (users: ExampleUsers) => T {
  let made: { users: ExampleUsers; value: T } | undefined;
  return (users) => {
    if (made?.users !== users) made = { users, value: create(users) };
    return made.value;
  };
}
