// The frames of works: a work fills the nearest one, or is shown whole if it is longer than all.
import { expect, test } from 'vitest';
import { ratioClass, ratioStyles } from '../../src/pages/ratios.ts';

const styles = ratioStyles();
const whole = /^(.*) \{ --fit: contain; \}$/m.exec(styles)?.[1]?.split(', ') ?? [];
const ratioOf = (name: string) =>
  Number(new RegExp(`^\\.${name} \\{ --ratio: (\\S+);`, 'm').exec(styles)?.[1]);

test('a work of any shape loses a fiftieth at most in its frame, or is shown whole', () => {
  for (let width = 100; width <= 20_000; width += 7) {
    const name = ratioClass({ width, height: 1000 });
    if (whole.includes(`.${name}`)) continue;
    const part = width / 1000 / ratioOf(name);
    expect(Math.abs(part - 1), `${width} × 1000`).toBeLessThan(0.02);
  }
});

test.each([
  [100, 1000],
  [20_000, 1000],
])('a work of %i × %i is shown whole', (width, height) => {
  expect(whole).toContain(`.${ratioClass({ width, height })}`);
});
