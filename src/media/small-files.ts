// Makes the small files of all copies that have none yet, and saves what pages need to know of each copy.
import { createReport, type Terminal } from '../files/terminal.ts';
import { smallName } from '../records/media-types.ts';
import { counted } from '../records/printable.ts';
import type { Run } from '../runs/each.ts';
import type { Archive } from '../stores/archive.ts';
import type { Copy } from '../stores/media.ts';
import type { StoreHandle } from '../stores/open.ts';
import type { Writer } from '../stores/writer.ts';
import { listCopies } from './copies.ts';
import type { MediaFolder } from './folder.ts';
import { QuotaReached } from './receive.ts';
import type { Shrink } from './small-pictures.ts';

/** Not SVG: it is small, and sharp at any size. */
const RASTER = /\.(?:jpg|png|gif|webp|avif)$/;
const NO_SHARP =
  'no small pictures are made, since sharp is not installed (`npm install sharp`): pages show the copies themselves';

/** What it needs of a fetch. */
interface Shrinking {
  readonly options: {
    readonly openArchive: () => Promise<StoreHandle<Archive>>;
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
  const { options, run } = fetch;
  using report = createReport(options.out);
  let shrink: Shrink | undefined;
  let shrunk = 0;
  for await (const copy of listDue(fetch)) {
    if (run.stopped() !== undefined) break;
    shrink ??= await loadShrink();
    if (shrink === undefined) {
      report.fault(NO_SHARP);
      break;
    }
    try {
      if (await shrinkCopy(copy, shrink, fetch)) shrunk++;
    } catch (error) {
      if (!(error instanceof QuotaReached)) throw error;
      run.stop(error.message);
    }
    report.show(() => `making small pictures  ${counted(shrunk, 'picture')} so far`);
  }
  return shrunk;
}

/** Whether it has small files now. */
async function shrinkCopy(
  { file, bytes }: Copy,
  shrink: Shrink,
  { options, folder, quota }: Shrinking,
): Promise<boolean> {
  const facts = await shrink(folder.findPlace(file), bytes, async (width, body) => {
    if (body.length > quota.left) throw new QuotaReached();
    const incoming = await folder.receive();
    try {
      await incoming.write(body);
      if (await incoming.keep(smallName(file, width))) quota.left -= body.length;
    } finally {
      await incoming.discard();
    }
  });
  // A takedown may have removed the copy meanwhile.
  if (!(await options.writer.savePicture(file, facts))) await folder.remove(file);
  return facts.small.length > 0;
}

/** Copies in the folder that are not measured, or that lack a small file which is recorded. */
async function* listDue({ options, folder }: Shrinking): AsyncGenerator<Copy> {
  for await (const copy of listCopies(options.openArchive)) {
    if (!RASTER.test(copy.file) || folder.readSize(copy.file) === undefined) continue;
    if (!copy.isMeasured || folder.missingSmall(copy.file, copy.small).length > 0) yield copy;
  }
}
