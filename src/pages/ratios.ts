// The shapes of pictures as classes: styles within a page are forbidden.

/** Width to height, in hundredths. */
const RATIOS = [25, 33, 45, 56, 67, 75, 80, 100, 125, 133, 150, 178, 200, 250, 300, 400, 600, 900];

/** The class of the nearest ratio. */
export function ratioClass({ width, height }: { readonly width: number; readonly height: number }): string {
  const distance = (ratio: number) => Math.abs(Math.log((100 * width) / height / ratio));
  return `ratio-${RATIOS.reduce((best, ratio) => (distance(ratio) < distance(best) ? ratio : best))}`;
}

export const ratioStyles = (): string =>
  RATIOS.map((ratio) => `.ratio-${ratio} { --ratio: ${ratio / 100}; }\n`).join('');
