// Computes medians and ratios, and checks the promised bounds.

export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = [Math.floor, Math.ceil].map((round) => sorted[round((sorted.length - 1) / 2)] as number);
  return ((middle[0] as number) + (middle[1] as number)) / 2;
}

/** The median of the ratios of two figures that were taken in the same rounds. */
export const medianRatio = (own: readonly number[], base: readonly number[]) =>
  median(own.map((figure, round) => figure / (base[round] as number)));

export const shown = (number: number) => Math.round(number).toLocaleString('en');

export interface Bound {
  /** The group or part of the benchmark. */
  readonly where: string;
  readonly what: string;
  readonly figure: number;
  readonly promised: number;
  readonly unit?: string;
}

/** The line that says so if a figure, rounded to what is shown of it, is above its bound. */
export function missedLine({ where, what, figure, promised, unit = '×' }: Bound): string | undefined {
  const text = figure.toFixed(unit === '×' ? 2 : 1);
  if (Number(text) <= promised) return undefined;
  return `missed: ${where}, ${what}: ${text} ${unit} (promised ${promised})`;
}

/** Prints a line for each bound that is missed; if there is one, the process exits with 1. */
export function holdBounds(bounds: readonly Bound[]): void {
  const missed = bounds.map(missedLine).filter((line) => line !== undefined);
  for (const line of missed) console.log(line);
  if (missed.length > 0) process.exitCode = 1;
}
