// The readers of import files: limits, time and back-pressure. What each format gives is in fixtures/cases.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { readRecords } from '../../../src/import/formats/detect.ts';
import { ROOT } from '../../support/files.ts';
import { readEntries } from '../../support/importing.ts';

describe('records of more than 1 MiB', () => {
  const long = 'x'.repeat(1_100_000);
  const fits = 'x'.repeat(1_000_000);

  test.each([
    ['NDJSON', `{"a":"1"}\n{"a":"${long}"}\n{"a":"${fits}"}\n`, 2],
    ['JSON', `[{"a":"1"},\n{"a":"${long}"},\n{"a":"${fits}"}]`, 2],
    ['CSV', `id,name\n1,b\n2,${long}\n3,${fits}\n`, 3],
  ])('%s: one problem, and the other records are read', async (_name, content, line) => {
    for (const size of [10_000, 65_536, 10_000_000]) {
      const { entries: all } = await readEntries(content, size);
      expect(all.filter((one) => 'value' in one)).toHaveLength(2);
      const problems = all.filter((one) => 'problem' in one);
      expect(problems.map((one) => [one.line, one.problem])).toEqual([[line, 'longer than 1 MiB']]);
      expect(problems[0]?.text().length).toBeLessThan(300);
    }
  });

  test('an object that holds lists of other names: the problem says how to read them', async () => {
    const {
      entries: [found, ...others],
    } = await readEntries(`{"data":{"items":[{"a":"${long}${long}"}]}}`);
    expect(others).toEqual([]);
    expect(found).toMatchObject({
      line: 1,
      problem: 'longer than 1 MiB: lists in an object are read by a map (--map) whose `lists` names them',
    });
  });

  test('a body that is larger than any record', async () => {
    const record = `{"a":"${'x'.repeat(1000)}"}`;
    const body = `{"posts":[${Array(3000).fill(record).join(',')},]}`;
    expect((await readEntries(body)).entries.filter((one) => 'value' in one)).toHaveLength(3000);
  });
});

test('hostile input takes linear time', async () => {
  const nested = `[${'{"a":['.repeat(150_000)}`;
  const quotes = `{"a":${'"\\"'.repeat(300_000)}`;
  const openQuote = `{"a":${'"\\'.repeat(300_000)}`;
  const brackets = `[{${'"a":[],'.repeat(120_000)}}]`;
  const digits = `{"a":${'9'.repeat(500_000)}}`;
  const commas = `{"a":[${', '.repeat(400_000)}`;
  const header = `id${',"'.repeat(399_999)}`;
  for (const content of [nested, quotes, openQuote, brackets, digits, commas, header])
    expect((await readEntries(content)).entries).toHaveLength(1);
});

test.each([
  ['plain', false],
  ['packed', true],
])('stopping early closes the source: %s', async (_name, packed) => {
  let closed = false;
  const lines = Buffer.from('{"a":"1"}\n'.repeat(50_000));
  const bytes = packed ? gzipSync(lines, { level: 0 }) : lines;
  const source = (async function* () {
    try {
      for (;;) yield bytes;
    } finally {
      closed = true;
    }
  })();
  for await (const _batch of readRecords(source)) break;
  await new Promise(setImmediate);
  expect(closed).toBe(true);
});

test('a chunk is read only after the small batches of the previous one were taken', async () => {
  let given = 0;
  const source = (async function* () {
    for (; given < 10; given++) yield Buffer.from('{}\n'.repeat(50_000));
  })();
  const batches = readRecords(source);
  for (let taken = 0; taken < 3; taken++)
    expect((await batches.next()).value?.length).toBeLessThan(65_536 / 3 + 1);
  expect(given).toBeLessThanOrEqual(1);
  await batches.return(undefined);
});

test('csv-spectrum', async () => {
  const folder = join(ROOT, 'node_modules/csv-spectrum');
  const names = readdirSync(join(folder, 'csvs')).map((file) => file.replace('.csv', ''));
  expect(names.length).toBeGreaterThan(10);
  // CSV is recognised by the names in its header, so these replace the names of the columns.
  const MEMBERS = ['id', 'username', 'name', 'bio', 'location'];
  for (const name of names) {
    const json = JSON.parse(readFileSync(join(folder, 'json', `${name}.json`), 'utf8'));
    // One of them is an object, with a telephone number that is not the one of its CSV.
    const rows = Array.isArray(json) ? json : [{ ...json, 'Contact Phone Number': '2095257564' }];
    const columns = Object.keys(rows[0]);
    const members = MEMBERS.slice(0, columns.length);
    const csv = readFileSync(join(folder, 'csvs', `${name}.csv`), 'latin1');
    const file = Buffer.from(csv.replace(/^[^\r\n]*/, members.join()), 'latin1');
    const { entries: all } = await readEntries(file);
    // An empty cell is an absent member.
    const cells = all.map((one) =>
      members.map((member) => ('value' in one ? (one.value[member] ?? '') : one)),
    );
    expect({ name, cells }).toEqual({
      name,
      cells: rows.map((row) => columns.map((column) => row[column] ?? '')),
    });
  }
});
