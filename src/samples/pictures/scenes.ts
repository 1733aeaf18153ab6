// Covers, photos and film stills: landscapes in layers, from broad daylight to night.
import { type Brush, circle, curve, line, mix, n, path, range, rect } from './ink.ts';

type Scene = (brush: Brush, width: number, height: number) => string;

/** A slope from the left edge to the right one, closed along the bottom. */
function slope(
  brush: Brush,
  width: number,
  height: number,
  level: number,
  swing: number,
  steps: number,
): string {
  const ridge = range(steps + 3).map(
    (step) => [((step - 1) / steps) * width, level + brush.between(-swing, swing)] as const,
  );
  return `${curve(ridge)}L${n(width * 1.2)} ${n(height)}L${n(-width * 0.2)} ${n(height)}Z`;
}

const sky = (width: number, height: number, top: string, bottom: string) =>
  `<linearGradient id="sky" x2="0" y2="1"><stop stop-color="${top}"/><stop offset="1" stop-color="${bottom}"/></linearGradient>${rect(0, 0, width, height, 'url(#sky)')}`;

const isNight = (brush: Brush) => Number.parseInt(brush.paper.slice(1, 3), 16) < 0x80;

/** Hills, each nearer one darker. */
const hills: Scene = (brush, width, height) => {
  const [sun, haze, near] = brush.hues;
  const night = isNight(brush);
  const top = night ? brush.paper : mix(brush.paper, haze, 0.55);
  const low = night ? mix(brush.paper, near, 0.45) : brush.paper;
  const dark = night ? mix(brush.paper, '#000000', 0.45) : mix(brush.ink, near, 0.25);
  const layers = brush.whole(4, 5);
  const disc = circle(
    width * brush.between(0.2, 0.8),
    height * brush.between(0.26, 0.42),
    height * brush.between(0.09, 0.16),
    sun,
  );
  const ranges = range(layers).map((layer) => {
    const share = layer / (layers - 1);
    const level = height * (0.5 + share * 0.36);
    return path(
      slope(brush, width, height, level, height * (0.1 - share * 0.05), brush.whole(4, 7)),
      mix(mix(low, near, 0.55), dark, share),
    );
  });
  return sky(width, height, top, low) + disc + ranges.join('');
};

/** A horizon, a low sun and its path on the water. */
const sea: Scene = (brush, width, height) => {
  const [sun, glow, water, far] = brush.hues;
  const night = isNight(brush);
  const horizon = height * brush.between(0.5, 0.6);
  const x = width * brush.between(0.3, 0.7);
  const deep = night ? mix(brush.paper, '#000000', 0.3) : mix(water, brush.ink, 0.35);
  const radius = height * 0.15;
  const glints = range(11).map((row) => {
    const half = width * (0.015 + 0.012 * row) * brush.between(0.4, 1);
    const y = horizon + 10 + (row * (height - horizon)) / 11;
    const shift = brush.between(-1, 1) * width * 0.02;
    return line(
      `M${n(x - half + shift)} ${n(y)}H${n(x + half + shift)}`,
      mix(sun, '#ffffff', 0.15),
      height * 0.008,
      ' opacity=".8"',
    );
  });
  const island = (from: number, size: number, tall: number, colour: string) =>
    path(
      `M${n(from)} ${n(horizon)}q${n(size * 0.2)} ${n(-tall)} ${n(size * 0.45)} ${n(-tall * 0.8)}t${n(size * 0.55)} ${n(tall * 0.8)}z`,
      colour,
    );
  return (
    sky(
      width,
      height,
      night ? brush.paper : mix(brush.paper, far, 0.5),
      night ? mix(brush.paper, glow, 0.5) : mix(brush.paper, glow, 0.45),
    ) +
    circle(x, horizon - radius * brush.between(-0.1, 0.9), radius, sun) +
    island(width * brush.between(0.02, 0.12), width * 0.3, height * 0.12, mix(deep, glow, 0.3)) +
    island(width * brush.between(0.66, 0.76), width * 0.26, height * 0.09, mix(deep, glow, 0.45)) +
    rect(0, horizon, width, height - horizon, deep) +
    glints.join('')
  );
};

/** Stars, a moon, and one lit window down there. */
const night: Scene = (brush, width, height) => {
  const [light, , tone] = brush.hues;
  const dark = isNight(brush) ? brush.paper : mix(brush.ink, '#0b1020', 0.35);
  const pale = '#f6efdc';
  const stars = range(46).map(() =>
    circle(
      brush.between(0, width),
      brush.between(0, height * 0.62),
      height * brush.between(0.0015, 0.0042),
      pale,
      ` opacity="${n(brush.between(0.4, 1))}"`,
    ),
  );
  const [x, y, radius] = [width * brush.between(0.18, 0.82), height * brush.between(0.2, 0.32), height * 0.1];
  const moon =
    circle(x, y, radius, pale) +
    circle(x + radius * 0.42, y - radius * 0.12, radius * 0.88, mix(dark, tone, 0.12));
  const ground = [0.66, 0.77, 0.88].map((level, layer) =>
    path(
      slope(brush, width, height, height * level, height * 0.05, 5),
      mix(mix(dark, tone, 0.38), '#05080d', layer * 0.4),
    ),
  );
  const [hx, hy, size] = [width * brush.between(0.25, 0.7), height * 0.83, height * 0.06];
  const house =
    path(
      `M${n(hx)} ${n(hy)}v${n(-size)}l${n(size * 0.8)} ${n(-size * 0.7)}l${n(size * 0.8)} ${n(size * 0.7)}v${n(size)}z`,
      '#05080d',
    ) + rect(hx + size * 0.6, hy - size * 0.75, size * 0.36, size * 0.42, mix(light, '#ffd27a', 0.6));
  return (
    sky(width, height, dark, mix(dark, tone, 0.4)) +
    stars.join('') +
    moon +
    ground.slice(0, 2).join('') +
    house +
    ground[2]
  );
};

/** Roofs against the sky. */
const roofs: Scene = (brush, width, height) => {
  const [wall, light, far, other] = brush.hues;
  const dark = isNight(brush);
  const top = dark ? brush.paper : mix(brush.paper, other, 0.4);
  const row = (base: number, colour: string, lit: boolean) => {
    let [drawn, x] = ['', -width * 0.03];
    while (x < width) {
      const wide = width * brush.between(0.07, 0.13);
      const tall = height * base * brush.between(0.72, 1.12);
      const y = height - tall;
      const peak = brush.pick([0, 0.3, 0.55]) * wide;
      drawn += path(
        `M${n(x)} ${n(height)}V${n(y)}L${n(x + wide / 2)} ${n(y - peak)}L${n(x + wide)} ${n(y)}V${n(height)}Z`,
        brush.chance(0.3) ? mix(colour, brush.ink, 0.14) : colour,
      );
      if (lit)
        for (const column of range(3))
          for (const floor of range(4))
            drawn += rect(
              x + wide * (0.18 + column * 0.26),
              y + wide * (0.2 + floor * 0.42),
              wide * 0.13,
              wide * 0.22,
              brush.chance(0.3) ? mix(light, '#fff2c4', 0.5) : mix(colour, brush.ink, 0.4),
            );
      x += wide;
    }
    return drawn;
  };
  return (
    sky(width, height, top, mix(brush.paper, light, 0.55)) +
    circle(width * brush.between(0.55, 0.85), height * 0.32, height * 0.12, mix(light, '#ffffff', 0.35)) +
    row(0.62, mix(mix(top, far, 0.5), brush.ink, 0.1), false) +
    row(0.4, dark ? mix(wall, brush.paper, 0.5) : mix(wall, brush.ink, 0.12), true)
  );
};

/** Poplars along a field. */
const grove: Scene = (brush, width, height) => {
  const [leaf, field, sun, far] = brush.hues;
  const ground = height * brush.between(0.7, 0.78);
  const base = isNight(brush) ? mix(brush.paper, '#ffffff', 0.08) : brush.paper;
  const trees = range(brush.whole(5, 8)).map((index, _, all) => {
    const x = width * ((index + 0.5) / all.length + brush.between(-0.03, 0.03));
    const tall = height * brush.between(0.32, 0.56);
    const wide = tall * brush.between(0.13, 0.2);
    const foot = ground + height * brush.between(0, 0.05);
    const colour = mix(leaf, brush.pick([brush.ink, far, '#12241d']), brush.between(0.1, 0.45));
    return `${line(`M${n(x)} ${n(foot)}v${n(-tall * 0.4)}`, mix(brush.ink, leaf, 0.2), wide * 0.12)}<ellipse cx="${n(x)}" cy="${n(foot - tall * 0.56)}" rx="${n(wide)}" ry="${n(tall * 0.46)}" fill="${colour}"/>`;
  });
  return (
    sky(width, height, mix(base, far, 0.35), base) +
    circle(width * brush.between(0.15, 0.85), height * 0.3, height * 0.13, sun) +
    path(slope(brush, width, height, ground - height * 0.06, height * 0.05, 4), mix(base, far, 0.65)) +
    path(slope(brush, width, height, ground, height * 0.03, 4), field) +
    trees.join('') +
    path(slope(brush, width, height, ground + height * 0.12, height * 0.03, 4), mix(field, brush.ink, 0.3))
  );
};

/** Bands of sand, or of wind. */
const dunes: Scene = (brush, width, height) => {
  const base = isNight(brush) ? mix(brush.paper, brush.hues[3], 0.3) : brush.paper;
  const bands = range(6).map((band) => {
    const colour = brush.hues[band % 4] as string;
    const level = height * (0.3 + band * 0.13);
    return path(
      slope(brush, width, height, level, height * 0.09, 3),
      mix(colour, band > 3 ? brush.ink : base, band > 3 ? 0.3 : 0.2),
    );
  });
  return (
    rect(0, 0, width, height, base) +
    circle(width * brush.between(0.1, 0.9), height * 0.24, height * 0.1, brush.hues[2]) +
    bands.join('')
  );
};

const scene: Scene = (brush, width, height) =>
  brush.pick([hills, sea, night, roofs, grove, dunes, hills, sea])(brush, width, height);

export const cover = (brush: Brush) => scene(brush, 1500, 500);
export const photo = (brush: Brush) => scene(brush, 1200, 800);
export const still = (brush: Brush) =>
  scene(brush, 1280, 720) +
  rect(0, 0, 1280, 720, '#0b1413', ' opacity=".22"') +
  rect(0, 0, 1280, 44, '#0b1413') +
  rect(0, 676, 1280, 44, '#0b1413');
