// What every sample picture is drawn with: a palette and a source of chance, both settled by the picture's name.

export interface Palette {
  readonly paper: string;
  readonly ink: string;
  readonly hues: readonly [string, string, string, string];
}

/** Printing inks of one shop, so that pictures by different hands hang well side by side. */
const PALETTES: readonly Palette[] = [
  { paper: '#f3ead8', ink: '#1f2a44', hues: ['#e4572e', '#f2a541', '#2a7f86', '#8fb8a8'] },
  { paper: '#eaf0ea', ink: '#16302b', hues: ['#2f7f6b', '#9cc5a1', '#e0b04f', '#d96c4f'] },
  { paper: '#f7e6dc', ink: '#3a1f3d', hues: ['#c8553d', '#f28f6b', '#588b8b', '#f6c98f'] },
  { paper: '#e6edf5', ink: '#14213d', hues: ['#3d6fb6', '#8db5e0', '#f5a623', '#dfd6c4'] },
  { paper: '#f5f0e3', ink: '#26282b', hues: ['#d8432b', '#f0c33c', '#1d5f8a', '#93a58f'] },
  { paper: '#f4e1e2', ink: '#33202a', hues: ['#b23a55', '#e58f9b', '#7c8c5c', '#e9c46a'] },
  { paper: '#e4ece8', ink: '#20343a', hues: ['#4c8577', '#a8c5b5', '#c9843e', '#8a5a44'] },
  { paper: '#fbf1d3', ink: '#233d4d', hues: ['#f3752b', '#fcca46', '#5a9384', '#a1c181'] },
  { paper: '#1b2a3b', ink: '#f4ecd8', hues: ['#f2b134', '#ea5f40', '#3caea3', '#4d6f94'] },
  { paper: '#17332d', ink: '#efe9d9', hues: ['#7fb69a', '#e6b566', '#d9744f', '#3f7361'] },
];

export interface Brush extends Palette {
  readonly between: (least: number, most: number) => number;
  readonly whole: (least: number, most: number) => number;
  readonly pick: <T>(list: readonly T[]) => T;
  readonly chance: (probability: number) => boolean;
}

export function brushFor(name: string): Brush {
  const random = randomFrom(name);
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)] as T;
  const { paper, ink, hues } = pick(PALETTES);
  const turn = Math.floor(random() * 4);
  const turned = hues.map((_, index) => hues[(index + turn) % 4]) as unknown as Palette['hues'];
  return {
    ...{ paper, ink, hues: turned, pick },
    between: (least, most) => least + random() * (most - least),
    whole: (least, most) => least + Math.floor(random() * (most - least + 1)),
    chance: (probability) => random() < probability,
  };
}

/** The same numbers for the same name, on every machine: FNV-1a feeding mulberry32. */
function randomFrom(name: string): () => number {
  let state = 0x811c9dc5;
  for (let at = 0; at < name.length; at++) state = Math.imul(state ^ name.charCodeAt(at), 0x01000193);
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  // Neighbouring names would otherwise begin alike.
  next();
  next();
  return next;
}

/** A colour on the way from one to another. */
export function mix(from: string, to: string, share: number): string {
  const channel = (colour: string, at: number) => Number.parseInt(colour.slice(at, at + 2), 16);
  const blend = (at: number) => Math.round(channel(from, at) + (channel(to, at) - channel(from, at)) * share);
  return `#${[1, 3, 5].map((at) => blend(at).toString(16).padStart(2, '0')).join('')}`;
}

/** A number as SVG wants it: short. */
export const n = (value: number) => String(Math.round(value * 10) / 10);

export const range = (count: number) => Array.from({ length: count }, (_, index) => index);

export const rect = (x: number, y: number, width: number, height: number, fill: string, more = '') =>
  `<rect x="${n(x)}" y="${n(y)}" width="${n(width)}" height="${n(height)}" fill="${fill}"${more}/>`;
export const circle = (x: number, y: number, radius: number, fill: string, more = '') =>
  `<circle cx="${n(x)}" cy="${n(y)}" r="${n(radius)}" fill="${fill}"${more}/>`;
export const path = (d: string, fill: string, more = '') => `<path d="${d}" fill="${fill}"${more}/>`;
export const line = (d: string, stroke: string, width: number, more = '') =>
  `<path d="${d}" fill="none" stroke="${stroke}" stroke-width="${n(width)}" stroke-linecap="round"${more}/>`;

/** A curve through points, smooth at each. */
export function curve(points: readonly (readonly [number, number])[], closed = false): string {
  const count = points.length;
  const at = (index: number) =>
    points[closed ? (index + count) % count : Math.min(Math.max(index, 0), count - 1)] as readonly [
      number,
      number,
    ];
  const start = at(0);
  let d = `M${n(start[0])} ${n(start[1])}`;
  for (let index = 0; index < (closed ? count : count - 1); index++) {
    const [before, from, to, after] = [at(index - 1), at(index), at(index + 1), at(index + 2)];
    const control = (i: 0 | 1) =>
      [from[i] + (to[i] - before[i]) / 6, to[i] - (after[i] - from[i]) / 6] as const;
    const [x, y] = [control(0), control(1)];
    d += `C${n(x[0])} ${n(y[0])} ${n(x[1])} ${n(y[1])} ${n(to[0])} ${n(to[1])}`;
  }
  return closed ? `${d}Z` : d;
}
