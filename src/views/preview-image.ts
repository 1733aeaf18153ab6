// A person as a picture of the size that link previews show, with the letters of our fonts only: a letter that no font has
// would be a box in it. It is drawn as an SVG and rendered as a PNG.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { clipped, estimateWidth, gradient, grouped, wrapped } from './card-image.ts';
import { type Markup, markup } from './markup.ts';
import {
  type Direction,
  findDirection,
  type Person,
  shortened,
  takeInitials,
  textDirection,
  writtenDate,
} from './person.ts';

export const PREVIEW = { width: 1200, height: 630 } as const;
const MARGIN = 64;
const INNER = PREVIEW.width - 2 * MARGIN;
const TOP = 150;
/** What the avatar takes of the width. */
const AVATAR = 220;
const MOST_TILES = 6;
/** How much wider our fonts are than the estimate of the card's. */
const [WIDE, BOLD] = [1.1, 1.25];
const NAME_SIZES = [60, 50, 42];
/** Of a name on two lines. */
const SMALL_NAME = 36;

/** DejaVu: Latin, Greek, Cyrillic, Hebrew, Arabic and many more, in two files of 0.7 MB. */
const FONTS = ['DejaVuSans.ttf', 'DejaVuSans-Bold.ttf'].map((name) =>
  fileURLToPath(import.meta.resolve(`dejavu-fonts-ttf/ttf/${name}`)),
);

/** Where things are: from right to left, everything is mirrored. */
interface Side {
  readonly anchor: 'start' | 'end';
  readonly x: (x: number, width?: number) => number;
}

const SIDES: Readonly<Record<Direction, Side>> = {
  ltr: { anchor: 'start', x: (x) => x },
  rtl: { anchor: 'end', x: (x, width = 0) => PREVIEW.width - x - width },
};

export function previewImage(person: Person, site: string): string {
  const { username, verified, bio } = person;
  const side = SIDES[findDirection(person)];
  const readable = (text: string) => (/[\p{L}\p{N}]/u.test(shownText(text)) ? shownText(text) : '');
  const name = readable(person.name) || readable(username) || readable(site);
  const { lines, size, baselines } = fitName(name, INNER - AVATAR);
  const left = MARGIN + AVATAR;
  const center = side.x(MARGIN + 90);
  return markup`<svg xmlns="http://www.w3.org/2000/svg" width="${PREVIEW.width}" height="${PREVIEW.height}" viewBox="0 0 ${PREVIEW.width} ${PREVIEW.height}" font-family="DejaVu Sans" fill="#13201c">
<rect width="100%" height="100%" fill="#ffffff"/>
${gradient('cover', `${username} cover`)}<rect width="100%" height="${TOP}" fill="url(#cover)"/>
${gradient('avatar', username)}<circle cx="${center}" cy="${TOP + 20}" r="98" fill="#ffffff"/><circle cx="${center}" cy="${TOP + 20}" r="90" fill="url(#avatar)"/>
<text x="${center}" y="${TOP + 42}" font-size="62" font-weight="700" fill="#ffffff" text-anchor="middle">${takeInitials(name)}</text>
<g text-anchor="${side.anchor}">
${lines.map((line, nth) => markup`<text x="${side.x(left)}" y="${baselines[nth]}" font-size="${size}" font-weight="700">${directed(line, name)}</text>`)}
<text x="${side.x(left)}" y="${TOP + 122}" font-size="30" fill="#52625d">${factsLine(person)}</text>
${wrapped(shownText(shortened(bio, 300)), 30 * WIDE, INNER, 2).map((line, nth) => markup`<text x="${side.x(MARGIN)}" y="${TOP + 196 + nth * 44}" font-size="30">${directed(line, bio)}</text>`)}
${person.noun === 'shots' ? tiles(person, side) : posts(person, side)}
</g>
${verified && markup`<g transform="translate(${side.x(MARGIN + 154)} ${TOP + 84})"><circle r="28" fill="#ffffff"/><circle r="22" fill="#0c6b5b"/><path d="M-9 0l6 8 11-14" fill="none" stroke="#ffffff" stroke-width="5"/></g>`}
<rect y="${PREVIEW.height - 10}" width="100%" height="10" fill="#0c6b5b"/>
<text x="${side.x(PREVIEW.width - MARGIN)}" y="${PREVIEW.height - 26}" font-size="22" fill="#52625d" text-anchor="${side.anchor === 'start' ? 'end' : 'start'}">${shownText(site)}</text>
</svg>`.text;
}

/** The name in the largest letters in which it fits one line, or on two lines. */
function fitName(name: string, width: number) {
  const size = NAME_SIZES.find((size) => estimateWidth(name, size * BOLD) <= width);
  if (size !== undefined) return { lines: [name], size, baselines: [TOP + 76] };
  const lines = wrapped(name, SMALL_NAME * BOLD, width, 2);
  return { lines, size: SMALL_NAME, baselines: lines.length === 1 ? [TOP + 76] : [TOP + 38, TOP + 80] };
}

/** The user name, unless letters of it cannot be shown, and numbers. */
function factsLine(person: Person): string {
  const { username, counts } = person;
  const numbers = counts
    .slice(0, 2)
    .filter(([, digits]) => /[1-9]/.test(digits))
    .map(([label, digits]) => directed(`${grouped(digits)} ${label.toLowerCase()}`, label));
  const handle = shownText(username) === username ? [`@${username}`] : [];
  const line = clipped([...handle, ...numbers].join('  ·  '), 30 * WIDE, INNER - AVATAR);
  return directed(line, textDirection(username) === 'rtl' ? username : '');
}

/** A line with the direction of its whole text as Unicode characters: the renderer knows no `direction`. */
const directed = (line: string, whole: string) =>
  textDirection(whole) === 'rtl' ? `\u202b${line}\u202c` : `\u202a${line}\u202c`;

function tiles({ items }: Person, side: Side): Markup {
  const gap = 20;
  const width = (INNER - (MOST_TILES - 1) * gap) / MOST_TILES;
  const height = width * 0.75;
  const y = PREVIEW.height - height - 66;
  return markup`${items.slice(0, MOST_TILES).map(({ id, title }, nth) => {
    const x = side.x(MARGIN + nth * (width + gap), width);
    return markup`${gradient(`tile${nth}`, `${title} ${id}`)}<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="8" fill="url(#tile${nth})"/>
<text x="${x + width / 2}" y="${y + height / 2 + 13}" font-size="36" font-weight="700" fill="#ffffff" text-anchor="middle">${shownText(takeInitials(title))}</text>
`;
  })}`;
}

function posts({ items }: Person, side: Side): Markup | undefined {
  const [newest] = items;
  if (newest === undefined) return undefined;
  const y = TOP + 300;
  const lines = wrapped(shownText(shortened(newest.text, 400)), 26 * WIDE, INNER - 40, 3);
  return markup`<rect x="${side.x(MARGIN, 6)}" y="${y - 26}" width="6" height="${lines.length * 38 + 34}" fill="#0c6b5b"/>
${lines.map((line, nth) => markup`<text x="${side.x(MARGIN + 32)}" y="${y + nth * 38}" font-size="26">${directed(line, newest.text)}</text>`)}
<text x="${side.x(MARGIN + 32)}" y="${y + lines.length * 38}" font-size="22" fill="#52625d">${writtenDate(newest.date)}</text>`;
}

/**
 * What a rendered image takes is outside of V8's heap, so no garbage collection is due for it: without this one, 200
 * previews took 600 MB. It goes through all objects: after one of young objects only, 64 readers ended a server of 128 MB.
 */
let collect: ((options: { type: 'major'; execution: 'sync' }) => void) | undefined;

function collectImages(): void {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc');
  }
  collect?.({ type: 'major', execution: 'sync' });
}

/** Outside of the event loop: 40 ms of CPU and 3 MB each. To be called one at a time. */
export async function renderPng(svg: string): Promise<Buffer> {
  const { renderAsync } = await import('@resvg/resvg-js');
  const font = { loadSystemFonts: false, fontFiles: FONTS, defaultFontFamily: 'DejaVu Sans' };
  try {
    return (await renderAsync(svg, { font })).asPng();
  } finally {
    collectImages();
  }
}

let ranges: readonly (readonly [first: number, last: number])[] | undefined;

/** The text without the characters that our fonts do not have. */
export function shownText(text: string): string {
  ranges ??= readRanges(readFileSync(FONTS[0] as string));
  const known = ranges;
  const isShown = (code: number) => known.some(([first, last]) => code >= first && code <= last);
  return [...text]
    .filter((character) => isShown(character.codePointAt(0) as number))
    .join('')
    .trim();
}

/** The characters of a TrueType font: the groups of format 12 in its table `cmap`. */
function readRanges(font: Buffer): [number, number][] {
  const tables = Array.from({ length: font.readUInt16BE(4) }, (_, nth) => 12 + nth * 16);
  const entry = tables.find((at) => font.toString('latin1', at, at + 4) === 'cmap') as number;
  const cmap = font.readUInt32BE(entry + 8);
  const subtables = Array.from(
    { length: font.readUInt16BE(cmap + 2) },
    (_, nth) => cmap + font.readUInt32BE(cmap + 4 + nth * 8 + 4),
  );
  const groups = subtables.find((at) => font.readUInt16BE(at) === 12) as number;
  return Array.from({ length: font.readUInt32BE(groups + 12) }, (_, nth) => {
    const at = groups + 16 + nth * 12;
    return [font.readUInt32BE(at), font.readUInt32BE(at + 4)];
  });
}
