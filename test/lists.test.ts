// Items lie in their order, however they came: one import or many, late, between others, moved, or from an older schema.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkDatabase } from '../src/stores/open.ts';
import type { Raw } from './expected.ts';
import { blog, exported, folio, newPath, post, shot } from './importing.ts';
import { fixture, importInto, ndjson, ROOT, readRecords, run } from './rig.ts';

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

/** A database holds what another does that took all of it at once, and is sound. */
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

test('any sequence of imports leaves what one import of the outcome leaves', async () => {
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
    { numRuns: 60 },
  );
});

describe.each([
  ['microblog', MICROBLOG],
  ['portfolio', PORTFOLIO],
])('one list, %s', (_, { profile, item }) => {
  const within = (from: number, count: number, minute: number) =>
    Array.from({ length: count }, (_, nth) => item(from + nth, 1, minute));

  test.each<[string, (nth: number) => number]>([
    ['newer and newer', (nth) => nth],
    ['older and older', (nth) => 600 - nth],
    ['always in the same gap, from above', (nth) => (nth === 0 ? 0 : 600 - nth)],
    ['always in the same gap, from below', (nth) => (nth === 0 ? 600 : nth)],
  ])('items that come one by one: %s', async (_, minuteOf) => {
    const url = newPath();
    const items = Array.from({ length: 30 }, (_, nth) => item(nth + 1, 1, minuteOf(nth)));
    await take(url, [profile(1)]);
    for (const one of items) await take(url, [one]);
    await expectSame(url, [profile(1), ...items]);
  });

  test('more items between two others than there is room for', async () => {
    const url = newPath();
    const ends = [item(1, 1, 0), item(2, 1, 30), item(3, 1, 60)];
    const between = [...within(1000, 700, 45), ...within(2000, 9000, 15)];
    await take(url, [profile(1), ...ends]);
    await take(url, between);
    await expectSame(url, [profile(1), ...ends, ...between]);
  });

  test('every second item of a long one', async () => {
    const url = newPath();
    const items = Array.from({ length: 3000 }, (_, nth) => item(nth + 1, 1, nth % 1440));
    await take(url, [profile(1), ...items.filter((_, nth) => nth % 2 === 0)]);
    await take(
      url,
      items.filter((_, nth) => nth % 2 === 1),
    );
    await expectSame(url, [profile(1), ...items]);
  });
});

test.each([
  [
    'an item behind another user',
    'UPDATE items SET place = place + 4294967296 WHERE id = 1',
    /do not lie where/,
  ],
  [
    'an item twice',
    'INSERT INTO items (place, date, id, record) SELECT place + 1, date, id, record FROM items WHERE id = 1',
    /fewer ids than items/,
  ],
  ['an id without its item', 'DELETE FROM items WHERE id = 1', /more ids than items/],
  ['items in disorder', 'UPDATE items SET place = place - 1000 WHERE id = 1', /newer than the one before/],
])('check finds %s', async (_, harm, told) => {
  const url = newPath();
  const { profile, item } = MICROBLOG;
  await take(url, [profile(1), profile(2), item(1, 1, 0), item(2, 1, 1), item(3, 1, 2)]);
  const db = new Database(url);
  db.exec(harm);
  db.close();
  expect((await checkDatabase(url)).faults.join()).toMatch(told);
});

test('a database of the first schema is migrated, and holds what it held', async () => {
  const records = [...readRecords(fixture('microblog.ndjson')), ...readRecords(fixture('portfolio.ndjson'))];
  const url = newPath();
  const modern = newPath();
  await take(modern, records);
  const db = new Database(url);
  db.exec(readFileSync(join(ROOT, 'migrations/001-records.sql'), 'utf8'));
  db.pragma(`application_id = ${0x56495452}`);
  db.pragma('user_version = 1');
  db.exec(`ATTACH '${modern}' AS modern;
    INSERT INTO profiles SELECT family, user_key, id, record FROM modern.profiles;
    INSERT INTO items SELECT family, profiles.id, date, items.id, items.record
      FROM modern.items JOIN (SELECT place, id FROM modern.profiles) AS profiles ON profiles.place = items.place >> 32;
    INSERT INTO item_keys SELECT * FROM modern.item_keys;`);
  db.close();
  expect((await run(['export', '--database-url', url])).stderr).toMatch(/older schema \(1, wanted 2\)/);
  await take(url, records.slice(0, 1));
  await expectSame(url, records);
});
