// The benchmark's tables: ratios, missed promises and what is published. Nothing is measured.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { BARE, BY_HAND, RANDOM } from './bench/lookups.ts';
import { type MeasuredRow, rowPromises } from './bench/measure.ts';
import { isBusy, watchOthers } from './bench/quiet.ts';
import { isMissed, promiseTable, publish } from './bench/report.ts';
import { tempFolder } from './rig.ts';

const row = (name: string, cpu: number, more: Partial<MeasuredRow> = {}): MeasuredRow => ({
  ...{ group: '15 items', name, base: BARE, others: 0, best: { rate: 1e6 / cpu, p99: cpu, cpu } },
  ...more,
});
const rows = [
  row(BARE, 10),
  row(RANDOM, 24, { atMost: 2.2, p99: { base: BY_HAND, atMost: 1 } }),
  row(BY_HAND, 80),
];

test('a missed promise is marked in its line', () => {
  const lines = promiseTable(rowPromises(rows)).split('\n');
  expect(lines.filter((line) => line.endsWith('MISSED'))).toEqual([
    expect.stringMatching(
      /^15 items: Vitrine, random users, CPU against bare node:http.* 2.40 × +≤ 2.2 +MISSED$/,
    ),
  ]);
  expect(lines).toHaveLength(3);
});

test.each([
  [2.204, '×', false],
  [2.206, '×', true],
  [2.24, 'KB', false],
  [2.26, 'KB', true],
  [Number.NaN, '×', true],
] as const)('%d %s counts as it is shown', (figure, unit, missed) => {
  expect(isMissed({ what: '', figure, atMost: 2.2, unit })).toBe(missed);
});

test('a machine is busy when others take more than 5% of its CPU', () => {
  expect([isBusy(0.05), isBusy(0.06)]).toEqual([false, true]);
  if (process.platform === 'linux') expect(watchOthers()()).toBeGreaterThanOrEqual(0);
});

test('tables replace what is between the markers, with every figure of the README in the guide', () => {
  const root = tempFolder();
  mkdirSync(join(root, 'src/guides'), { recursive: true });
  const [readme, guide] = [join(root, 'README.md'), join(root, 'src/guides/benchmark.md')];
  for (const path of [readme, guide])
    writeFileSync(path, 'Before\n<!-- bench:start -->\nold\n<!-- bench:end -->\nAfter\n');
  publish(['A machine'], rows, [{ what: 'bytes', figure: 0.3, atMost: 0.35, unit: '×' }], root);
  const [page, table] = [readme, guide].map((path) => readFileSync(path, 'utf8')) as [string, string];
  for (const text of [page, table])
    expect(text).toMatch(/^Before\n<!-- bench:start -->\n[\s\S]+\n<!-- bench:end -->\nAfter\n$/);
  expect(table).toContain('| bytes |  | 0.30 × | ≤ 0.35 |');
  const figures = page.match(/[\d.]+(?= ×)/g);
  expect(figures).toEqual(['2.40', '8.00']);
  for (const figure of figures ?? []) expect(table).toMatch(new RegExp(`\\| \\**${figure}\\**`));
  writeFileSync(readme, 'no markers');
  expect(() => publish([], rows, [], root)).toThrow('does not have <!-- bench:start -->');
});
