// Makes the small pictures of copies: of each copy when it has been fetched, and of all that have none yet. Saves what pages need
// to know of them.

import type { Report } from '../../import/terminal.ts';
import { smallName } from '../../records/copy-files.ts';
import { brief, counted } from '../../records/printable.ts';
import type { MediaFolder } from '../../stores/media-folder.ts';
import { OutputError } from '../../stores/output.ts';
import type { Copy } from '../../stores/sql/media.ts';
import type { MeasuredCopy, UndecodedCopy } from '../../stores/sql/media-statements.ts';
import type { Writer } from '../../stores/writer.ts';
import type { Run } from '../remote/each.ts';
import { listCopies } from './list-copies.ts';
import type { Quota } from './quota.ts';
import { DecodeError, NoSharp, type Shrink } from './shrink.ts';

/** Not SVG: it is small, and sharp at any size. */
const RASTER = /\.(?:jpg|png|gif|webp|avif)$/;
/** A failure may pass, as when too many files are open. After this many, a picture counts as broken and is left alone. */
const MAX_DECODES = 3;
const LONGEST_SHOWN = 120;

/** Whether a copy is yet to be measured. */
export const isDue = ({ file, isMeasured, failedDecodes }: Copy) =>
  RASTER.test(file) && !isMeasured && failedDecodes < MAX_DECODES;

interface ShrinkerParts {
  readonly folder: MediaFolder;
  readonly quota: Quota;
  readonly run: Pick<Run, 'stop' | 'stopped'>;
  readonly report: Pick<Report, 'fault'>;
  readonly loadShrink: () => Promise<Shrink>;
  readonly writer: Pick<Writer, 'noteTry' | 'saveFacts'>;
}

export type Shrinker = ReturnType<typeof createShrinker>;

/** One copy at a time: memory is bounded by one picture. */
export function createShrinker({ folder, quota, run, report, loadShrink, writer }: ShrinkerParts) {
  let loading: Promise<Shrink | undefined> | undefined;
  let last: Promise<unknown> = Promise.resolve();
  let shrunk = 0;
  const failed = new Set<string>();

  /** Undefined without sharp, which is said once. */
  function load() {
    loading ??= loadShrink().catch((error) => {
      if (!(error instanceof NoSharp)) throw error;
      report.fault(error.message);
      return undefined;
    });
    return loading;
  }

  async function measure(copy: MeasurableCopy): Promise<MeasuredCopy | UndecodedCopy | undefined> {
    const shrink = await load();
    if (shrink === undefined || run.stopped() !== undefined) return undefined;
    const { file, url, bytes, failedDecodes } = copy;
    // Whatever ends the process here ends only three runs.
    await writer.noteTry(file, bytes);
    try {
      const facts = await shrink(folder.findPlace(file), bytes, (width, body) =>
        keepFile({ folder, quota }, smallName(file, width), body),
      );
      if (facts.small.length > 0) shrunk++;
      return facts;
    } catch (error) {
      if (error instanceof DecodeError) {
        const reason = brief(error.message, LONGEST_SHOWN);
        report.fault(`${brief(url, LONGEST_SHOWN)}: no small pictures: ${reason}`);
        failed.add(file);
        return { failedDecodes: failedDecodes + 1 };
      }
      if (!(error instanceof OutputError)) throw error;
      run.stop(`given up: ${error.message}`);
      // The picture is not to blame. On a full disk this may fail as well.
      await writer.saveFacts(file, { failedDecodes }).catch(() => {});
      return undefined;
    }
  }

  return {
    /** Makes the small pictures of a copy. Undefined if that cannot be done in this run, or if it can have none. */
    measure(copy: MeasurableCopy): Promise<MeasuredCopy | UndecodedCopy | undefined> {
      if (!RASTER.test(copy.file)) return Promise.resolve(undefined);
      const measured = last.then(() => measure(copy));
      last = measured.catch(() => {});
      return measured;
    },
    /** Whether it could not be decoded in this run. */
    hasFailed: (file: string) => failed.has(file),
    /** Of how many copies it made small pictures. */
    shrunk: () => shrunk,
  };
}

async function keepFile(
  { folder, quota }: Pick<ShrinkerParts, 'folder' | 'quota'>,
  name: string,
  body: Buffer,
): Promise<void> {
  quota.take(body.length);
  let isKept = false;
  try {
    const incoming = await folder.receive();
    try {
      await incoming.write(body);
      isKept = await incoming.keep(name);
    } finally {
      await incoming.discard();
    }
  } finally {
    if (!isKept) quota.release(body.length);
  }
}

type MeasurableCopy = Pick<Copy, 'file' | 'url' | 'bytes' | 'failedDecodes'>;

interface Remeasuring {
  /** Whether all copies are looked at, since small pictures may be lost. Otherwise only those that were not measured are. */
  readonly isEverything: boolean;
  readonly database: string;
  readonly writer: Pick<Writer, 'saveFacts'>;
  readonly folder: MediaFolder;
  readonly report: Pick<Report, 'step'>;
  readonly shrinker: Shrinker;
}

/** Makes the small pictures that copies of earlier runs lack. */
export async function completeSmallPictures({
  database,
  writer,
  folder,
  report,
  shrinker,
  isEverything,
}: Remeasuring): Promise<void> {
  for await (const copy of listCopies(database, !isEverything)) {
    if (folder.readSize(copy.file) === undefined || shrinker.hasFailed(copy.file)) continue;
    if (!isDue(copy) && folder.hasSmall(copy.file, copy.small)) continue;
    const facts = await shrinker.measure(copy);
    if (facts === undefined) return;
    // A takedown may have removed the copy meanwhile.
    if (!(await writer.saveFacts(copy.file, facts))) await folder.remove(copy.file);
    report.step('making small pictures', undefined, () => `${counted(shrinker.shrunk(), 'picture')} so far`);
  }
}
