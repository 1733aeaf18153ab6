// The list of people as a page.
import { describe, expect, test } from 'vitest';
import { databaseOf, storeName } from '../../support/database.ts';
import { ask } from '../../support/http.ts';
import { change, saveOriginals } from '../../support/importing.ts';
import { folio, shot } from '../../support/records.ts';
import { serveHere } from '../../support/serve-here.ts';

const OLD = 'https://old.example';
const MEDIA = 'https://new.example/media';
const PEOPLE = 50;
const WORKS = 3;

describe(`the directory in ${storeName()}`, () => {
  test('knows all pictures of a page, each work of which has a small and a large one', async () => {
    const addresses: string[] = [];
    const address = (name: string) => `${OLD}/${addresses.push(name)}.jpg`;
    const records = Array.from({ length: PEOPLE }, (_, user) => [
      folio(user + 1, `user${user}`, { avatar: address('face') }),
      ...Array.from({ length: WORKS + 1 }, (_, nth) =>
        shot(user * 10 + nth + 1, user + 1, { image: address('small'), large_image: address('large') }),
      ),
    ]);
    const file = (nth: number) => `${String(nth).padStart(64, '0')}.jpg`;
    const url = await databaseOf(...records.flat());
    await saveOriginals(
      url,
      addresses.map((_, nth) => ({
        url: `${OLD}/${nth + 1}.jpg`,
        file: file(nth + 1),
        bytes: 10,
        reason: null,
      })),
    );
    await change(url, async (writer) => {
      await writer.relink(MEDIA);
      const facts = { width: 1600, height: 900, color: 'c0ffee', small: [{ width: 480, hash: '0f3a' }] };
      for (const nth of addresses.keys()) await writer.saveFacts(file(nth + 1), facts);
    });
    const server = await serveHere({ DATABASE_URL: url, DIRECTORY: 'on', MEDIA_URL: MEDIA });
    const { body } = await ask(server, '/people/b');
    expect(body.match(/<img /g)).toHaveLength(PEOPLE * (1 + WORKS));
    expect(body.match(/<img [^>]* srcset=/g)).toHaveLength(PEOPLE * (1 + WORKS));
  });
});
