// The guide's code for another try does what the guide says.
import { expect, test } from 'vitest';
import { startSite } from '../support/mirror-site.ts';
import { codeBlock } from '../support/pages.ts';

const { getPatiently } = await import(
  `data:text/javascript,${encodeURIComponent(`export ${codeBlock('src/guides/errors.md', 'Try again', 'js')}`)}`
);

async function siteWith(statuses: readonly number[]) {
  const rest = [...statuses];
  const site = await startSite((_request, response) =>
    response.writeHead(rest.shift() ?? 200, { 'retry-after': '0' }).end(),
  );
  return { url: site.url, rest };
}

test.each([
  [[503, 429, 200], 200],
  [[404, 200], 404],
  [[500, 200], 500],
  [[503, 503, 503, 200], 503],
])('%j ends with %i', async (statuses, expected) => {
  const { url, rest } = await siteWith(statuses);
  expect((await getPatiently(url)).status).toBe(expected);
  expect(rest).toEqual(statuses.slice(statuses.indexOf(expected, expected === 503 ? 2 : 0) + 1));
});

test('a server that is not there gives undefined', async () => {
  expect(await getPatiently('http://127.0.0.1:1/', 1)).toBe(undefined);
});
