// Takedowns: what was taken down does not come back by a mirror or from another database. Imports after it are in
// fixtures/cases/takedown.txt, and the bytes that are left in files in sqlite/traces.test.ts.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkDatabase, openWriter } from '../../src/stores/open.ts';
import { beyondLimits, ITEMS, portfolioName, USERS } from '../support/beyond-limits.ts';
import { databaseOf, newDatabase, storeName } from '../support/database.ts';
import { ndjson } from '../support/files.ts';
import { exported } from '../support/importing.ts';
import { mirrorHere, portfolio, startSite } from '../support/mirror-site.ts';
import { blog, folio, post, shot } from '../support/records.ts';
import { done } from '../support/run.ts';

const RECORDS = [
  folio(7, 'Zarathustra', { bio: 'thus spoke' }),
  shot(70, 7),
  shot(71, 7, { title: 'a unique title of hers' }),
  folio(8, 'bob'),
  shot(80, 8),
  shot(81, 8, { title: 'another unique title' }),
  blog(7, 'zarathustra'),
  post(70, 7),
];
const INPUT = ndjson(...RECORDS);

const loaded = () => databaseOf(...RECORDS);
const takedown = (url: string, ...args: string[]) => done(['takedown', '--database-url', url, ...args]);
const importing = (url: string, input = INPUT, ...args: string[]) =>
  done(['import', '--database-url', url, ...args, '-'], { input });

/** Each record as its kind, its id and its owner. */
const idsIn = async (url: string) =>
  (await exported(url)).map((line) => {
    const { id, username, user, user_id } = JSON.parse(line);
    return username === undefined ? `${user ?? user_id}/${id}` : `${username} ${id}`;
  });

const OF_ZARATHUSTRA = ['--family', 'portfolio', 'ZARATHUSTRA'];
const OTHERS = ['zarathustra 7', 'bob 8', '7/70', '8/81', '8/80'];

describe(`takedowns in ${storeName()}`, () => {
  test('--list shows neither names nor ids', async () => {
    const url = await loaded();
    await takedown(url, ...OF_ZARATHUSTRA, '--item', '81');
    const lines = (await takedown(url, '--list')).trimEnd().split('\n').sort();
    expect(lines).toEqual([
      expect.stringMatching(/^\d{4}-\d\d-\d\d {2}portfolio {2}item {2}[0-9a-f]{12}$/),
      expect.stringMatching(/^\d{4}-\d\d-\d\d {2}portfolio {2}user {2}[0-9a-f]{12}$/),
    ]);
  });

  test('--from takes over the takedowns of another database, also twice and in both directions', async () => {
    const [live, staging] = [await loaded(), await loaded()];
    await takedown(live, ...OF_ZARATHUSTRA, '--item', '81');
    await takedown(staging, '--family', 'microblog', 'zarathustra');
    const took = await takedown(staging, '--from', live);
    expect(took).toBe('took over 2 takedowns\nremoved 1 user and 3 items\n');
    await takedown(live, '--from', staging);
    await takedown(staging, '--from', live);
    for (const url of [live, staging]) {
      await importing(url);
      expect(await idsIn(url)).toEqual(['bob 8', '8/80']);
      expect((await checkDatabase(url)).faults).toEqual([]);
      expect((await takedown(url, '--list')).split('\n')).toHaveLength(4);
    }
    await takedown(staging, '--undo', ...OF_ZARATHUSTRA);
    await importing(staging);
    expect(await idsIn(staging)).toEqual(['bob 8', 'Zarathustra 7', '7/71', '7/70', '8/80']);
  });

  test.each([
    ['a user', ['m1', '--family', 'microblog'], '1 user and 1 item'],
    ['an item', ['--item', '2', '--family', 'microblog'], '0 users and 1 item'],
    ['a user of the other family', ['p1', '--family', 'portfolio'], '1 user and 1 item'],
    ['an item of the other family', ['--item', '2', '--family', 'portfolio'], '0 users and 1 item'],
  ])('--from removes %s, and no user or item that has the same id', async (_, args, removed) => {
    const records = [1, 2, 3].flatMap((id) => [
      blog(id, `m${id}`),
      folio(id, `p${id}`),
      post(id, (id % 3) + 1),
      shot(id, (id % 3) + 1),
    ]);
    const [live, staging] = [await databaseOf(...records), await databaseOf(...records)];
    await takedown(live, ...args);
    expect(await takedown(staging, '--from', live)).toMatch(
      new RegExp(`^took over \\d takedowns?\\nremoved ${removed}\\n$`),
    );
    expect(await exported(staging)).toEqual(await exported(live));
    expect(await exported(live)).toHaveLength(removed.startsWith('1') ? 10 : 11);
  });

  test('a list beyond a page takes down the users of one family, with all their items', async () => {
    const url = await databaseOf(...beyondLimits());
    const names = Array.from({ length: USERS }, (_, index) => `${portfolioName(index + 1)}\n`).join('');
    await done(['takedown', '--database-url', url, '--family', 'portfolio', '--users', '-'], {
      input: names,
    });
    const rest = (await exported(url)).map((line) => Object.keys(JSON.parse(line)));
    expect(rest.filter((members) => members.includes('totalPost'))).toHaveLength(USERS);
    expect(rest.filter((members) => members.includes('post_details'))).toHaveLength(ITEMS + USERS - 1);
    expect(rest).toHaveLength(ITEMS + USERS - 1 + USERS);
    expect((await checkDatabase(url)).faults).toEqual([]);
  });

  test('a mirror neither asks for users taken down nor imports them under new names', async () => {
    const url = await loaded();
    const people = {
      zarathustra: { profile: folio(7, 'zarathustra') },
      renamed: { profile: folio(7, 'renamed'), shots: { Shots: [shot(70, 7)] } },
      nina: { profile: folio(10, 'nina'), shots: { Shots: [shot(81, 10), shot(100, 10)] } },
    };
    await takedown(url, ...OF_ZARATHUSTRA, '--item', '81');
    const site = await startSite(portfolio(people));
    const { summary, failure, state } = await mirrorHere(url, site.url, Object.keys(people));
    expect({ summary, failure }).toEqual({
      summary: expect.stringMatching(
        /^users: 1 found, 0 unchanged, 0 unknown, 0 failed, 2 taken down here\n/,
      ),
      failure: undefined,
    });
    expect(summary).toMatch(/^shots .* 1 .* 1$/m);
    expect(site.asked.filter((path) => path.includes('zarathustra'))).toEqual([]);
    expect((await idsIn(url)).filter((line) => /nina|renamed|\/100|\/81/.test(line))).toEqual([
      'nina 10',
      '10/100',
    ]);
    expect(filesWith(dirname(state), 'zarathustra', 'renamed')).toEqual([]);
  });

  test('a mirror forgets a user whom it had brought', async () => {
    const url = await newDatabase();
    const site = await startSite(portfolio({ zarathustra: { profile: folio(7, 'zarathustra') } }));
    const { state } = await mirrorHere(url, site.url, ['zarathustra']);
    await takedown(url, ...OF_ZARATHUSTRA);
    await mirrorHere(url, site.url, ['zarathustra'], { state });
    expect(filesWith(dirname(state), 'zarathustra')).toEqual([]);
    await takedown(url, '--undo', ...OF_ZARATHUSTRA);
    await mirrorHere(url, site.url, ['zarathustra'], { state });
    expect(await idsIn(url)).toEqual(['zarathustra 7']);
  });

  test('a takedown during an import holds', async () => {
    const url = await loaded();
    const writer = await openWriter(url);
    const load = await writer.load({ replace: false, skipInvalid: false, onMisfit() {} });
    const row = { owner: '', date: '', userKey: 'zarathustra', words: '["zarathustra"]', id: '7' };
    await load.add({ kind: 'portfolio profile', ...row, record: '{"id":"7","username":"zarathustra"}' }, 1);
    await takedown(url, ...OF_ZARATHUSTRA);
    expect((await load.finish())?.['portfolio profile']).toMatchObject({ new: 0, takenDown: 1 });
    await writer.close();
    expect(await idsIn(url)).toEqual(OTHERS);
  });
});

/** Which files of a folder hold which of these texts, in any letter case. */
function filesWith(folder: string, ...texts: string[]): string[] {
  return readdirSync(folder).flatMap((name) => {
    const bytes = readFileSync(join(folder, name)).toString('latin1').toLowerCase();
    return texts.filter((text) => bytes.includes(text.toLowerCase())).map((text) => `${name} ${text}`);
  });
}
