// After a takedown no byte of a user is left in the file: not in free pages, not where SQLite has moved rows away, not compressed.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { openWriter } from '../../../src/stores/open.ts';
import { findGap } from '../../../src/stores/sqlite/gaps.ts';
import { importInto } from '../../support/database.ts';
import { copyOf, fixture, ndjson, tempFolder } from '../../support/files.ts';
import { executeSql } from '../../support/importing.ts';
import { folio } from '../../support/records.ts';
import { done } from '../../support/run.ts';
import { countTraces, createRandom, namesOf, people } from './traces.ts';

const USERS = 250;

/** Four imports of users, of which some change; which to take down, in each spelling that their name had. */
async function importPeople(path: string, seed: number) {
  const random = createRandom(seed);
  for (let round = 0; round < 4; round++)
    await importInto(path, ['-'], ndjson(...people(USERS, round, random)));
  const gone = Array.from({ length: USERS }, (_, n) => n + 1).filter(() => random() < 0.15);
  const subjects = gone
    .flatMap(namesOf)
    .map((value) => ({ family: 'portfolio', kind: 'user', value }) as const);
  return { gone, subjects };
}

/** What SQLite leaves by itself: other rows grow, so rows of these users move to other pages, and then they are deleted. */
function deleteBySqlite(path: string, gone: readonly number[]): void {
  const db = new Database(path);
  db.pragma('secure_delete = ON');
  db.function('packed_of', () => null);
  const ids = gone.join();
  for (let rest = 0; rest < 3; rest++)
    db.exec(`UPDATE items SET record = json_set(record, '$.description', hex(zeroblob(800)))
      WHERE owner % 3 = ${rest} AND owner NOT IN (${ids})`);
  db.exec(`DELETE FROM items WHERE owner IN (${ids}); DELETE FROM profiles WHERE id IN (${ids});
    DELETE FROM lists; DELETE FROM words; DELETE FROM changes; PRAGMA wal_checkpoint(TRUNCATE)`);
  db.close();
}

test('no byte of users who were taken down is left, also where rows were moved', async () => {
  let moved = 0;
  for (let seed = 1; seed <= 4; seed++) {
    const path = join(tempFolder(), 'site.db');
    const { gone, subjects } = await importPeople(path, seed);
    const control = copyOf(path);
    deleteBySqlite(control, gone);
    moved += countTraces(control, gone);
    const writer = await openWriter(path);
    expect((await writer.takeDown(subjects)).users).toBe(gone.length);
    expect(await writer.cleanUp(() => {})).toBeUndefined();
    await writer.close();
    expect([seed, countTraces(path, gone)]).toEqual([seed, 0]);
    expect(await done(['check', '--database-url', path])).toContain('is sound');
  }
  // Otherwise this would show nothing.
  expect(moved).toBeGreaterThan(0);
});

test('nothing is left in free pages, where a record was longer before', async () => {
  const path = join(tempFolder(), 'site.db');
  const [name = ''] = namesOf(1);
  for (const bio of [`${name} `.repeat(1000), name])
    await importInto(path, ['-'], ndjson(folio(1, name, { bio }), folio(2, 'bob')));
  expect(countTraces(path, [1])).toBeGreaterThan(0);
  await done(['takedown', '--database-url', path, '--family', 'portfolio', name]);
  expect(countTraces(path, [1])).toBe(0);
});

const MARK = 'a mark in a gap';

/** Writes into each gap of a file, as SQLite does when it moves rows. Tells of each page whether it was written to. */
function plantMarks(path: string): boolean[] {
  const bytes = readFileSync(path);
  const planted: boolean[] = [];
  for (let start = 0; start < bytes.length; start += 4096) {
    const [from, to] = findGap(bytes.subarray(start, start + 4096), start === 0);
    planted.push(to - from >= 100);
    if (to - from >= 100) bytes.write(MARK, start + to - MARK.length - 1);
  }
  writeFileSync(path, bytes);
  return planted;
}

const hasMark = (path: string) => readFileSync(path).includes(MARK);
const takeDown = (path: string) =>
  done(['takedown', '--database-url', path, '--family', 'portfolio', 'somebody']);

test('a takedown sweeps the whole file to its last page, whatever has written it', async () => {
  const path = join(tempFolder(), 'site.db');
  await importInto(path, ['-'], ndjson(...people(USERS, 0, createRandom(1))));
  // A new table begins with an empty page, at the end of a file without free ones.
  executeSql(path, 'VACUUM; CREATE TABLE of_the_operator (note TEXT)');
  const planted = plantMarks(path);
  expect([planted.at(-1), planted.filter(Boolean).length > 10]).toEqual([true, true]);
  await takeDown(path);
  expect(hasMark(path)).toBe(false);
});

test('a file of an earlier version has no trace after `migrate --compact`', async () => {
  const path = copyOf(fixture('older/schema-12.db'));
  const db = new Database(path);
  db.exec("DELETE FROM profiles WHERE user_key = 'jonas.weber'; DELETE FROM words; DELETE FROM lists");
  db.close();
  expect(readFileSync(path).includes('Leipzig')).toBe(true);
  await done(['migrate', '--compact', '--database-url', path]);
  expect(readFileSync(path).includes('Leipzig')).toBe(false);
});

test('a page of another kind, or one that is damaged, has no gap', () => {
  const page = Buffer.alloc(4096);
  expect(findGap(page, false)).toEqual([0, 0]);
  page[0] = 13;
  page.writeUInt16BE(5000, 5);
  expect(findGap(page, false)).toEqual([0, 0]);
  page.writeUInt16BE(4000, 5);
  page.writeUInt16BE(3, 3);
  expect(findGap(page, false)).toEqual([14, 4000]);
  page[100] = 5;
  page.writeUInt16BE(4000, 105);
  expect(findGap(page, true)).toEqual([112, 4000]);
});
