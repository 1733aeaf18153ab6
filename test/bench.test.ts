// The benchmark's tools: missed bounds, busy machines, user selection and publishing. Nothing is measured.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { BARE, BY_HAND, READY } from './bench/contenders.ts';
import { holdBounds, median, medianRatio, missedLine } from './bench/figures.ts';
import { isBusy, watchOthers } from './bench/other-processes.ts';
import { publish } from './bench/publish.ts';
import { table } from './bench/report.ts';
import type { RowName } from './bench/rows.ts';
import { boundsOf, type Measured, othersShare } from './bench/sampling.ts';
import { zipf } from './bench/zipf.ts';
import { tempFolder } from './rig.ts';

interface Samples {
  readonly p99?: number;
  readonly others?: number;
}

/** A row with a sample for each figure of CPU. */
function measured(
  row: Partial<RowName>,
  cpu: readonly number[],
  { p99 = 2000, others = 0.01 }: Samples = {},
): Measured {
  const samples = cpu.map((one) => ({ rate: 1e6 / one, p50: 1000, p99, cpu: one, others }));
  return { group: 'items', name: BARE, base: BARE, ...row, samples };
}

const RANDOM = 'Vitrine, random of 20 users';
const rows = [
  measured({}, [10, 12, 11]),
  measured({ name: READY, promise: 1.25 }, [11, 13.2, 12.1]),
  measured({ name: RANDOM, promise: 2.2, p99: { of: BY_HAND, atMost: 1 } }, [20, 36, 26.4], { p99: 3000 }),
  measured({ name: BY_HAND }, [80, 96, 88]),
];

describe('promised figures', () => {
  test('ratios are taken round by round', () => {
    expect(median([3, 1, 2, 9])).toBe(2.5);
    expect(medianRatio([20, 36, 26.4], [10, 12, 11])).toBeCloseTo(2.4);
  });

  test('a missed figure is one line that names the row', () => {
    expect(boundsOf(rows).map(missedLine)).toEqual([
      undefined,
      `missed: items, ${RANDOM}: 2.40 × (promised 2.2)`,
      `missed: items, ${RANDOM}, p99 relative to ${BY_HAND}: 1.50 × (promised 1)`,
    ]);
  });

  test('a figure counts as shown, and one that is not a number is missed', () => {
    const bound = { where: 'items', what: 'row', promised: 2.2 };
    expect(missedLine({ ...bound, figure: 2.204 })).toBeUndefined();
    expect(missedLine({ ...bound, figure: 2.206 })).toBe('missed: items, row: 2.21 × (promised 2.2)');
    expect(missedLine({ ...bound, figure: Number.NaN })).toContain('missed');
    expect(missedLine({ ...bound, figure: 4.31, unit: 'MB' })).toBe(
      'missed: items, row: 4.3 MB (promised 2.2)',
    );
  });

  test('bounds that hold leave the exit code alone', () => {
    holdBounds([{ where: 'items', what: 'row', figure: 1, promised: 1 }]);
    expect(process.exitCode).toBeUndefined();
  });
});

describe('a busy machine', () => {
  const shareOf = (...shares: number[]) => othersShare(shares.map((others) => measured({}, [1], { others })));

  test('is one where other processes take more than 5% of the CPU in the median sample', () => {
    expect(isBusy(shareOf(0.01, 0.02, 0.9))).toBe(false);
    expect(isBusy(shareOf(0.01, 0.06, 0.9))).toBe(true);
    expect(isBusy(0.05)).toBe(false);
  });

  test.runIf(process.platform === 'linux')('is told as a share of all cores', () => {
    const share = watchOthers()();
    expect(share).toBeGreaterThanOrEqual(0);
  });
});

test("users by Zipf's law are drawn in proportion to their ranks", () => {
  const users = 100;
  const DRAWS = 100_000;
  let drawn = 0;
  // Evenly spaced numbers instead of random ones, so that the counts are exact.
  const draw = zipf(users, 1, () => (drawn++ + 0.5) / DRAWS);
  const counts = new Map<number, number>();
  for (let turn = 0; turn < DRAWS; turn++) {
    const user = draw();
    counts.set(user, (counts.get(user) ?? 0) + 1);
  }
  const sorted = [...counts.values()].sort((a, b) => b - a);
  const most = sorted[0] as number;
  expect(Math.min(...counts.keys())).toBe(1);
  expect(Math.max(...counts.keys())).toBe(users);
  expect(
    sorted.map((count, index) => (count * (index + 1)) / most).every((one) => Math.abs(one - 1) < 0.02),
  ).toBe(true);
});

describe('what is published', () => {
  function published(page: string) {
    const root = tempFolder();
    mkdirSync(join(root, 'src/guides'), { recursive: true });
    mkdirSync(join(root, 'test/bench'), { recursive: true });
    for (const path of ['README.md', 'src/guides/benchmark.md']) writeFileSync(join(root, path), page);
    publish({ about: ['A machine'], rows, sentences: ['An import is fast.'] }, root);
    const read = (path: string) => readFileSync(join(root, path), 'utf8');
    return {
      readme: read('README.md'),
      guide: read('src/guides/benchmark.md'),
      plot: read('test/bench/requests.svg'),
    };
  }
  const page = 'Before\n<!-- bench:start -->\nold\n<!-- bench:end -->\nAfter\n';

  test('replaces what is between the markers, in the guide and in the README', () => {
    const { readme, guide, plot } = published(page);
    for (const text of [readme, guide]) {
      expect(text).toMatch(/^Before\n<!-- bench:start -->\n[\s\S]+\n<!-- bench:end -->\nAfter\n$/);
      expect(text).not.toContain('old');
    }
    expect(guide).toContain(`| **15 items** | **${RANDOM}** |`);
    expect(guide).toContain('- An import is fast.');
    expect(plot).toMatch(/^<svg /);
  });

  test("the README's figures are in the guide's table", () => {
    const { readme, guide } = published(page);
    const figures = readme.match(/[\d.]+(?= ×)/g);
    expect(figures).toEqual(['1.10', '2.40', '8.00']);
    for (const figure of figures ?? []) expect(guide).toMatch(new RegExp(`\\| \\**${figure}\\**`));
  });

  test('a page without the markers is left alone', () => {
    expect(() => published('no markers')).toThrow('does not have <!-- bench:start -->');
  });
});

test('the table shows each group under its own heading', () => {
  const lines = table([...rows, measured({ group: 'cache', name: 'one', base: 'one' }, [1])]).split('\n');
  expect(lines.filter((line) => line.includes('requests/s')).map((line) => line.split('  ')[0])).toEqual([
    '15 items',
    'responses in memory',
  ]);
});
