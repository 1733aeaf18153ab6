// Renders an SVG as a PNG, outside of the event loop: 40 ms of CPU and 3 MB each.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** DejaVu: Latin, Greek, Cyrillic, Hebrew, Arabic and many more, in two files of 0.7 MB. */
const FONTS = ['DejaVuSans.ttf', 'DejaVuSans-Bold.ttf'].map((name) =>
  fileURLToPath(import.meta.resolve(`dejavu-fonts-ttf/ttf/${name}`)),
);

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

/** To be called one at a time. */
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
