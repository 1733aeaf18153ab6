// The file that is served. Until the first import has committed there is nothing to serve. When another file is renamed
// over the one that is served, it is checked and put into service; a file that is not sound is refused, and the one before
// is served on.
import { rmSync, type Stats, statSync } from 'node:fs';
import { printable } from '../../records/printable.ts';
import { NoDataError, StoreError } from '../errors.ts';
import type { Reader, StoreEvents, StoreListener } from '../reader.ts';
import { asStoreError, SCHEMA_VERSION, withSentences } from './connect.ts';
import { createCounter } from './counter.ts';
import { type Finding, inspect, inspectAside } from './inspect.ts';
import { openReader, type SqliteReader } from './read.ts';

const POLL_MS = 250;
/** Bytes: up to this size a file is read through before it is served; no start waits for a larger one. */
const READ_THROUGH = 2 ** 20;

export function openServed(path: string, observe: StoreListener): Reader {
  const served = createServed(path, observe);
  const timer = setInterval(() => void poll(served), POLL_MS);
  timer.unref();
  return {
    events: served.events,
    waiting: () => served.refusal?.sentence,
    version: () => currentVersion(served),
    schema: SCHEMA_VERSION,
    lastImport: () => lastImportOf(served),
    profile: (family, userKey, known) => readerOf(served).profile(family, userKey, known),
    items: (family, userKey, collection, known) => readerOf(served).items(family, userKey, collection, known),
    person: (family, userKey, collection, known) =>
      readerOf(served).person(family, userKey, collection, known),
    isTakenDown: (family, userKey) => readerOf(served).isTakenDown(family, userKey),
    takedowns: () => readerOf(served).takedowns(),
    firstUsers: (family, count) => readerOf(served).firstUsers(family, count),
    counts: createCounter(path, () => currentVersion(served)),
    mediaUrl: () => served.reader?.mediaUrl(),
    fault: () => (served.reader === undefined ? served.absence?.fault.message : served.reader.fault()),
    close() {
      clearInterval(timer);
      served.closed = true;
      served.reader?.close();
    },
  };
}

/** Throws while there is nothing to serve. */
function readerOf(served: Served): SqliteReader {
  // What an import has just committed is served at once, not after the next poll.
  if (served.reader === undefined && signatureOf(filesAt(served.path)) !== served.absence?.signature)
    lookAgain(served);
  if (served.reader === undefined) throw served.absence?.fault;
  return served.reader;
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

interface Refusal {
  /** Of the files that were refused. */
  readonly signature: string;
  readonly sentence: string;
  /** Whether they are tried again although they did not change. */
  readonly passing: boolean;
}

/** Why there is nothing to serve yet. */
interface Absence {
  /** Of the files that were looked at. */
  readonly signature: string;
  readonly fault: StoreError;
}

interface Served {
  readonly observe: StoreListener;
  readonly path: string;
  readonly events: StoreEvents;
  /** Undefined until there is something to serve. */
  reader: SqliteReader | undefined;
  /** The hashes of what was taken down, as last read. */
  takedowns: readonly string[];
  absence: Absence | undefined;
  /** What was at the path when the reader was opened, or since then while it stayed the same file. */
  files: Files;
  /** SQLite's, of this reader. */
  dataVersion: number;
  /** Ours: it changes with the data and with the file. */
  version: number;
  reportedVersion: number;
  refusal: Refusal | undefined;
  polling: boolean;
  closed: boolean;
}

function createServed(path: string, observe: StoreListener): Served {
  const served: Served = {
    observe,
    path,
    events: { swaps: 0, refusals: 0 },
    reader: undefined,
    takedowns: [],
    absence: undefined,
    files: filesAt(path),
    dataVersion: 0,
    version: 1,
    reportedVersion: 1,
    refusal: undefined,
    polling: false,
    closed: false,
  };
  startServing(served);
  const fault = served.absence?.fault;
  if (fault !== undefined && !(fault instanceof NoDataError)) throw fault;
  if (fault !== undefined) tellAbsence(served, fault);
  return served;
}

/** Serves the file if there is something in it; otherwise notes why not. */
function startServing(served: Served): void {
  const { path, absence } = served;
  const signature = signatureOf(filesAt(path));
  try {
    const reader = openChecked(path);
    served.reader = reader;
    served.files = filesAt(path);
    served.dataVersion = reader.version();
    served.reportedVersion = ++served.version;
    rereadTakedowns(served);
  } catch (error) {
    const fault = asStoreError(path, error);
    // The same error for the same reason, which is logged once.
    served.absence = { signature, fault: fault.message === absence?.fault.message ? absence.fault : fault };
  }
}

function lookAgain(served: Served): void {
  const known = served.absence?.fault;
  startServing(served);
  const fault = served.absence?.fault;
  if (served.reader !== undefined)
    served.observe({ type: 'data-changed', message: 'there is data now, and it is served' });
  else if (fault !== undefined && fault !== known) tellAbsence(served, fault);
}

const tellAbsence = ({ observe }: Served, { message }: StoreError) =>
  observe({ type: 'data-warning', message: `${message} Until then, every lookup is answered with 503.` });

/** While the file cannot be read, because another program holds it locked, the version stays what it was. */
function currentVersion(served: Served): number {
  if (served.reader === undefined) return served.version;
  try {
    const now = served.reader.version();
    if (now !== served.dataVersion) served.version++;
    served.dataVersion = now;
  } catch (error) {
    if ((error as Error).name !== 'SqliteError') throw error;
  }
  return served.version;
}

/** Undefined while the file cannot be read. */
function lastImportOf({ reader }: Served): number | undefined {
  try {
    return reader?.lastImport();
  } catch {
    return undefined;
  }
}

async function poll(served: Served): Promise<void> {
  if (served.reader === undefined) return lookAgain(served);
  const current = filesAt(served.path);
  // Only a regular file can be a database: a pipe would block whoever opens it.
  if (served.polling || !current.database?.isFile()) return;
  served.polling = true;
  try {
    if (isSame(current.database, served.files.database)) noteChanges(served, current);
    else await consider(served, current);
  } finally {
    served.polling = false;
  }
}

function noteChanges(served: Served, current: Files): void {
  served.files = current;
  served.refusal = undefined;
  if (currentVersion(served) === served.reportedVersion) return;
  served.reportedVersion = served.version;
  rereadTakedowns(served);
  served.observe({ type: 'data-changed', message: 'the data changed' });
}

/** Checks a file that was put in the place of the served one, and serves it if it is sound. */
async function consider(served: Served, candidate: Files): Promise<void> {
  const { path, refusal } = served;
  const signature = signatureOf(candidate);
  if (refusal?.signature === signature && !refusal.passing) return;
  rereadTakedowns(served);
  const finding =
    removeLeftovers(served, candidate) ??
    (await inspectAside({ path, want: 'soundness', takedowns: served.takedowns }));
  if (served.closed || !isSame(statOf(path), candidate.database)) return;
  if (finding.fault !== undefined) return refuse(served, signature, finding.fault, finding.passing ?? false);
  try {
    putIntoService(served, candidate);
  } catch (error) {
    refuse(served, signature, (error as Error).message, true);
  }
}

/** In a damaged file they are what they were before. */
function rereadTakedowns(served: Served): void {
  try {
    served.takedowns = served.reader?.takedowns().entries.map(({ hash }) => hash) ?? [];
  } catch (error) {
    if ((error as Error).name !== 'SqliteError') throw error;
  }
}

/** Removes what lies beside the file that was replaced, so that SQLite does not read it into the new one. */
function removeLeftovers({ path, files }: Served, candidate: Files): Finding | undefined {
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

function putIntoService(served: Served, { database }: Files): void {
  const { path } = served;
  const opened = withSentences(path, () => openReader(path));
  // Yet another file may have come after this one was checked: it gets a check of its own.
  if (!isSame(statOf(path), database)) return void opened.close();
  served.reader?.close();
  served.reader = opened;
  served.files = filesAt(path);
  served.dataVersion = opened.version();
  served.reportedVersion = ++served.version;
  served.refusal = undefined;
  rereadTakedowns(served);
  served.events.swaps++;
  served.observe({ type: 'data-changed', message: 'another file took the place of the data' });
}

/** Says so once, however often it is tried again. */
function refuse(served: Served, signature: string, fault: string, passing: boolean): void {
  const sentence = `${printable(fault)} The data before stays.`;
  if (served.refusal?.sentence !== sentence || served.refusal.signature !== signature) {
    served.events.refusals++;
    served.observe({ type: 'data-fault', message: sentence });
  }
  served.refusal = { signature, sentence, passing };
}

function openChecked(path: string): SqliteReader {
  const reader = withSentences(path, () => openReader(path));
  const want = (statOf(path)?.size ?? 0) <= READ_THROUGH ? 'soundness' : 'end';
  const { fault, noData } = inspect({ path, want });
  if (fault === undefined) return reader;
  reader.close();
  throw noData ? new NoDataError(fault) : new StoreError(fault);
}

/** Changes when the files do, their contents or their permissions. */
const signatureOf = ({ database, log }: Files) =>
  [database, log]
    .map((stats) => stats && `${stats.dev} ${stats.ino} ${stats.size} ${stats.mtimeMs} ${stats.ctimeMs}`)
    .join();

/** Undefined when the file is missing or cannot be looked at. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
