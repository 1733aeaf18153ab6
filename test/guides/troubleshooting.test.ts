// The guide for trouble has an entry for each alert, and for each sentence with which a start can fail.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { METRICS } from '../../src/server/telemetry/metric-table.ts';
import { fixture, ROOT, tempFile, tempFolder } from '../support/files.ts';
import { section } from '../support/pages.ts';
import { prepareServe, spawned } from '../support/run.ts';

const GUIDE = 'src/guides/troubleshooting.md';

/** The code spans in the first cell of each row. */
const firstCells = (title: string) =>
  [...section(GUIDE, title).matchAll(/^\| (`.*?) \| /gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`((?:[^`\\]|\\`)+)`/g)].map(([, text = '']) => text.replaceAll('\\`', '`')),
  );

test('each alert has a row with its command', () => {
  const alerts = METRICS.flatMap(({ alert }) => alert ?? []);
  expect(firstCells('Alerts').sort()).toEqual(alerts.map(({ name }) => name).sort());
  const rows = section(GUIDE, 'Alerts')
    .replace(/`|\[(.*?)\]\(.*?\)/g, '$1')
    .split('\n');
  for (const { name, command } of alerts)
    expect(rows.find((row) => row.startsWith(`| ${name} |`))).toContain(command);
});

const entries = firstCells('The server does not start').map((text) => {
  const parts = text.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(parts.join('.*'));
});
const hasEntry = (message: string) => entries.some((entry) => entry.test(message));

/** What reads the data at a start. */
const SOURCES = [
  ...['serve', 'file', 'errors', 'migrate', 'read'].map((name) => `sqlite/${name}`),
  ...['errors', 'connect', 'host', 'hosts', 'migrate'].map((name) => `postgres/${name}`),
  'sql/migrations',
];

test.each(SOURCES)('each sentence of stores/%s.ts has a row', (name) => {
  const source = readFileSync(join(ROOT, `src/stores/${name}.ts`), 'utf8');
  const thrown = source.matchAll(
    /(?:StoreError|NoDataError)\(\s*(?:`((?:[^`\\]|\\.)*)`|'((?:[^'\\]|\\.)*)')/g,
  );
  // In the tables and functions of errors.ts, each sentence stands behind a colon, a comma or `return`.
  const told = source.matchAll(/(?:return|:|\/i?,)\s+(?:`((?:[^`\\]|\\.)*)`|'((?:[^'\\]|\\.)*)')/g);
  const texts = [...thrown, ...(name.endsWith('errors') ? told : [])].map(
    (match) => match[1] ?? match[2] ?? '',
  );
  const sentences = texts
    .map((text) => text.replace(/\$\{[^}]*\}/g, 'x').replaceAll('\\`', '`'))
    // A word alone, a frame for other sentences, and reasons that stand in one of them.
    .filter(
      (text) =>
        / .* /.test(text) && !/^The database at x x\.$|^x (?:is read-only|.* by uid)|^x, which/.test(text),
    );
  expect(sentences.filter((sentence) => !hasEntry(sentence))).toEqual([]);
});

const invalid = '{"id":"1","username":"mira","Likes":"many"}';

test.each<[what: string, args: () => readonly string[], env?: Record<string, string>]>([
  ['a setting with a wrong value', () => ['--port', 'x']],
  ['base URLs that clash', () => ['--base-url-a', '/x', '--base-url-b', '/x']],
  ['no database', () => []],
  ['a secret that is given twice', () => ['--database-url', 'a', '--database-url-file', 'b']],
  ['a secret without its file', () => ['--database-url-file', '/nonexistent']],
  ['files and a database', () => [tempFile('x.ndjson', invalid), '--database-url', 'site.db']],
  ['a rehearsal in production', () => ['--samples', '--rehearse'], { NODE_ENV: 'production' }],
])('the sentences about %s have a row', async (_, args, env = {}) => {
  const { code, stderr } = await prepareServe(['serve', ...args()], { env });
  expect(code).toBe(2);
  for (const line of stderr.trim().split('\n')) expect([line, hasEntry(line)]).toEqual([line, true]);
});

test.each<[what: string, args: () => readonly string[]]>([
  ['files with mistakes', () => [tempFile('x.ndjson', invalid)]],
  ['an address of another machine', () => ['--samples', '--host', '203.0.113.1']],
  ['a folder that is missing', () => ['--database-url', '/nonexistent/site.db']],
  ['a folder in place of a file', () => ['--database-url', tempFolder()]],
  ['no database at all', () => ['--database-url', tempFile('x.db', 'no database at all\n'.repeat(100))]],
  [
    'a file that is cut off',
    () => ['--database-url', tempFile('x.db', readFileSync(fixture('older/schema-4.db')).subarray(0, 5000))],
  ],
])('the last sentence about %s has a row', async (_, args) => {
  const { code, stderr } = await spawned(['serve', ...args()]);
  expect(code).toBe(1);
  const last = stderr.trim().split('\n').at(-1) ?? '';
  expect([last, hasEntry(last)]).toEqual([last, true]);
});
