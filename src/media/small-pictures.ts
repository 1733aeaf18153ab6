// Measures copies of pictures and makes small WebP files of them, which pages offer to phones. One at a time, each within a
// limit of pixels: memory is bounded by one picture. `sharp` is an optional dependency that only this file loads.
import type { Sharp, SharpOptions } from 'sharp';
import { SMALL_WIDTHS } from '../records/media-types.ts';
import type { PictureFacts } from '../stores/media-statements.ts';

/** The process takes up to 320 MB then: interlaced PNG and progressive JPEG are decoded whole. */
const MAX_PIXELS = 50_000_000;
/** WebP knows none that are longer. */
const LONGEST_SIDE = 16_383;
const SECONDS = 30;
const QUALITY = 75;
/** Each side, in pixels, of the picture from which the mean colour is taken. */
const SAMPLE = 32;
const OPTIONS: SharpOptions = { limitInputPixels: MAX_PIXELS, sequentialRead: true };

/** Measures the file at a path, and hands over its small files one after the other. */
export type Shrink = (
  path: string,
  bytes: number,
  onSmall: (width: number, body: Buffer) => Promise<void>,
) => Promise<PictureFacts>;

type Open = (source: string | Buffer) => Sharp;

/** Undefined where sharp is not installed. */
export async function loadShrink(): Promise<Shrink | undefined> {
  const sharp = await import('sharp').then(
    (module) => module.default,
    () => undefined,
  );
  if (sharp === undefined) return undefined;
  sharp.cache(false);
  sharp.concurrency(1);
  const open: Open = (source) => sharp(source, OPTIONS).timeout({ seconds: SECONDS });
  return (path, bytes, onSmall) => shrink(open, { path, bytes }, onSmall);
}

const UNREADABLE: PictureFacts = { width: 0, height: 0, color: null, small: [] };

async function shrink(
  open: Open,
  { path, bytes }: { readonly path: string; readonly bytes: number },
  onSmall: (width: number, body: Buffer) => Promise<void>,
): Promise<PictureFacts> {
  const size = await measure(open, path);
  if (size === undefined) return UNREADABLE;
  const small: number[] = [];
  let smallest: string | Buffer = path;
  // The largest first, so that the mean colour is that of the smallest.
  for (const width of SMALL_WIDTHS.toReversed()) {
    if (width >= size.width || size.isAnimated || (size.height * width) / size.width > LONGEST_SIDE) continue;
    const body = await attempt(
      open(path).autoOrient().resize({ width }).webp({ quality: QUALITY }).toBuffer(),
    );
    if (body === undefined) return UNREADABLE;
    smallest = body;
    if (body.length >= bytes) continue;
    await onSmall(width, body);
    small.unshift(width);
  }
  const color = await findColor(open(smallest));
  if (color === undefined) return UNREADABLE;
  return { width: size.width, height: size.height, color, small };
}

async function measure(open: Open, path: string) {
  const found = await attempt(open(path).metadata());
  if (found === undefined || found.width * found.height > MAX_PIXELS) return undefined;
  // As browsers show it.
  const { width, height } = found.autoOrient;
  return { width, height, isAnimated: (found.pages ?? 1) > 1 };
}

/** The mean; null where the picture lets its background through, undefined if it cannot be decoded. */
async function findColor(picture: Sharp): Promise<string | null | undefined> {
  const sample = picture.resize(SAMPLE, SAMPLE, { fit: 'fill' }).toColourspace('srgb').ensureAlpha().raw();
  const pixels = await attempt(sample.toBuffer());
  if (pixels === undefined) return undefined;
  const sums = [0, 0, 0, 0];
  for (const [at, value] of pixels.entries()) sums[at % 4] = (sums[at % 4] as number) + value;
  const [red, green, blue, alpha] = sums.map((sum) => Math.round(sum / SAMPLE ** 2)) as [
    number,
    number,
    number,
    number,
  ];
  if (alpha < 255) return null;
  return [red, green, blue].map((value) => value.toString(16).padStart(2, '0')).join('');
}

/** What is broken, too large or takes too long has no small files. */
const attempt = <T>(result: Promise<T>): Promise<T | undefined> => result.catch(() => undefined);
