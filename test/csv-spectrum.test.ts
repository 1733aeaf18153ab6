// The CSV files of csv-spectrum, read by the import and compared with their JSON.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readRecords } from '../src/formats/detect.ts';
import type { Entry } from '../src/formats/entry.ts';
import { ROOT } from './rig.ts';

const SPECTRUM = join(ROOT, 'node_modules/csv-spectrum');
const NAMES = readdirSync(join(SPECTRUM, 'csvs')).map((file) => file.replace('.csv', ''));
// The import recognises CSV by the member names in its header, so these replace the column names.
const MEMBERS = ['id', 'username', 'name', 'bio', 'location'];

type Cells = Record<string, string>;

async function readCsv(bytes: Buffer): Promise<Cells[]> {
  const entries: Entry[] = [];
  const source = (async function* () {
    yield bytes;
  })();
  for await (const batch of readRecords(source)) entries.push(...batch);
  return entries.map((entry) => ('value' in entry ? (entry.value as Cells) : { problem: entry.problem }));
}

/** One JSON file is an object and has a different telephone number than its CSV. */
function rowsOf(json: Cells | Cells[]): Cells[] {
  return Array.isArray(json) ? json : [{ ...json, 'Contact Phone Number': '2095257564' }];
}

test('there are files', () => {
  expect(NAMES.length).toBeGreaterThan(10);
});

test.each(NAMES)('%s', async (name) => {
  const csv = readFileSync(join(SPECTRUM, 'csvs', `${name}.csv`), 'latin1');
  const rows = rowsOf(JSON.parse(readFileSync(join(SPECTRUM, 'json', `${name}.json`), 'utf8')));
  const columns = Object.keys(rows[0] as Cells);
  const header = MEMBERS.slice(0, columns.length).join(',');
  const renamed = Buffer.from(csv.replace(/^[^\r\n]*/, header), 'latin1');
  // An empty cell is an absent member.
  const expected = rows.map((row) => columns.map((column) => row[column] ?? ''));
  const read = (await readCsv(renamed)).map((cells) =>
    columns.map((_, index) => cells[MEMBERS[index] as string] ?? ''),
  );
  expect(read).toEqual(expected);
});
