// Shots: the work of a printing shop, one composition each.
import { circle, curve, line, mix, n, path, range, rect } from './ink.ts';
import { bows, ground, HEIGHT, type Print, raster, scales, tiles, WIDTH, weave } from './patterns.ts';

/** An island on a chart: depth lines, height lines, a ferry's dotted way. */
const chart: Print = (brush) => {
  const [land, shallow, mark, deep] = brush.hues;
  const [cx, cy] = [brush.between(300, 500), brush.between(260, 340)];
  const waves = range(4).map(
    (index) => [brush.between(0.04, 0.2) / (index * 0.5 + 1), brush.between(0, 6.3)] as const,
  );
  const ring = (radius: number) =>
    curve(
      range(28).map((step) => {
        const angle = (step / 28) * Math.PI * 2;
        const wobble = waves.reduce(
          (sum, [size, phase], index) => sum + size * Math.cos((index + 2) * angle + phase),
          1,
        );
        return [
          cx + Math.cos(angle) * radius * wobble * 1.35,
          cy + Math.sin(angle) * radius * wobble,
        ] as const;
      }),
      true,
    );
  const water = mix(brush.paper, deep, 0.25);
  const depths = [340, 300, 262, 226].map((radius, index) =>
    path(ring(radius), mix(water, shallow, 0.1 + index * 0.12)),
  );
  const heights = [188, 158, 130, 104, 80, 58, 38, 20].map((radius, index) =>
    path(
      ring(radius),
      mix(mix(land, brush.paper, 0.35), land, index / 7),
      ` stroke="${brush.ink}" stroke-width="${index === 0 ? 3 : 1.2}"`,
    ),
  );
  const [hx, hy] = [cx + 200, cy + 90];
  return (
    ground(brush, water) +
    depths.join('') +
    heights.join('') +
    line(
      `M-20 ${n(brush.between(420, 580))}C200 ${n(brush.between(420, 600))} ${n(hx - 60)} ${n(hy + 160)} ${n(hx)} ${n(hy)}`,
      brush.ink,
      4,
      ' stroke-dasharray="1 14"',
    ) +
    circle(hx, hy, 11, mark, ` stroke="${brush.ink}" stroke-width="3"`) +
    line('M716 84v-44m-22 22h44', brush.ink, 3) +
    path('M716 28l9 26h-18z', brush.ink)
  );
};

/** Stems with leaves in pairs. */
const herbal: Print = (brush) => {
  const stems = range(brush.whole(2, 4)).map((index, _, all) => {
    const x = (WIDTH / (all.length + 1)) * (index + 1) + brush.between(-20, 20);
    const tall = brush.between(380, 500);
    const lean = brush.between(-40, 40);
    const colour = brush.hues[index % 4] as string;
    const leaves = range(brush.whole(5, 8)).map((pair, __, pairs) => {
      const share = 0.18 + (pair / pairs.length) * 0.82;
      const [px, py] = [x + lean * share * share, 560 - tall * share];
      const size = 96 * (1.05 - share * 0.65);
      return [-1, 1]
        .map((way) =>
          path(
            `M${n(px)} ${n(py)}q${n(way * size * 0.35)} ${n(-size * 0.75)} ${n(way * size)} ${n(-size * 0.72)}q${n(-way * size * 0.1)} ${n(size * 0.62)} ${n(-way * size)} ${n(size * 0.72)}z`,
            way === 1 ? colour : mix(colour, brush.ink, 0.22),
          ),
        )
        .join('');
    });
    const bloom = brush.chance(0.6)
      ? circle(x + lean, 560 - tall - 12, 24, brush.hues[(index + 2) % 4] as string)
      : '';
    return (
      line(`M${n(x)} 600Q${n(x)} ${n(560 - tall * 0.5)} ${n(x + lean)} ${n(560 - tall)}`, brush.ink, 5) +
      leaves.join('') +
      bloom
    );
  });
  return ground(brush) + stems.join('');
};

/** One letter, as a type founder would show it. */
const specimen: Print = (brush) => {
  const letter = brush.pick([
    'R',
    'g',
    '&amp;',
    'Å',
    'a',
    'Q',
    'ß',
    'k',
    '?',
    '8',
    'Ö',
    'S',
    'f',
    'é',
    'ç',
    'Ñ',
  ]);
  const font = brush
    .pick(['Georgia, "Liberation Serif", serif', '"Helvetica Neue", "Liberation Sans", Arial, sans-serif'])
    .replaceAll('"', '&quot;');
  const [back, front] = brush.pick([
    [brush.paper, brush.ink],
    [brush.hues[0], brush.paper],
    [brush.hues[2], brush.ink],
    [brush.ink, brush.hues[1]],
  ] as const);
  const rules = [150, 240, 430, 510].map((y) => line(`M60 ${y}H740`, front, 1.5, ' opacity=".45"'));
  return `${ground(brush, back)}${rules.join('')}<text x="400" y="430" font-family="${font}" font-size="420" text-anchor="middle" fill="${front}">${letter}</text>${circle(706, 92, 26, brush.hues[3])}`;
};

/** Vessels on a table. */
const vessels: Print = (brush) => {
  const table = 452;
  const shapes = range(3).map((index) => {
    const x = 190 + index * 210 + brush.between(-24, 24);
    const [tall, belly, neck] = [brush.between(150, 300), brush.between(58, 92), brush.between(18, 44)];
    const foot = table + brush.between(4, 44);
    const colour = brush.hues[index] as string;
    const top = foot - tall;
    const side = (way: number) =>
      `${n(x + way * belly * 1.25)} ${n(foot - tall * 0.25)} ${n(x + way * belly)} ${n(foot - tall * 0.7)} ${n(x + way * neck)}`;
    const body = `M${n(x - belly * 0.5)} ${n(foot)}C${side(-1)} ${n(top)}H${n(x + neck)}C${n(x + belly)} ${n(foot - tall * 0.7)} ${n(x + belly * 1.25)} ${n(foot - tall * 0.25)} ${n(x + belly * 0.5)} ${n(foot)}Z`;
    const shade = `M${n(x + belly * 0.05)} ${n(foot)}C${n(x + belly * 0.5)} ${n(foot - tall * 0.25)} ${n(x + belly * 0.3)} ${n(foot - tall * 0.7)} ${n(x + neck * 0.3)} ${n(top)}H${n(x + neck)}C${n(x + belly)} ${n(foot - tall * 0.7)} ${n(x + belly * 1.25)} ${n(foot - tall * 0.25)} ${n(x + belly * 0.5)} ${n(foot)}Z`;
    return `<ellipse cx="${n(x + 34)}" cy="${n(foot)}" rx="${n(belly * 1.3)}" ry="13" fill="${brush.ink}" opacity=".18"/>${path(body, colour)}${path(shade, mix(colour, brush.ink, 0.25))}`;
  });
  return (
    ground(brush) +
    circle(brush.between(180, 620), 190, brush.between(90, 130), mix(brush.paper, brush.hues[3], 0.55)) +
    rect(0, table - 40, WIDTH, 200, mix(brush.paper, brush.ink, 0.16)) +
    shapes.join('')
  );
};

/** A lighthouse, and the beam. */
const beacon: Print = (brush) => {
  const [tower, light, sea, far] = brush.hues;
  const x = brush.between(240, 560);
  const way = x < 400 ? 1 : -1;
  const bands = range(5).map((band) =>
    path(
      `${curve(
        range(9).map((step) => [step * 100, 470 + band * 32 + Math.sin(step * 1.6 + band * 2) * 8] as const),
      )}V600H0Z`,
      mix(sea, brush.ink, band * 0.16),
    ),
  );
  const stripe = (from: number, to: number, colour: string) =>
    path(
      `M${n(x - 34 + from * 0.05)} ${n(470 - from)}L${n(x - 34 + to * 0.05)} ${n(470 - to)}H${n(x + 34 - to * 0.05)}L${n(x + 34 - from * 0.05)} ${n(470 - from)}Z`,
      colour,
    );
  return (
    ground(brush, mix(brush.paper, far, 0.4)) +
    path(`M${n(x)} 186L${n(x + way * 700)} 40V330Z`, light, ' opacity=".55"') +
    path(`M${n(x - 190)} 500q60 -70 190 -62t190 62z`, mix(brush.ink, far, 0.2)) +
    range(4)
      .map((part) => stripe(part * 65, part * 65 + 65, part % 2 ? '#f7f1e3' : tower))
      .join('') +
    rect(x - 26, 172, 52, 40, light) +
    rect(x - 32, 206, 64, 8, brush.ink) +
    path(`M${n(x - 32)} 172q32 -50 64 0z`, brush.ink) +
    bands.join('')
  );
};

/** A wall of arched windows, one of them lit. */
const arches: Print = (brush) => {
  const [columns, rows] = brush.pick([
    [4, 2],
    [5, 3],
    [3, 2],
  ] as const);
  const [wide, tall] = [WIDTH / columns, HEIGHT / rows];
  const lit = brush.whole(0, columns * rows - 1);
  const windows = range(columns * rows).map((index) => {
    const [x, y] = [(index % columns) * wide + wide * 0.2, Math.floor(index / columns) * tall + tall * 0.14];
    const [w, h] = [wide * 0.6, tall * 0.74];
    const arch = `M${n(x)} ${n(y + h)}V${n(y + w / 2)}a${n(w / 2)} ${n(w / 2)} 0 0 1 ${n(w)} 0V${n(y + h)}Z`;
    const colour = index === lit ? brush.hues[1] : mix(brush.hues[index % 2 ? 2 : 3], brush.ink, 0.2);
    return (
      path(arch, colour) +
      line(`M${n(x + w / 2)} ${n(y)}v${n(h)}M${n(x)} ${n(y + h * 0.58)}h${n(w)}`, brush.paper, 5) +
      rect(x - 10, y + h, w + 20, 10, brush.ink)
    );
  });
  return ground(brush, mix(brush.paper, brush.hues[0], 0.5)) + windows.join('');
};

/** A bird on a wire. */
const bird: Print = (brush) => {
  const [body, wing, sun] = brush.hues;
  const turn = brush.chance(0.5) ? '' : ' transform="matrix(-1 0 0 1 800 0)"';
  return (
    ground(brush) +
    circle(brush.between(180, 620), 240, 170, mix(brush.paper, sun, 0.75)) +
    `<g${turn}>` +
    line('M-20 452Q400 500 820 440', brush.ink, 5) +
    line('M390 420l-8 54m44 -54l2 54', brush.ink, 6) +
    path(
      'M250 300c30 -110 190 -110 220 10c30 10 90 60 190 170c-110 -20 -150 -30 -190 -50c-120 30 -230 -10 -220 -130z',
      body,
    ) +
    path('M370 330c70 -30 150 50 190 120c-90 10 -190 -20 -190 -120z', wing) +
    path('M256 288l-52 18l52 14z', brush.ink) +
    circle(302, 282, 10, brush.ink) +
    circle(305, 279, 3, brush.paper) +
    '</g>'
  );
};

export const shot: Print = (brush) =>
  brush.pick([
    tiles,
    chart,
    herbal,
    bows,
    specimen,
    vessels,
    weave,
    beacon,
    arches,
    raster,
    scales,
    bird,
    chart,
    tiles,
  ])(brush);
