// The store's write contract: random loads against a model, many rows, and what readers see during a load.
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, statSync, utimesSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { computeEtag } from '../../src/records/etag.ts';
import { type Family, KINDS, type KindName } from '../../src/records/kinds.ts';
import type { Row } from '../../src/records/normalise.ts';
import { MEMBERS } from '../../src/records/schemas.ts';
import { NoDataError } from '../../src/stores/errors.ts';
import { checkDatabase, openArchive, openReader, openWriter } from '../../src/stores/open.ts';
import type { LoadOptions, Misfit, Tallies } from '../../src/stores/sql/load.ts';
import { collectionsOf } from '../../src/variants.ts';
import { newDatabase, storeName } from '../support/database.ts';
import { later } from '../support/expected.ts';
import { ROOT, tempFolder } from '../support/files.ts';
import { bodyOf, exported } from '../support/importing.ts';
import { until } from '../support/stress.ts';

/** The text of a record with all members of its kind, as `vitrine check` wants it. */
const recordOf = (kind: KindName, values: Readonly<Record<string, string>>) =>
  JSON.stringify({ ...Object.fromEntries(Object.keys(MEMBERS[kind]).map((name) => [name, ''])), ...values });
const profile = (id: string, userKey: string, more = '', kind: KindName = 'microblog profile'): Row => ({
  kind,
  id,
  userKey,
  words: JSON.stringify([userKey]),
  owner: '',
  date: '',
  record: recordOf(kind, { id, username: userKey, bio: more }),
});
const item = (id: string, owner: string, date: string, more = '', kind: KindName = 'post'): Row => ({
  kind,
  id,
  userKey: '',
  words: '',
  owner,
  date,
  record: recordOf(kind, { id, [kind === 'post' ? 'user' : 'user_id']: owner, date, token_id: more }),
});
const day = (number: number) => `2024-01-${String((number % 28) + 1).padStart(2, '0')} 00:00:00`;

async function load(url: string, rows: Iterable<Row>, options: Partial<LoadOptions> = {}) {
  const misfits: Misfit[] = [];
  const writer = await openWriter(url);
  try {
    const load = await writer.load({
      replace: false,
      skipInvalid: false,
      onMisfit: (misfit) => void misfits.push(misfit),
      ...options,
    });
    let place = 0;
    for (const row of rows) await load.add(row, ++place);
    return { tallies: await load.finish(), misfits };
  } finally {
    await writer.close();
  }
}

/** A plain model of a load: `names` maps names to users, and there are no conflicts. */
class Model {
  readonly rows = new Map<string, Row>();

  load(rows: readonly Row[], replace: boolean): { tallies: Tallies; misfits: number } {
    const tallies = Object.fromEntries(
      Object.keys(KINDS).map((kind) => [
        kind,
        { new: 0, changed: 0, unchanged: 0, removed: 0, takenDown: 0 },
      ]),
    ) as Tallies;
    const last = new Map(rows.map((row) => [keyOf(row), row]));
    const owners = new Set([...(replace ? [] : this.rows.keys()), ...last.keys()]);
    let misfits = 0;
    for (const [key, row] of last) {
      if (row.owner === '' || owners.has(`${KINDS[row.kind].family} profile ${row.owner}`)) continue;
      last.delete(key);
      misfits++;
    }
    const families = new Set(rows.map((row) => KINDS[row.kind].family));
    for (const [key, row] of replace ? [...this.rows] : []) {
      if (last.has(key) || !families.has(KINDS[row.kind].family)) continue;
      this.rows.delete(key);
      tallies[row.kind].removed++;
    }
    for (const [key, row] of last) {
      const old = this.rows.get(key);
      tallies[row.kind][old === undefined ? 'new' : compareRows(old, row)]++;
      this.rows.set(key, row);
    }
    return { tallies, misfits };
  }

  items(family: Family, owner: string): string[] {
    return [...this.rows.values()]
      .filter((row) => row.owner === owner && KINDS[row.kind].family === family)
      .sort((a, b) => later(a.date, b.date) || later(BigInt(a.id), BigInt(b.id)))
      .map(({ record }) => record);
  }
}
function compareRows(old: Row, row: Row): 'unchanged' | 'changed' {
  const members = ['record', 'owner', 'date', 'userKey'] as const;
  return members.every((name) => old[name] === row[name]) ? 'unchanged' : 'changed';
}
const keyOf = (row: Row) => `${KINDS[row.kind].family} ${row.owner === '' ? 'profile' : 'item'} ${row.id}`;

// Few values, so that they collide, and some ids beyond 2^53.
const IDS = '1 2 3 10 255 256 4294967296 9007199254740992 9007199254740993 9223372036854775807'.split(' ');
const anId = fc.constantFrom(...IDS);
const aKind = fc.constantFrom<[KindName, KindName]>(
  ['microblog profile', 'post'],
  ['portfolio profile', 'shot'],
);
const aRow = fc.oneof(
  // Each id has two possible names of its own, so names never conflict.
  fc
    .record({ id: anId, way: fc.nat(1), more: fc.nat(2), kind: aKind })
    .map(({ id, way, more, kind }) => profile(id, `name ${id} ${way}`, String(more), kind[0])),
  fc
    .record({ id: anId, owner: anId, date: fc.nat(3), more: fc.nat(2), kind: aKind })
    .map(({ id, owner, date, more, kind }) => item(id, owner, day(date), String(more), kind[1])),
);
const aLoad = fc.record({ rows: fc.array(aRow, { maxLength: 25 }), replace: fc.boolean() });

describe(`loads into ${storeName()}`, () => {
  test('any sequence of loads gives the contents and counts of a plain map', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(aLoad, { minLength: 1, maxLength: 4 }), async (loads) => {
        const url = await newDatabase();
        const model = new Model();
        for (const { rows, replace } of loads) {
          const expected = model.load(rows, replace);
          const { tallies, misfits } = await load(url, rows, { replace, skipInvalid: true });
          expect(misfits.length).toBe(expected.misfits);
          expect(tallies).toEqual(expected.tallies);
        }
        expect((await exported(url)).sort()).toEqual(
          [...model.rows.values()].map(({ record }) => record).sort(),
        );
        expect((await checkDatabase(url)).faults).toEqual([]);
        const reader = await openReader(url);
        try {
          for (const row of model.rows.values()) {
            if (row.owner !== '') continue;
            const { family } = KINDS[row.kind];
            const found = await reader.profile(family, row.userKey);
            expect(bodyOf(found)).toBe(row.record);
            expect(found?.etag).toBe(computeEtag(row.record));
            const list = `[${model.items(family, row.id).slice(0, 15).join()}]`;
            for (const name of collectionsOf(family)) {
              const items = await reader.items(family, row.userKey, name);
              expect(bodyOf(items)).toBe(`{"${name}":${list}}`);
              expect(items?.etag).toBe(computeEtag(list));
            }
          }
        } finally {
          await reader.close();
        }
      }),
      { numRuns: storeName() === 'SQLite' ? 40 : 10 },
    );
  });

  test('an item that got another owner is in the list of the new one only', async () => {
    const url = await newDatabase();
    await load(url, [
      profile('1', 'one'),
      profile('2', 'two'),
      item('1', '1', day(1)),
      item('2', '1', day(2)),
    ]);
    await load(url, [item('1', '2', day(1))]);
    const reader = await openReader(url);
    const listOf = async (user: string) =>
      JSON.parse(bodyOf(await reader.items('microblog', user, 'posts'))).posts.map(({ id }: Row) => id);
    expect([await listOf('one'), await listOf('two')]).toEqual([['2'], ['1']]);
    await reader.close();
  });

  test('many users can exchange names in one load', async () => {
    const url = await newDatabase();
    const users = Array.from({ length: 500 }, (_, i) => String(i + 1));
    await load(
      url,
      users.map((id) => profile(id, `user ${id}`)),
    );
    const moved = users.map((id) => profile(id, `user ${(Number(id) % 500) + 1}`));
    const { tallies } = await load(url, moved);
    expect(tallies?.['microblog profile']).toMatchObject({ new: 0, changed: 500, unchanged: 0 });
    expect((await exported(url)).sort()).toEqual(moved.map(({ record }) => record).sort());
  });

  test('a load becomes visible as a whole at its end', async () => {
    const url = await newDatabase();
    await load(url, [profile('1', 'one')]);
    const reader = await openReader(url);
    const writer = await openWriter(url);
    try {
      const load = await writer.load({ replace: false, skipInvalid: false, onMisfit() {} });
      const before = await reader.version();
      for (let i = 1; i <= 3000; i++) await load.add(item(String(i), '1', day(i)), i);
      expect(bodyOf(await reader.items('microblog', 'one', 'posts'))).toBe('{"posts":[]}');
      // The reader ends its transaction with the turn of the event loop; a load that finds it open waits for seconds.
      await new Promise(setImmediate);
      await load.finish();
      await until('the new version', () => reader.version() !== before);
      expect(JSON.parse(bodyOf(await reader.items('microblog', 'one', 'posts'))).posts).toHaveLength(15);
      expect(await reader.items('microblog', 'two', 'posts')).toBeUndefined();
    } finally {
      await writer.close();
      await reader.close();
    }
  });
});

/** Commits a number after the other, as all records. */
const COUNTING_WRITER = `
  const { workerData: [sqlite, path] } = require('node:worker_threads');
  const db = require(sqlite)(path);
  for (let n = 1; ; n++)
    db.exec("BEGIN; UPDATE profiles SET record = '[" + n + "]'; UPDATE lists SET body = CAST('{\\"posts\\":[" + n +
      "]}' AS BLOB); UPDATE items SET record = '[" + n + "]'; COMMIT");`;

const describeSqlite = storeName() === 'SQLite' ? describe : () => {};

describeSqlite('SQLite files', () => {
  /** More rows than staging holds in memory, in the mixed order of a real site. */
  function* many(round: number): Generator<Row> {
    const filler = 'x'.repeat(1500);
    for (let owner = 1; owner <= 1000; owner++) yield profile(String(owner), `user ${owner}`, filler);
    for (let id = 1; id <= 20_000; id++)
      yield item(
        String(id),
        String(((id * 7919) % 1000) + 1),
        day(id),
        id % 100 < round ? 'changed' : filler,
      );
  }

  test('a load larger than memory is complete and ordered, in one file without a WAL', async () => {
    const folder = join(tempFolder(), 'data');
    mkdirSync(folder);
    const url = join(folder, 'site.db');
    const first = await load(url, many(0));
    expect(first.tallies?.post).toEqual({ new: 20_000, changed: 0, unchanged: 0, removed: 0, takenDown: 0 });
    expect(readdirSync(folder)).toEqual(['site.db']);
    const { tallies } = await load(url, [...many(10)].reverse());
    expect(tallies?.post).toEqual({ new: 0, changed: 2000, unchanged: 18_000, removed: 0, takenDown: 0 });
    const model = new Model();
    model.load([...many(10)], false);
    const records = await exported(url);
    expect(records.length).toBe(21_000);
    const owners = Array.from({ length: 1000 }, (_, i) => String(i + 1));
    expect(records.slice(1000)).toEqual(owners.flatMap((owner) => model.items('microblog', owner)));
  });

  const uncommitted = `
    import { openWriter } from ${JSON.stringify(join(ROOT, 'src/stores/sqlite/write.ts'))};
    const writer = await openWriter(process.argv[1]);
    const options = { replace: false, skipInvalid: true, onMisfit: () => process.kill(process.pid, 'SIGKILL') };
    const load = await writer.load(options);
    const row = { kind: 'microblog profile', userKey: 'one', words: '[]', owner: '', date: '', record: '{}' };
    await load.add({ ...row, id: '1' }, 1);
    const post = { kind: 'post', userKey: '', words: '', owner: '1', date: '2024-01-01 00:00:00' };
    for (let id = 1; id <= 20_000; id++)
      await load.add({ ...post, id: String(id), record: JSON.stringify({ id, more: 'x'.repeat(1000) }) }, id + 1);
    await load.add({ ...post, id: '20001', owner: '2', record: '{}' }, 20_002);
    await load.finish();`;

  test('a file is served after the load that follows a killed one', async () => {
    const url = join(tempFolder(), 'site.db');
    const { signal } = spawnSync(process.execPath, ['--input-type=module', '-e', uncommitted, url]);
    expect(signal).toBe('SIGKILL');
    // What was written stands in the file, not in a log; the journal undoes it.
    expect(statSync(url).size).toBeGreaterThan(20e6);
    expect(readdirSync(dirname(url)).sort()).toEqual(['site.db', 'site.db-journal']);
    expect(statSync(`${url}-journal`).size).toBeLessThan(1e6);
    await expect(openReader(url)).rejects.toThrow(NoDataError);
    const other = join(tempFolder(), 'other.db');
    await load(other, [profile('2', 'two')]);
    const twoHoursAgo = Date.now() / 1000 - 7200;
    copyFileSync(`${url}-journal`, `${other}-journal`);
    utimesSync(`${other}-journal`, twoHoursAgo, twoHoursAgo);
    const script = `await (await import(${JSON.stringify(join(ROOT, 'src/stores/open.ts'))})).openWriter(process.argv[1])`;
    const opened = spawnSync(process.execPath, ['--input-type=module', '-e', script, other], {
      encoding: 'utf8',
    });
    expect(opened.stderr).toMatch(/other\.db-journal is of another file.*: move .*other\.db-journal away/);
    await load(url, [profile('3', 'three')]);
    expect(readdirSync(dirname(url))).toEqual(['site.db']);
    expect(statSync(url).size).toBeLessThan(1e6);
    expect(await exported(url)).toEqual([profile('3', 'three').record]);
  });

  test('a new file that another writer filled stays', async () => {
    const url = join(tempFolder(), 'site.db');
    const first = await openWriter(url);
    await load(url, [profile('1', 'one')]);
    await first.close();
    expect(await exported(url)).toEqual([profile('1', 'one').record]);
  });

  test('a load empties the log, although the file is served', async () => {
    const url = join(tempFolder(), 'site.db');
    await load(url, [profile('1', 'one')]);
    await using reader = await openReader(url);
    expect(bodyOf(await reader.profile('microblog', 'one'))).toContain('one');
    // Reads end with a turn of the event loop.
    await nextTurn();
    await load(url, [profile('1', 'one', 'changed')]);
    expect(statSync(`${url}-wal`).size).toBe(0);
  });

  test('a long read blocks no load, is not blocked, and sees the old data throughout', async () => {
    const url = join(tempFolder(), 'site.db');
    await load(url, [profile('1', 'one'), profile('2', 'two')]);
    const reader = await openArchive(url);
    const records = reader.records();
    await records.next();
    await load(url, [profile('3', 'three'), profile('1', 'one', 'changed')]);
    const rest: string[] = [];
    for await (const record of records) rest.push(record);
    await reader.close();
    expect(rest).toEqual([profile('2', 'two').record]);
    expect(await exported(url)).toHaveLength(3);
  });

  test('a page or feed has profile and items of one commit', async () => {
    const url = join(tempFolder(), 'site.db');
    await load(url, [profile('1', 'one'), item('1', '1', day(1))]);
    const workerData = [join(ROOT, 'node_modules/better-sqlite3'), url];
    const writer = new Worker(COUNTING_WRITER, { eval: true, workerData });
    const reader = await openReader(url);
    const seen = new Set<string>();
    // As long as it takes: a busy machine makes few commits a second.
    const isSeen = async () => {
      for (let turn = 0; turn < 200; turn++) {
        const history = await reader.history('microblog', 'one', { limit: 1 });
        const own = bodyOf(history?.profile);
        if (!own.startsWith('[')) return false;
        expect(history?.items[0]?.record).toBe(own);
        const newest = await reader.newest('microblog', 'one', 'posts');
        const list = { etag: '', body: newest?.list.body ?? null };
        expect(bodyOf(list)).toBe(`{"posts":${bodyOf(newest?.profile)}}`);
        seen.add(own);
      }
      return seen.size > 100;
    };
    while (!(await isSeen())) await nextTurn();
    await writer.terminate();
    await reader.close();
  });
});
