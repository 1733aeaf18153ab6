// The file that is served: when another is renamed over it, that one is checked, and only then takes its place.
import { randomUUID } from 'node:crypto';
import { linkSync, rmSync, type Stats, statSync } from 'node:fs';
import { KIND_NAMES } from '../../records/kinds.ts';
import { type Counts, type Reader, StoreError, type StoreEvents } from '../store.ts';
import { withSentences } from './connect.ts';
import { inspect, run } from './inspect.ts';
import { openReader } from './read.ts';

/** How often the file is looked at. */
const GLANCE_MS = 250;
/** Bytes: a file up to this size is read through before it is served; for a larger one no start waits. */
const READ_THROUGH = 2 ** 20;

export interface ServedOptions {
  /** Told of what happened to the data, in a sentence. */
  readonly onChange: (what: string) => void;
  readonly onFault: (what: string) => void;
}

export function openServed(path: string, { onChange, onFault }: ServedOptions): Reader {
  const events: StoreEvents = { swaps: 0, refusals: 0 };
  let reader = withSentences(path, () => openReader(path));
  let file = identity(path);
  let log = identity(`${path}-wal`);
  let index = identity(`${path}-shm`);
  let moves = 1;
  let seen = reader.version();
  let told = moves;
  let refused: string | undefined;
  let checking = false;
  let closed = false;

  const want = (file?.size ?? 0) <= READ_THROUGH ? 'soundness' : 'wholeness';
  const { fault } = run({ path, name: path, want });
  if (fault !== undefined) {
    reader.close();
    throw new StoreError(fault);
  }

  const timer = setInterval(() => void glance(), GLANCE_MS);
  timer.unref();

  /** While the file cannot be asked (another program may hold it locked), what was known of it holds. */
  function version(): number {
    try {
      const now = reader.version();
      if (now !== seen) {
        seen = now;
        moves++;
      }
    } catch (error) {
      if ((error as Error).name !== 'SqliteError') throw error;
    }
    return moves;
  }

  async function glance(): Promise<void> {
    if (checking) return;
    const current = identity(path);
    if (current === undefined) return;
    if (current.ino !== file?.ino || current.dev !== file.dev) {
      checking = true;
      await replaceBy(current).finally(() => {
        checking = false;
      });
      return;
    }
    log = identity(`${path}-wal`);
    index = identity(`${path}-shm`);
    if (version() !== told) {
      told = moves;
      onChange('the data changed');
    }
  }

  async function replaceBy(candidate: Stats): Promise<void> {
    const signature = `${candidate.dev} ${candidate.ino} ${candidate.size} ${candidate.mtimeMs}`;
    if (signature === refused) return;
    const fault = leftoverLog() ?? (await faultOf());
    if (closed || identity(path)?.ino !== candidate.ino) return;
    try {
      if (fault !== undefined) throw new StoreError(fault);
      takeOver(candidate);
    } catch (error) {
      refused = signature;
      events.refusals++;
      onFault(`${(error as Error).message} The data before stays.`);
    }
  }

  /** A log of the file before would be read into the new one. */
  function leftoverLog(): string | undefined {
    const now = identity(`${path}-wal`);
    if (now === undefined || now.size === 0 || now.ino !== log?.ino) return undefined;
    return `${path} was replaced while ${path}-wal still held changes to the file before: remove ${path}-wal and ${path}-shm.`;
  }

  /** Checks the new file under a name of its own, away from what lies beside the old one. */
  async function faultOf(): Promise<string | undefined> {
    const link = `${path}.check-${randomUUID()}`;
    const beside = ['', '-wal', '-shm'].map((suffix) => `${link}${suffix}`);
    const clear = () => beside.forEach((name) => void rmSync(name, { force: true }));
    try {
      if (log === undefined && index === undefined) {
        return (await inspect({ path, name: path, want: 'soundness' })).fault;
      }
      clear();
      withSentences(path, () => linkSync(path, link));
      return (await inspect({ path: link, name: path, want: 'soundness' })).fault;
    } catch (error) {
      return (error as Error).message;
    } finally {
      if (log !== undefined || index !== undefined) clear();
    }
  }

  function takeOver(candidate: Stats): void {
    const before = reader;
    // What lies beside the file belongs to the one before, unless another process has been here already.
    if (index !== undefined && identity(`${path}-shm`)?.ino === index.ino) {
      rmSync(`${path}-shm`, { force: true });
      rmSync(`${path}-wal`, { force: true });
    }
    const opened = withSentences(path, () => openReader(path));
    // Yet another file may have come after this one was checked: it waits for its own check.
    if (identity(path)?.ino !== candidate.ino) return void opened.close();
    reader = opened;
    before.close();
    file = candidate;
    seen = reader.version();
    told = ++moves;
    refused = undefined;
    events.swaps++;
    onChange('another file took the place of the data');
  }

  return {
    events,
    version,
    profile: (family, userKey, known) => reader.profile(family, userKey, known),
    items: (family, userKey, collection, known) => reader.items(family, userKey, collection, known),
    counts: countsOf(path, version),
    records: () => reader.records(),
    fault: () => reader.fault(),
    close() {
      closed = true;
      clearInterval(timer);
      reader.close();
    },
  };
}

/** Counting reads every key, so it is done elsewhere, and once for each version of the data. */
function countsOf(path: string, version: () => number): () => Promise<Counts> {
  let known = { at: Number.NaN, counts: NO_COUNTS };
  let running: Promise<Counts> | undefined;

  async function count(): Promise<Counts> {
    const at = version();
    const { counts = NO_COUNTS } = await inspect({ path, name: path, want: 'counts' });
    known = { at, counts };
    running = undefined;
    return counts;
  }

  return async () => (known.at === version() ? known.counts : (running ??= count()));
}

const NO_COUNTS = Object.fromEntries(KIND_NAMES.map((kind) => [kind, 0])) as Counts;

/** Nothing when the file is not there or cannot be looked at. */
function identity(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
