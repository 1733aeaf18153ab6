// Item lists stay sorted after any imports: several, late, in between, moved, or from an older schema.
import { copyFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkDatabase } from '../src/stores/open.ts';
import type { Raw } from './expected.ts';
import { exported, newPath } from './importing.ts';
import { blog, folio, post, shot } from './records.ts';
import { ask, done, fixture, importInto, ndjson, readRecords, run } from './rig.ts';
import { serveHere } from './serve-here.ts';

interface Makers {
  readonly profile: (id: number) => Raw;
  readonly item: (id: number | string, user: number, minute: number, text?: string) => Raw;
}
const two = (number: number) => String(number).padStart(2, '0');
const dateOf = (minute: number) => `2024-01-01 ${two(Math.floor(minute / 60))}:${two(minute % 60)}:00`;

const MICROBLOG: Makers = {
  profile: (id) => blog(id, `user${id}`),
  item: (id, user, minute, text = '') => post(id, user, { date: dateOf(minute), post_details: text }),
};
const PORTFOLIO: Makers = {
  profile: (id) => folio(id, `user${id}`),
  item: (id, user, minute, text = '') => shot(id, user, { date: dateOf(minute), title: text }),
};

const take = (url: string, records: readonly object[], replace = false) =>
  importInto(url, ['-'], ndjson(...records), { replace });

/** The database is sound and equals one made by a single import. */
async function expectSame(url: string, records: readonly object[]): Promise<void> {
  const fresh = newPath();
  await take(fresh, records);
  expect(await exported(url)).toEqual(await exported(fresh));
  expect((await checkDatabase(url)).faults).toEqual([]);
}

const USERS = [1, 2, 3];
const anyImport = fc.record({
  replace: fc.boolean(),
  items: fc.array(
    fc.record({
      makers: fc.constantFrom(MICROBLOG, PORTFOLIO),
      id: fc.oneof(
        { weight: 9, arbitrary: fc.integer({ min: 1, max: 60 }).map(String) },
        {
          weight: 1,
          arbitrary: fc.constantFrom('9007199254740992', '9007199254740993', '9223372036854775807'),
        },
      ),
      user: fc.constantFrom(...USERS),
      minute: fc.integer({ min: 0, max: 30 }),
      text: fc.constantFrom('', 'a', 'b'),
    }),
    { maxLength: 40 },
  ),
});

test('any sequence of imports equals one import of the final records', async () => {
  const profiles = [MICROBLOG, PORTFOLIO].flatMap(({ profile }) => USERS.map(profile));
  await fc.assert(
    fc.asyncProperty(fc.array(anyImport, { minLength: 1, maxLength: 6 }), async (imports) => {
      const url = newPath();
      const outcome = new Map<string, Raw>();
      for (const { replace, items } of imports) {
        if (replace) outcome.clear();
        const records = items.map(({ makers, id, user, minute, text }) =>
          makers.item(id, user, minute, text),
        );
        for (const record of records) outcome.set(`${'user' in record} ${record.id}`, record);
        await take(url, [...profiles, ...records], replace);
      }
      await expectSame(url, [...profiles, ...outcome.values()]);
    }),
    { numRuns: 30 },
  );
});

test('items between the items of a long list are sorted in', async () => {
  const url = newPath();
  const { profile, item } = MICROBLOG;
  const items = Array.from({ length: 3000 }, (_, nth) => item(nth + 1, 1, nth % 1440));
  await take(url, [profile(1), ...items.filter((_, nth) => nth % 2 === 0)]);
  await take(
    url,
    items.filter((_, nth) => nth % 2 === 1),
  );
  await expectSame(url, [profile(1), ...items]);
});

test('importing the same records again writes no lists', async () => {
  const url = newPath();
  const { profile, item } = MICROBLOG;
  const records = [profile(1), profile(2), item(1, 1, 0), item(2, 2, 1)];
  await take(url, records);
  const db = new Database(url);
  db.exec(`CREATE TRIGGER no_list BEFORE INSERT ON lists WHEN new.user_key = 'user2'
    BEGIN SELECT raise(ABORT, 'wrote the list of user2'); END`);
  db.close();
  await take(url, records);
  await take(url, [item(3, 1, 2)]);
  await expect(take(url, [item(4, 2, 2)])).rejects.toThrow('wrote the list of user2');
});

test.each([1, 2, 3, 4, 5])('a file of schema %i is migrated without changing its data', async (version) => {
  const records = readRecords(fixture('older/records.ndjson'));
  const url = newPath();
  copyFileSync(fixture(`older/schema-${version}.db`), url);
  for (const command of ['export', 'check']) {
    const { code, stderr } = await run([command, '--database-url', url]);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^vitrine: .*older schema \(\d, wanted 8\): run `vitrine migrate`.*\n$/),
    ]);
  }
  expect(await done(['migrate', '--database-url', url])).toBe(
    `${url} was migrated from schema ${version} to schema 8\n`,
  );
  expect(await done(['migrate', '--database-url', url])).toBe(`${url} has schema 8 already\n`);
  await expectSame(url, records);
  const server = await serveHere({ DATABASE_URL: url });
  expect((await ask(server, '/readyz')).status).toBe(200);
  const db = new Database(url, { readonly: true });
  expect(db.prepare('SELECT id FROM posts ORDER BY id').pluck().all()).toHaveLength(17);
  db.close();
});
