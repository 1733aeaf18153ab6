// The file that is served. When another file is renamed over it, that one is checked and put into service; a file that
// is not sound is refused, and the one before is served on.
import { rmSync, type Stats, statSync } from 'node:fs';
import { KIND_NAMES } from '../../records/kinds.ts';
import { type Counts, type Reader, StoreError, type StoreEvents } from '../store.ts';
import { withSentences } from './connect.ts';
import { inspect, inspectAside } from './inspect.ts';
import { openReader } from './read.ts';

const POLL_MS = 250;
/** Bytes: up to this size a file is read through before it is served; no start waits for a larger one. */
const READ_THROUGH = 2 ** 20;

export interface WatchOptions {
  /** Called when the data changed, with a sentence. */
  readonly onChange: (sentence: string) => void;
  readonly onFault: (sentence: string) => void;
}

export function openServed(path: string, options: WatchOptions): Reader {
  const served = createServed(path, options);
  const timer = setInterval(() => void served.poll(), POLL_MS);
  timer.unref();
  return {
    events: served.events,
    waiting: served.waiting,
    version: served.version,
    profile: (family, userKey, known) => served.reader().profile(family, userKey, known),
    items: (family, userKey, collection, known) => served.reader().items(family, userKey, collection, known),
    counts: createCounter(path, served.version),
    records: () => served.reader().records(),
    fault: () => served.reader().fault(),
    close() {
      clearInterval(timer);
      served.close();
    },
  };
}

/** A file and the log and index that SQLite keeps beside it, as they were when it was in place. */
interface Files {
  readonly database: Stats | undefined;
  readonly log: Stats | undefined;
  readonly index: Stats | undefined;
}

const filesAt = (path: string): Files => ({
  database: statOf(path),
  log: statOf(`${path}-wal`),
  index: statOf(`${path}-shm`),
});

const isSame = (one: Stats | undefined, two: Stats | undefined) =>
  one !== undefined && one.ino === two?.ino && one.dev === two.dev;

function createServed(path: string, { onChange, onFault }: WatchOptions) {
  const events: StoreEvents = { swaps: 0, refusals: 0 };
  let reader = openChecked(path);
  let files = filesAt(path);
  let dataVersion = reader.version();
  let version = 1;
  let reported = version;
  let refusal:
    | { readonly signature: string; readonly sentence: string; readonly passing: boolean }
    | undefined;
  let polling = false;
  let closed = false;

  /** While the file cannot be read, because another program holds it locked, the version stays what it was. */
  function currentVersion(): number {
    try {
      const now = reader.version();
      if (now !== dataVersion) version++;
      dataVersion = now;
    } catch (error) {
      if ((error as Error).name !== 'SqliteError') throw error;
    }
    return version;
  }

  async function poll(): Promise<void> {
    const current = filesAt(path);
    // Only a regular file can be a database: a pipe would block whoever opens it.
    if (polling || !current.database?.isFile()) return;
    polling = true;
    try {
      if (isSame(current.database, files.database)) noteChanges(current);
      else await consider(current);
    } finally {
      polling = false;
    }
  }

  function noteChanges(current: Files): void {
    files = current;
    refusal = undefined;
    if (currentVersion() === reported) return;
    reported = version;
    onChange('the data changed');
  }

  async function consider(candidate: Files): Promise<void> {
    const signature = signatureOf(candidate);
    if (refusal?.signature === signature && !refusal.passing) return;
    const finding = makeRoom(candidate) ?? (await inspectAside({ path, want: 'soundness' }));
    if (closed || !isSame(statOf(path), candidate.database)) return;
    if (finding.fault !== undefined) return refuse(signature, finding.fault, finding.passing ?? false);
    try {
      putIntoService(candidate);
    } catch (error) {
      refuse(signature, (error as Error).message, true);
    }
  }

  /** Takes away what lies beside the file that was replaced, so that SQLite does not read it into the new one. */
  function makeRoom(candidate: Files) {
    if (isSame(candidate.log, files.log) && (candidate.log?.size ?? 0) > 0)
      return {
        fault: `${path} was replaced while ${path}-wal still held changes to the file before: remove ${path}-wal and ${path}-shm.`,
      };
    try {
      if (isSame(candidate.log, files.log)) rmSync(`${path}-wal`, { force: true });
      if (isSame(candidate.index, files.index)) rmSync(`${path}-shm`, { force: true });
    } catch (error) {
      return { fault: `${path} was replaced, but ${(error as Error).message}.`, passing: true };
    }
    return undefined;
  }

  function putIntoService({ database }: Files): void {
    const opened = withSentences(path, () => openReader(path));
    // Yet another file may have come after this one was checked: it gets a check of its own.
    if (!isSame(statOf(path), database)) return void opened.close();
    reader.close();
    reader = opened;
    files = filesAt(path);
    dataVersion = reader.version();
    reported = ++version;
    refusal = undefined;
    events.swaps++;
    onChange('another file took the place of the data');
  }

  /** Says so once, however often it is tried again. */
  function refuse(signature: string, fault: string, passing: boolean): void {
    const sentence = `${fault} The data before stays.`;
    if (refusal?.sentence !== sentence || refusal.signature !== signature) {
      events.refusals++;
      onFault(sentence);
    }
    refusal = { signature, sentence, passing };
  }

  return {
    events,
    poll,
    version: currentVersion,
    reader: () => reader,
    waiting: () => refusal?.sentence,
    close() {
      closed = true;
      reader.close();
    },
  };
}

function openChecked(path: string): Reader {
  const reader = withSentences(path, () => openReader(path));
  const want = (statOf(path)?.size ?? 0) <= READ_THROUGH ? 'soundness' : 'end';
  const { fault } = inspect({ path, want });
  if (fault === undefined) return reader;
  reader.close();
  throw new StoreError(fault);
}

/** Changes when the files do, their contents or their permissions. */
const signatureOf = ({ database, log }: Files) =>
  [database, log]
    .map((stats) => stats && `${stats.dev} ${stats.ino} ${stats.size} ${stats.mtimeMs} ${stats.ctimeMs}`)
    .join();

/** Counting reads every key, so it is done in another thread, and once for each version of the data. */
function createCounter(path: string, version: () => number): () => Promise<Counts> {
  let known = { version: Number.NaN, counts: NO_COUNTS };
  let running: Promise<Counts> | undefined;

  async function count(): Promise<Counts> {
    const counted = version();
    const { counts = NO_COUNTS } = await inspectAside({ path, want: 'counts' });
    known = { version: counted, counts };
    running = undefined;
    return counts;
  }

  return async () => (known.version === version() ? known.counts : (running ??= count()));
}

const NO_COUNTS = Object.fromEntries(KIND_NAMES.map((kind) => [kind, 0])) as Counts;

/** Undefined when the file is missing or cannot be looked at. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
