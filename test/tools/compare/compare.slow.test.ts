// Comparing two sites by a list of users that is longer than what is read of it at a time.
import { expect, test } from 'vitest';
import { runCompare } from '../../../src/tools/compare/compare.ts';
import { PACE, portfolio, startSite } from '../../support/mirror-site.ts';

test('a list of 1,001 users is compared whole', async () => {
  const names = Array.from({ length: 1001 }, (_, nr) => `user${nr}`);
  const site = await startSite(portfolio({}));
  const { result, failure } = await runCompare({
    variant: 'b',
    old: new URL(site.url),
    new: new URL(site.url),
    users: { names },
    ...PACE,
    out: { isQuiet: true, write() {} },
    signal: new AbortController().signal,
  });
  // Users whom no site knows are the quickest to compare.
  expect([result.users.unknown, site.asked.length]).toEqual([1001, 2002]);
  expect(failure).toContain('neither site knows any of the users');
});
