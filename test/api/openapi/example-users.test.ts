// The users that pages begin with are read again after a read that failed.
import { expect, test } from 'vitest';
import { createExampleUsers } from '../../../src/api/openapi/example-users.ts';
import { readConfig } from '../../../src/config/config.ts';
import type { Reader } from '../../../src/stores/reader.ts';

test.each([
  [
    'at once, as SQLite does',
    () => {
      throw new Error('locked');
    },
  ],
  ['later', () => Promise.reject(new Error('locked'))],
])('one read that fails %s does not leave pages without users until the next import', async (_, fail) => {
  let fails = true;
  const store: Pick<Reader, 'version' | 'firstUsers'> = {
    version: () => 1,
    firstUsers: (family) => (fails ? fail() : [`${family} user`]),
  };
  const users = createExampleUsers(
    readConfig({}, { EXAMPLE_USERS: 'auto', DATABASE_URL: 'site.db' }),
    store as Reader,
  );
  expect(await users()).toEqual({ microblog: [], portfolio: [] });
  fails = false;
  expect(await users()).toEqual({ microblog: ['microblog user'], portfolio: ['portfolio user'] });
});
