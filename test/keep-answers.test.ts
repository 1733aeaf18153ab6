// Answers kept in memory in front of a reader.
import { expect, test } from 'vitest';
import { keepAnswers } from '../src/stores/keep-answers.ts';

/** A reader of one kind of answer, whose data changes with `version`, behind the memory for answers. */
function memory(maxBytes: number, sizeOf = (_user: string) => 500) {
  const data = { version: 1, reads: 0, meanwhile() {} };
  const read = async (user: string, known = '') => {
    const etag = `"${data.version} ${user}"`;
    const answer = { etag, body: known === etag ? null : Buffer.alloc(sizeOf(user)) };
    data.reads++;
    data.meanwhile();
    return user.startsWith('nobody') ? undefined : answer;
  };
  const kept = keepAnswers(
    {
      version: () => data.version,
      profile: (_family, user, options) => read(user, options?.known),
      items: (_family, user, collection, options) => read(`${user} ${collection}`, options?.known),
      isTakenDown: () => false,
    },
    maxBytes,
  );
  const ask = (user: string, known?: string) => kept.profile('microblog', user, { known });
  return { kept, data, ask };
}

test('the second lookup is answered from memory; each kind, family, list and coding has an answer of its own', async () => {
  const { kept, data } = memory(1e6);
  const lookups = [
    () => kept.profile('microblog', 'ada'),
    () => kept.profile('portfolio', 'ada'),
    () => kept.items('portfolio', 'ada', 'Shots'),
    () => kept.items('portfolio', 'ada', 'Posts'),
    () => kept.items('portfolio', 'ada', 'Posts', { gzip: true }),
  ];
  const first = await Promise.all(lookups.map((look) => look()));
  expect(data.reads).toBe(5);
  expect(await Promise.all(lookups.map((look) => look()))).toEqual(first);
  expect(data.reads).toBe(5);
  expect([kept.count(), kept.figures.hits, kept.figures.misses]).toEqual([5, 5, 5]);
});

test('every lookup that asks the store is a miss, also of unknown users and of clients that know the ETag', async () => {
  const { kept, ask } = memory(1e6);
  expect(await ask('nobody')).toBeUndefined();
  expect(await ask('ada', '"1 ada"')).toEqual({ etag: '"1 ada"', body: null });
  expect([kept.count(), kept.figures.hits, kept.figures.misses]).toEqual([0, 0, 2]);
});

test('the size limit holds; when full, users asked for once rarely get in, and those asked for often do', async () => {
  const { kept, ask } = memory(50_000, (user) => (Number(user) * 7919) % 9000 || 500);
  for (let user = 0; user < 5000; user++) {
    await ask(String(user));
    expect(kept.bytes()).toBeLessThanOrEqual(50_000);
  }
  expect(kept.count()).toBeGreaterThan(5);
  expect(kept.figures.evictions).toBeLessThan(100);
  for (let turn = 0; turn < 2000; turn++) await ask('favourite');
  const { hits } = kept.figures;
  await ask('favourite');
  expect(kept.figures.hits).toBe(hits + 1);
});

test.each([0, 900])('with a limit of %i bytes, nothing larger is kept', async (bound) => {
  const { kept, ask } = memory(bound, () => 1000);
  await ask('ada');
  expect([kept.count(), kept.bytes()]).toEqual([0, 0]);
});

test('answers are dropped when the data changes, and one that was read before the change is not kept', async () => {
  const { kept, data, ask } = memory(1e6);
  await ask('ada');
  data.version++;
  expect((await ask('ada'))?.etag).toBe('"2 ada"');
  data.meanwhile = () => void data.version++;
  await ask('tane');
  expect(kept.count()).toBe(0);
});
