// Shots without a subject, and record sleeves: shapes that repeat.
import { type Brush, circle, mix, path, range, rect } from './ink.ts';

export const WIDTH = 800;
export const HEIGHT = 600;

export type Print = (brush: Brush) => string;

export const ground = (brush: Brush, colour = brush.paper) => rect(0, 0, WIDTH, HEIGHT, colour);

/** Tiles of quarter and half circles. */
export const tiles: Print = (brush) => {
  const side = brush.pick([100, 200]);
  const colours = [brush.paper, brush.ink, ...brush.hues];
  let drawn = ground(brush);
  for (let y = 0; y < HEIGHT; y += side)
    for (let x = 0; x < WIDTH; x += side) {
      const back = brush.pick(colours);
      const front = brush.pick(colours.filter((colour) => colour !== back));
      drawn += rect(x, y, side, side, back);
      const turn = ` transform="rotate(${brush.whole(0, 3) * 90} ${x + side / 2} ${y + side / 2})"`;
      const half = side / 2;
      drawn += brush.pick([
        () => path(`M${x} ${y}h${side}A${side} ${side} 0 0 1 ${x} ${y + side}Z`, front, turn),
        () => path(`M${x} ${y}A${half} ${half} 0 0 0 ${x + side} ${y}Z`, front, turn),
        () => path(`M${x} ${y}h${side}L${x} ${y + side}Z`, front, turn),
        () => circle(x + half, y + half, half * 0.62, front),
        () =>
          path(`M${x} ${y}h${side}A${side} ${side} 0 0 1 ${x} ${y + side}Z`, front, turn) +
          path(`M${x} ${y}h${half}A${half} ${half} 0 0 1 ${x} ${y + half}Z`, back, turn),
        () => '',
      ])();
    }
  return drawn;
};

/** Bows around a corner. */
export const bows: Print = (brush) => {
  const [x, y] = brush.pick([
    [0, HEIGHT],
    [WIDTH, HEIGHT],
    [WIDTH / 2, HEIGHT],
    [0, 0],
  ] as const);
  const colours = [...brush.hues, brush.ink, brush.paper];
  const first = brush.whole(0, 5);
  const step = brush.between(62, 92);
  const rings = range(8).map((index) =>
    circle(x, y, step * (8.4 - index), colours[(first + index) % 6] as string),
  );
  return ground(brush, mix(brush.paper, brush.hues[1], 0.15)) + rings.join('');
};

/** Warp and weft. */
export const weave: Print = (brush) => {
  let [drawn, x, y] = [ground(brush), 0, 0];
  while (x < WIDTH) {
    const wide = brush.pick([20, 40, 60, 90]);
    drawn += rect(x, 0, wide, HEIGHT, brush.pick([...brush.hues, brush.paper, brush.paper]));
    x += wide;
  }
  while (y < HEIGHT) {
    const tall = brush.pick([16, 30, 50, 80]);
    if (brush.chance(0.6))
      drawn += rect(0, y, WIDTH, tall, brush.pick([brush.ink, ...brush.hues]), ' opacity=".62"');
    y += tall;
  }
  return drawn;
};

/** Dots that swell. */
export const raster: Print = (brush) => {
  const [fx, fy] = [brush.between(120, 680), brush.between(100, 500)];
  const [back, front, other] = brush.pick([
    [brush.paper, brush.ink, brush.hues[0]],
    [brush.hues[1], brush.ink, brush.paper],
    [brush.ink, brush.hues[1], brush.paper],
  ] as const);
  let drawn = ground(brush, back) + circle(fx, fy, 190, other);
  for (let y = 20; y < HEIGHT; y += 40)
    for (let x = 20; x < WIDTH; x += 40)
      drawn += circle(x, y, Math.max(2, 18 - Math.abs(Math.hypot(x - fx, y - fy) - 190) / 13), front);
  return drawn;
};

/** Scales of a fish, or of a roof. */
export const scales: Print = (brush) => {
  const radius = brush.pick([80, 100]);
  const colours = [brush.hues[0], brush.hues[2], brush.hues[3], brush.ink];
  let drawn = ground(brush, brush.hues[2]);
  for (let row = 0; row * radius * 0.5 < HEIGHT + radius * 2; row++)
    for (let x = row % 2 ? 0 : -radius; x < WIDTH + radius * 2; x += radius * 2) {
      const y = row * radius * 0.5;
      const colour = brush.pick(colours);
      drawn +=
        circle(x, y, radius, brush.paper) +
        circle(x, y, radius * 0.86, colour) +
        circle(x, y, radius * 0.58, brush.paper) +
        circle(x, y, radius * 0.4, brush.hues[1]);
    }
  return drawn;
};

/** A record's sleeve, 600 by 600. */
export const sleeve: Print = (brush) => {
  const [one, two, three] = brush.hues;
  const grooves = () =>
    rect(0, 0, 600, 600, one) +
    circle(300, 300, 240, brush.ink) +
    range(7)
      .map((ring) =>
        circle(
          300,
          300,
          226 - ring * 20,
          'none',
          ` stroke="${mix(brush.ink, brush.paper, 0.25)}" stroke-width="2"`,
        ),
      )
      .join('') +
    circle(300, 300, 82, two) +
    circle(300, 300, 12, brush.paper);
  const bars = () =>
    rect(0, 0, 600, 600, brush.paper) +
    range(13)
      .map((bar) => {
        const tall = brush.between(60, 400);
        return rect(
          54 + bar * 38,
          300 - tall / 2,
          24,
          tall,
          bar % 4 === 1 ? one : bar % 4 === 3 ? three : brush.ink,
          ' rx="12"',
        );
      })
      .join('');
  const moons = () =>
    rect(0, 0, 600, 600, two) +
    circle(240, 300, 180, one) +
    circle(360, 300, 180, three, ' opacity=".82"') +
    rect(0, 296, 600, 8, brush.paper);
  return brush.pick([grooves, bars, moons])();
};
