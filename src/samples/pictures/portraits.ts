// Avatars: people as a poster painter would cut them from coloured paper, 400 by 400.
import { type Brush, circle, line, mix, path, rect } from './ink.ts';

export function portrait(brush: Brush): string {
  const dark = Number.parseInt(brush.paper.slice(1, 3), 16) < 0x80;
  const [back, coat, extra, other] = brush.hues;
  const skin = brush.pick(['#f1c9a5', '#d99f78', '#b87450', '#8a5238', '#f4d9c0', '#c98a5e']);
  const hair = brush.pick([
    dark ? '#0f1a24' : brush.ink,
    mix(brush.ink, '#000000', 0.2),
    '#6b3d24',
    '#2a211d',
    mix(extra, '#2a1a12', 0.55),
  ]);
  const ink = '#2a1f1a';

  const behind = {
    none: '',
    bob: path('M112 214c-8 -150 184 -150 176 0c2 40 -6 62 -16 74h-144c-10 -12 -18 -34 -16 -74z', hair),
    long: path('M108 210c-6 -150 190 -150 184 0c4 90 16 130 10 152h-204c-6 -22 6 -62 10 -152z', hair),
    curls: [
      [128, 150, 42],
      [164, 112, 44],
      [214, 102, 46],
      [262, 126, 42],
      [282, 172, 38],
      [118, 196, 38],
      [284, 214, 32],
      [116, 230, 28],
    ]
      .map(([x, y, r]) => circle(x as number, y as number, r as number, hair))
      .join(''),
    bun: circle(200, 82, 38, hair),
  };
  const above = {
    crop: path(
      'M122 190c-8 -104 164 -108 156 0c-14 -26 -22 -40 -34 -52c-30 18 -76 16 -98 6c-12 12 -18 26 -24 46z',
      hair,
    ),
    fringe: path(
      'M120 196c-10 -112 170 -112 160 0c-8 -14 -12 -22 -16 -28c-36 8 -92 8 -128 0c-4 6 -8 14 -16 28z',
      hair,
    ),
    parting: path('M120 200c-12 -116 172 -116 160 0c-10 -34 -40 -56 -92 -68c-14 32 -40 52 -68 68z', hair),
    quiff: path(
      'M122 186c-14 -86 44 -104 84 -98c50 -12 92 26 72 98c-6 -20 -14 -32 -24 -40c-40 8 -84 2 -106 -12c-12 12 -20 28 -26 52z',
      hair,
    ),
    beanie:
      path('M118 172c-4 -104 168 -104 164 0z', extra) +
      rect(110, 158, 180, 34, mix(extra, ink, 0.25), ' rx="14"') +
      circle(200, 84, 18, mix(extra, '#ffffff', 0.3)),
  };
  const [hind, fore] = brush.pick([
    ['none', 'crop'],
    ['bob', 'fringe'],
    ['bob', 'parting'],
    ['long', 'parting'],
    ['curls', 'crop'],
    ['bun', 'parting'],
    ['none', 'quiff'],
    ['none', 'beanie'],
    ['long', 'fringe'],
    ['curls', 'parting'],
  ] as const);

  const face =
    circle(172, 206, 6.5, ink) +
    circle(228, 206, 6.5, ink) +
    line('M200 212q-8 18 4 22', mix(skin, ink, 0.45), 4) +
    line(brush.pick(['M180 250q20 18 40 0', 'M184 252q16 10 34 -2', 'M182 250q18 14 36 0']), ink, 4.5) +
    circle(148, 236, 13, mix(skin, '#d9534f', 0.35), ' opacity=".55"') +
    circle(252, 236, 13, mix(skin, '#d9534f', 0.35), ' opacity=".55"');
  const glasses = `<g fill="none" stroke="${ink}" stroke-width="5">${circle(170, 206, 25, 'none')}${circle(230, 206, 25, 'none')}<path d="M195 204q5 -5 10 0"/></g>`;
  const collar = brush.pick([
    path('M160 304q40 44 80 0l14 10q-54 60 -108 0z', mix(coat, '#ffffff', 0.35)),
    path('M152 308l48 56l48 -56l18 12l-40 60h-52l-40 -60z', other),
    range4(mix(coat, '#ffffff', 0.3)),
  ]);

  return (
    rect(0, 0, 400, 400, dark ? mix(brush.paper, back, 0.35) : mix(back, brush.paper, 0.3)) +
    circle(200, 216, 172, dark ? mix(brush.paper, back, 0.6) : mix(back, brush.paper, 0.6)) +
    behind[hind] +
    path('M52 412c0 -76 62 -104 148 -104s148 28 148 104z', coat) +
    path('M172 262h56v52q-28 30 -56 0z', mix(skin, ink, 0.16)) +
    collar +
    circle(120, 212, 15, skin) +
    circle(280, 212, 15, skin) +
    path('M122 190c0 -112 156 -112 156 0c0 62 -28 100 -78 100s-78 -38 -78 -100z', skin) +
    face +
    above[fore] +
    (brush.chance(0.34) ? glasses : '') +
    (brush.chance(0.25) ? circle(120, 236, 7, extra) + circle(280, 236, 7, extra) : '')
  );
}

/** A striped jumper. */
const range4 = (colour: string) =>
  [330, 354, 378]
    .map((y) => line(`M${y === 330 ? 100 : 76} ${y}H${y === 330 ? 300 : 324}`, colour, 9))
    .join('');
