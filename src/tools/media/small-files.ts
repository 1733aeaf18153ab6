// Makes the small files of all copies that have none yet, and saves what pages need to know of each copy.
import type { Sharp, SharpOptions } from 'sharp';
import { createReport, type Terminal } from '../../import/terminal.ts';
import { SMALL_WIDTHS, smallName } from '../../records/media-types.ts';
import { brief, counted } from '../../records/printable.ts';
import type { Copy } from '../../stores/sql/media.ts';
import { type PictureFacts, undecoded } from '../../stores/sql/media-statements.ts';
import type { Writer } from '../../stores/writer.ts';
import type { Run } from '../remote/each.ts';
import { listCopies, type MediaFolder } from './folder.ts';
import { QuotaReached } from './receive.ts';

/** Not SVG: it is small, and sharp at any size. */
const RASTER = /\.(?:jpg|png|gif|webp|avif)$/;
const NO_SHARP =
  'no small pictures are made, since sharp is not installed (`npm install sharp`): pages show the copies themselves';

/** A failure may pass, as when too many files are open. After this many, a picture counts as broken and is left alone. */
const MAX_DECODES = 3;
const LONGEST_SHOWN = 120;

/** What it needs of a fetch. */
interface Shrinking {
  readonly options: {
    readonly database: string;
    readonly writer: Pick<Writer, 'savePicture'>;
    readonly out: Terminal;
  };
  readonly folder: MediaFolder;
  /** The bytes that further files may take. */
  readonly quota: { left: number };
  readonly run: Pick<Run, 'stop' | 'stopped'>;
}

/** Returns of how many copies it made some. */
export async function makeSmallFiles(
  fetch: Shrinking,
  loadShrink: () => Promise<Shrink | undefined>,
): Promise<number> {
  const { options, folder, run } = fetch;
  using report = createReport(options.out);
  let shrink: Shrink | undefined;
  let shrunk = 0;
  for await (const copy of listDue(fetch)) {
    if (run.stopped() !== undefined) break;
    try {
      shrink ??= await loadShrink();
    } catch (error) {
      if (!(error instanceof SharpBroken)) throw error;
      report.fault(`no small pictures are made, since sharp cannot be loaded: ${error.message}`);
      break;
    }
    if (shrink === undefined) {
      report.fault(NO_SHARP);
      break;
    }
    try {
      const facts = await shrinkCopy(copy, shrink, fetch).catch((error) => {
        if (!(error instanceof DecodeError)) throw error;
        report.fault(
          `${brief(copy.url, LONGEST_SHOWN)}: no small files: ${brief(error.message, LONGEST_SHOWN)}`,
        );
        return undecoded(copy.failedDecodes + 1);
      });
      // A takedown may have removed the copy meanwhile.
      if (!(await options.writer.savePicture(copy.file, facts))) await folder.remove(copy.file);
      if (facts.small.length > 0) shrunk++;
    } catch (error) {
      if (!(error instanceof QuotaReached)) throw error;
      run.stop(error.message);
    }
    report.show(() => `making small pictures  ${counted(shrunk, 'picture')} so far`);
  }
  return shrunk;
}

function shrinkCopy(
  { file, bytes }: Copy,
  shrink: Shrink,
  { folder, quota }: Shrinking,
): Promise<PictureFacts> {
  return shrink(folder.findPlace(file), bytes, async (width, body) => {
    if (body.length > quota.left) throw new QuotaReached();
    const incoming = await folder.receive();
    try {
      await incoming.write(body);
      if (await incoming.keep(smallName(file, width))) quota.left -= body.length;
    } finally {
      await incoming.discard();
    }
  });
}

/** Copies in the folder that are not measured, or that lack a small file which is recorded. */
async function* listDue({ options, folder }: Shrinking): AsyncGenerator<Copy> {
  for await (const copy of listCopies(options.database)) {
    if (!RASTER.test(copy.file) || folder.readSize(copy.file) === undefined) continue;
    if (copy.failedDecodes >= MAX_DECODES) continue;
    if (!copy.isMeasured || folder.missingSmall(copy.file, copy.small).length > 0) yield copy;
  }
}

// Measures copies of pictures and makes small WebP files of them, which pages offer to phones. One at a time, each within a
// limit of pixels: memory is bounded by one picture. `sharp` is an optional dependency that only this file loads.

/** The process takes up to 320 MB then: interlaced PNG and progressive JPEG are decoded whole. */
const MAX_PIXELS = 50_000_000;
/** WebP knows none that are longer. */
const LONGEST_SIDE = 16_383;
const SECONDS = 30;
const QUALITY = 75;
/** Each side, in pixels, of the picture from which the mean colour is taken. */
const SAMPLE = 32;
const OPTIONS: SharpOptions = { limitInputPixels: MAX_PIXELS, sequentialRead: true };

/** Measures the file at a path, and hands over its small files one after the other. Throws a DecodeError. */
export type Shrink = (
  path: string,
  bytes: number,
  onSmall: (width: number, body: Buffer) => Promise<void>,
) => Promise<PictureFacts>;

type Open = (source: string | Buffer) => Sharp;

/** A picture is broken, too large, or takes too long. */
export class DecodeError extends Error {}

/** It is installed, and cannot be loaded: often without the part of it for this system. */
class SharpBroken extends Error {}

/** Undefined where sharp is not installed. */
export async function loadShrink(): Promise<Shrink | undefined> {
  const sharp = await import('sharp').then(
    (module) => module.default,
    (error) => {
      if (error.code === 'ERR_MODULE_NOT_FOUND' && /'sharp'/.test(error.message)) return undefined;
      throw new SharpBroken(error.message.trim().split('\n', 1)[0]);
    },
  );
  if (sharp === undefined) return undefined;
  sharp.cache(false);
  sharp.concurrency(1);
  const open: Open = (source) => sharp(source, OPTIONS).timeout({ seconds: SECONDS });
  return (path, bytes, onSmall) => shrink(open, { path, bytes }, onSmall);
}

async function shrink(
  open: Open,
  { path, bytes }: { readonly path: string; readonly bytes: number },
  onSmall: (width: number, body: Buffer) => Promise<void>,
): Promise<PictureFacts> {
  const { isAnimated, ...size } = await measure(open, path);
  const small: number[] = [];
  let smallest: string | Buffer = path;
  // The largest first, so that the mean colour is that of the smallest.
  for (const width of SMALL_WIDTHS.toReversed()) {
    if (width >= size.width || isAnimated || (size.height * width) / size.width > LONGEST_SIDE) continue;
    const body = await decode(
      open(path).autoOrient().resize({ width }).webp({ quality: QUALITY }).toBuffer(),
    );
    smallest = body;
    if (body.length >= bytes) continue;
    await onSmall(width, body);
    small.unshift(width);
  }
  return { ...size, color: await findColor(open(smallest)), small };
}

async function measure(open: Open, path: string) {
  const found = await decode(open(path).metadata());
  // As browsers show it.
  const { width, height } = found.autoOrient;
  return { width, height, isAnimated: (found.pages ?? 1) > 1 };
}

/** The mean; null where the picture lets its background through. */
async function findColor(picture: Sharp): Promise<string | null> {
  const sample = picture.resize(SAMPLE, SAMPLE, { fit: 'fill' }).toColourspace('srgb').ensureAlpha().raw();
  const pixels = await decode(sample.toBuffer());
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

const decode = <T>(result: Promise<T>): Promise<T> =>
  result.catch((error) => {
    throw new DecodeError(error.message.trim().replace(/:$/, ''));
  });
