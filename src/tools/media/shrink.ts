// Measures copies of pictures and makes small WebP files of them, which pages offer to phones. One at a time, each within a
// limit of pixels: memory is bounded by one picture. `sharp` is an optional dependency that only this file loads.
import { hash } from 'node:crypto';
import type { Metadata, Sharp, SharpOptions } from 'sharp';
import { hasSmall, SMALL_WIDTHS } from '../../records/copy-files.ts';
import type { MeasuredCopy, SmallPicture } from '../../stores/sql/media-statements.ts';

/** Few pixels may still take much memory: see `decodedBytes`. */
const MAX_PIXELS = 50_000_000;
/** What decoding may take. The process takes up to 256 MB then. */
const MAX_DECODED = 120_000_000;
/** Bytes for each pixel of AVIF, which is decoded whole, in several planes. */
const AVIF_BYTES = 20;
/** Most pictures are decoded some rows at a time. Each pixel of these rows becomes four numbers of four bytes on its way. */
const ROWS = 256;
const WORKING_BYTES = 16;
/** WebP knows none that are longer. */
const LONGEST_SIDE = 16_383;
const SECONDS = 30;
const QUALITY = 75;
/** Each side, in pixels, of the picture from which the mean colour is taken. */
const SAMPLE = 32;
const OPTIONS: SharpOptions = { limitInputPixels: MAX_PIXELS, sequentialRead: true };

/** Measures the file at a path, and hands over its small pictures one after the other. Throws a DecodeError. */
export type Shrink = (
  path: string,
  bytes: number,
  onSmall: (width: number, body: Buffer) => Promise<void>,
) => Promise<MeasuredCopy>;

type Open = (source: string | Buffer) => Sharp;

/** A picture is broken, too large, or takes too long. */
export class DecodeError extends Error {}

/** No small pictures can be made. */
export class NoSharp extends Error {}

/** Throws a NoSharp. */
export async function loadShrink(): Promise<Shrink> {
  const { default: sharp } = await import('sharp').catch((error) => {
    throw new NoSharp(describeMissing(error));
  });
  sharp.cache(false);
  sharp.concurrency(1);
  const open: Open = (source) => sharp(source, OPTIONS).timeout({ seconds: SECONDS });
  return (path, bytes, onSmall) => shrink(open, { path, bytes }, onSmall);
}

function describeMissing({ code, message }: NodeJS.ErrnoException): string {
  if (code === 'ERR_MODULE_NOT_FOUND' && /'sharp'/.test(message))
    return 'no small pictures are made, since sharp is not installed (`npm install sharp`): pages show the copies themselves';
  // Often the part of it for this system is missing.
  return `no small pictures are made, since sharp cannot be loaded: ${message.trim().split('\n', 1)[0]}`;
}

/** So many digits of a SHA-256 find damage as well as all of them would. */
const HASH_LENGTH = 16;

async function shrink(
  open: Open,
  { path, bytes }: { readonly path: string; readonly bytes: number },
  onSmall: (width: number, body: Buffer) => Promise<void>,
): Promise<MeasuredCopy> {
  const { isAnimated, ...size } = await measure(open, path);
  const small: SmallPicture[] = [];
  let smallest: string | Buffer = path;
  // The largest first, so that the mean colour is that of the smallest.
  for (const width of SMALL_WIDTHS.toReversed()) {
    const isTooTall = (size.height * Math.min(width, size.width)) / size.width > LONGEST_SIDE;
    if (!hasSmall(size.width, width) || isAnimated || isTooTall) continue;
    const resized = open(path).autoOrient().resize({ width, withoutEnlargement: true });
    const body = await decode(resized.webp({ quality: QUALITY }).toBuffer());
    smallest = body;
    if (body.length >= bytes) continue;
    await onSmall(width, body);
    small.unshift({ width, hash: hash('sha256', body).slice(0, HASH_LENGTH) });
  }
  return { ...size, color: await findColor(open(smallest)), small };
}

async function measure(open: Open, path: string) {
  const found = await decode(open(path).metadata());
  if (decodedBytes(found) > MAX_DECODED) throw new DecodeError('decoding it would take too much memory');
  // As browsers show it.
  const { width, height } = found.autoOrient;
  return { width, height, isAnimated: (found.pages ?? 1) > 1 };
}

function decodedBytes({ width, height, channels, depth, format, isProgressive }: Metadata): number {
  const pixels = width * height;
  const rows = width * Math.min(height, ROWS) * WORKING_BYTES;
  if (format === 'heif') return pixels * AVIF_BYTES;
  if (!isProgressive && format !== 'gif') return rows;
  return Math.max(rows, pixels * Math.max(channels, 3) * (depth === 'uchar' ? 1 : 2));
}

/** The mean; null where the picture lets its background through. */
async function findColor(picture: Sharp): Promise<string | null> {
  const sample = picture.resize(SAMPLE, SAMPLE, { fit: 'fill' }).toColourspace('srgb').ensureAlpha().raw();
  const pixels = await decode(sample.toBuffer());
  const mean = (channel: number) => {
    let sum = 0;
    for (let at = channel; at < pixels.length; at += 4) sum += pixels.readUInt8(at);
    return Math.round(sum / SAMPLE ** 2);
  };
  if (mean(3) < 255) return null;
  return [0, 1, 2].map((channel) => mean(channel).toString(16).padStart(2, '0')).join('');
}

const decode = <T>(result: Promise<T>): Promise<T> =>
  result.catch((error) => {
    throw new DecodeError(error.message.trim().replace(/:$/, ''));
  });
