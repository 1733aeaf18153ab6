// What the doctor says of copied pictures, asked at a public address.
import type { OutgoingHttpHeaders } from 'node:http';
import { expect, test } from 'vitest';
import { diagnose } from '../src/doctor/doctor.ts';
import { freePort } from './free-port.ts';
import { putCopy } from './media-folder.ts';
import { portfolio, startSite } from './mirror-site.ts';
import { folio, shot } from './records.ts';
import { databaseOf, ndjson, tempFile } from './rig.ts';
import { serveHere } from './serve-here.ts';

const NAME = `${'ab'.repeat(32)}.png`;

/** What the check says of a site whose users have these pictures. */
async function findingAt(base: string) {
  const { findings } = await diagnose({ base: new URL(base), user: 'ada', timeout: 5000 });
  return findings.find(({ check }) => check.name === 'pictures')?.finding;
}

test('copies that Vitrine serves are fine, in a profile or in an item', async () => {
  const port = String(await freePort());
  const file = tempFile('site.ndjson', '');
  const url = `http://127.0.0.1:${port}/media/${putCopy(`${file}.media`, 'picture', 'png')}`;
  for (const records of [[folio(1, 'ada', { avatar: url })], [folio(1, 'ada'), shot(1, 1, { image: url })]]) {
    const database = await databaseOf(tempFile('site.ndjson', ndjson(...records)));
    const server = await serveHere({ DATABASE_URL: database, MEDIA_DIR: `${file}.media`, PORT: port });
    expect(await findingAt(`${server.url}/b`)).toEqual({
      state: 'ok',
      text: 'copies arrive as they were sent',
    });
    await server.stop();
  }
});

const GOOD = {
  'content-type': 'image/png',
  'cache-control': 'public, max-age=31536000, immutable',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; sandbox",
};

test.each<[what: string, status: number, headers: OutgoingHttpHeaders, words: string]>([
  ['missing', 404, {}, 'a copy gets 404'],
  ['of another type', 200, { ...GOOD, 'content-type': 'text/html' }, 'is "text/html", not image/png'],
  ['not kept', 200, { ...GOOD, 'cache-control': 'max-age=60' }, 'Cache-Control of a copy is "max-age=60"'],
  ['guessed', 200, { ...GOOD, 'x-content-type-options': '' }, 'nosniff is missing'],
  ['a document', 200, { ...GOOD, 'content-security-policy': "default-src 'none'" }, 'sandbox is missing'],
])('a copy that is %s is broken', async (_, status, headers, words) => {
  const people: Parameters<typeof portfolio>[0] = {};
  const site = await startSite((request, response) => {
    if (request.url === `/media/${NAME}`) response.writeHead(status, headers).end();
    else portfolio(people)(request, response);
  });
  people.ada = { profile: folio(1, 'ada', { avatar: `${site.url}/media/${NAME}` }), shots: { Shots: [] } };
  const finding = await findingAt(site.url);
  expect([finding?.state, finding?.text]).toEqual(['broken', expect.stringContaining(words)]);
});

test('other hosts are not asked', async () => {
  const people: Parameters<typeof portfolio>[0] = {};
  const site = await startSite(portfolio(people));
  const elsewhere = `https://pictures.example/${NAME}`;
  people.ada = { profile: folio(1, 'ada', { avatar: elsewhere }), shots: { Shots: [] } };
  expect(await findingAt(site.url)).toMatchObject({ state: 'could not tell' });
  people.ada = { profile: folio(1, 'ada'), shots: { Shots: [] } };
  expect(await findingAt(site.url)).toMatchObject({
    state: 'ok',
    text: expect.stringMatching(/names no copied/),
  });
});
