// The shapes of pictures as classes: styles within a page are forbidden.

/** Width to height, in hundredths. */
const COMMON = [56, 67, 71, 75, 80, 100, 125, 133, 141, 150, 160, 178, 200];
/** Each 2.5% above the one before: a work that fills such a frame loses a fiftieth at most at its edges, and has no bars beside it. */
const STEPS = Array.from({ length: 146 }, (_, step) => Math.round(25 * 1.025 ** step));
const RATIOS = [...new Set([...COMMON, ...STEPS])];

/** Taken once: a page asks for the nearest one of each of its pictures. */
const LOGARITHMS = RATIOS.map((ratio) => Math.log(ratio / 100));

/** The class of the nearest ratio. */
export function ratioClass({ width, height }: { readonly width: number; readonly height: number }): string {
  const wanted = Math.log(width / height);
  let nearest = 0;
  let least = Number.POSITIVE_INFINITY;
  for (const [nth, logarithm] of LOGARITHMS.entries()) {
    const distance = Math.abs(logarithm - wanted);
    if (distance < least) [nearest, least] = [nth, distance];
  }
  return `ratio-${RATIOS[nearest]}`;
}

/** Works that are longer than all frames are shown whole in the last ones. */
const [FIRST, LAST] = [Math.min(...RATIOS), Math.max(...RATIOS)];

export function ratioStyles(): string {
  const frames = RATIOS.map((ratio) => `.ratio-${ratio} { --ratio: ${ratio / 100}; }\n`);
  return `${frames.join('')}.ratio-${FIRST}, .ratio-${LAST} { --fit: contain; }\n`;
}
