// The type of a file by its content. Headers and extensions of addresses are not to be relied on.
import { type Extension, MEDIA_TYPES } from '../records/media-types.ts';

/** How many bytes from the start are enough to tell the type: an SVG may begin with comments. */
export const HEAD_LENGTH = 16 * 1024;

/** Types that are not pictures. */
const FILES: readonly Extension[] = ['mp3', 'mp4', 'pdf'];

const SIGNATURES: Readonly<Record<Extension, (head: Buffer) => boolean>> = {
  jpg: (head) => starts(head, '\xff\xd8\xff'),
  png: (head) => starts(head, '\x89PNG\r\n\x1a\n'),
  gif: (head) => starts(head, 'GIF87a') || starts(head, 'GIF89a'),
  webp: (head) => starts(head, 'RIFF') && starts(head, 'WEBP', 8),
  avif: (head) => readBrands(head).some((brand) => brand === 'avif' || brand === 'avis'),
  svg: isSvg,
  mp3: (head) => starts(head, 'ID3') || isMp3Frame(head),
  mp4: (head) => /^(iso[m2-9]|mp4[12]|avc1|dash|M4[ABV] |MSNV)$/.test(readBrands(head)[0] ?? ''),
  pdf: (head) => starts(head, '%PDF-'),
};

/** The type of a file that begins with these bytes, or why it is refused. Other files than pictures count on demand. */
export function fileType(head: Buffer, withFiles: boolean): Extension | { readonly reason: string } {
  if (head.length === 0) return { reason: 'empty' };
  const found = (Object.keys(SIGNATURES) as Extension[]).find((extension) => SIGNATURES[extension](head));
  if (found === undefined) return { reason: describe(head) };
  if (FILES.includes(found) && !withFiles)
    return { reason: `not a picture, but ${MEDIA_TYPES[found]}, which --files fetches` };
  return found;
}

const starts = (head: Buffer, bytes: string, at = 0) =>
  head.toString('latin1', at, at + bytes.length) === bytes;

/** The brands in the first box of an ISO base media file; the first of them is the major one. */
function readBrands(head: Buffer): string[] {
  if (head.length < 16 || !starts(head, 'ftyp', 4)) return [];
  const box = head.toString('latin1', 8, Math.min(head.readUInt32BE(0), head.length));
  // The version is between the major brand and the others.
  return box.match(/.{4}/gs)?.filter((_, index) => index !== 1) ?? [];
}

/** The header of an MPEG audio frame of layer III, without its reserved values. */
function isMp3Frame(head: Buffer): boolean {
  if (head.length < 4) return false;
  const [sync = 0, version = 0, rates = 0] = head;
  const bitrate = rates >> 4;
  return (
    sync === 0xff &&
    [0xe2, 0xe3, 0xf2, 0xf3, 0xfa, 0xfb].includes(version) &&
    bitrate !== 0 &&
    bitrate !== 15 &&
    ((rates >> 2) & 3) !== 3
  );
}

/** What may stand before the root element: each is read on its own, so that no text takes long. */
const PROLOGUE = [/\s+/y, /<\?.*?\?>/sy, /<!--.*?-->/sy, /<!DOCTYPE\s+svg\b[^[>]*(?:\[[^\]]*\]\s*)?>/y];
const SVG_ROOT = /<(?:[A-Za-z][\w.-]*:)?svg(?=[\s/>])/y;

function isSvg(head: Buffer): boolean {
  const text = head.toString('utf8').replace(/^\ufeff/, '');
  let at = 0;
  for (;;) {
    const end = PROLOGUE.map((pattern) => matchEnd(pattern, text, at)).find((found) => found > at);
    if (end === undefined) return matchEnd(SVG_ROOT, text, at) > at;
    at = end;
  }
}

/** Where a match that begins exactly there ends; 0 without one. */
function matchEnd(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  pattern.test(text);
  return pattern.lastIndex;
}

/** What hosts send most often in place of a picture. */
function describe(head: Buffer): string {
  const text = head.toString('utf8', 0, 1024);
  if (/^\ufeff?\s*<(!doctype html|html|head|body|!--)/i.test(text)) return 'not a picture, but a web page';
  if (/^\ufeff?\s*[[{]/.test(text)) return 'not a picture, but JSON';
  return 'not a picture of a known type';
}
