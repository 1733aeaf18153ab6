// Sorts more than memory holds: what fills the memory is sorted and laid aside in a file, as a run; runs are read back
// merged. SQLite could sort too, but maps its runs into memory, which then seems to hold the whole import.
import { closeSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs';

export interface SorterOptions {
  /** Entries are sorted by their first bytes, so many; those with equal ones stay in the order of their coming. */
  readonly keyBytes: number;
  readonly memory: number;
  /** Makes the name of a file that nobody else uses. */
  readonly fileName: () => string;
}

export interface Entry {
  readonly bytes: Buffer;
  /** Where in `bytes` the entry begins and ends. */
  at: number;
  end: number;
}

export interface Sorter {
  /** Makes room for an entry of at most so many bytes, to be written into `bytes` from `at` on. */
  begin(longest: number): Entry;
  /** Takes the entry in, once its `end` is set. */
  take(): void;
  count(): number;
  /** The entries in order, any number of times; each holds until the next is asked for. */
  entries(): Generator<Entry>;
  close(): void;
}

/** The length stands before each entry. */
const HEAD = 4;
/** Fewer bytes behind their keys no entries have on the whole. */
const SHORTEST = 16;
const WRITE_BYTES = 1 << 18;
const SMALLEST_WINDOW = 1 << 12;

export function createSorter({ keyBytes, memory, fileName }: SorterOptions): Sorter {
  // All of it made once, since V8 is slow to let go of bytes: and only what is used of it becomes resident.
  const bytes = Buffer.allocUnsafeSlow(memory);
  const starts = new Uint32Array(memory / (HEAD + keyBytes + SHORTEST));
  const out = Buffer.allocUnsafeSlow(Math.min(WRITE_BYTES, memory));
  const inOrder = createOrdering(bytes, starts, keyBytes);
  const runs: { start: number; end: number }[] = [];
  const entry: Entry = { bytes, at: 0, end: 0 };
  let file: number | undefined;
  let fileEnd = 0;
  let used = 0;
  let held = 0;
  let spilt = 0;

  function spill(): void {
    if (held === 0) return;
    file ??= openUnnamed(fileName());
    const run = { start: fileEnd, end: fileEnd };
    let filled = 0;
    for (const index of inOrder(held)) {
      const start = starts[index] as number;
      const length = HEAD + bytes.readUInt32LE(start);
      if (filled + length > out.length) {
        append(file, out.subarray(0, filled));
        filled = 0;
      }
      if (length > out.length) append(file, bytes.subarray(start, start + length));
      else filled += bytes.copy(out, filled, start, start + length);
    }
    append(file, out.subarray(0, filled));
    run.end = fileEnd;
    runs.push(run);
    spilt += held;
    used = 0;
    held = 0;
  }

  function append(to: number, chunk: Buffer): void {
    for (let done = 0; done < chunk.length; ) {
      const written = writeSync(to, chunk, done, chunk.length - done, fileEnd);
      done += written;
      fileEnd += written;
    }
  }

  function* fromMemory(): Generator<Entry> {
    for (const index of inOrder(held)) {
      entry.at = (starts[index] as number) + HEAD;
      entry.end = entry.at + bytes.readUInt32LE(entry.at - HEAD);
      yield entry;
    }
  }

  function* fromRuns(fd: number): Generator<Entry> {
    // The memory, free by now, is shared out among the runs.
    const share = Math.floor(memory / runs.length);
    const cursors = runs.map((run, i) => {
      const window =
        share < SMALLEST_WINDOW ? Buffer.alloc(SMALLEST_WINDOW) : bytes.subarray(i * share, (i + 1) * share);
      return openRun(fd, run, window);
    });
    yield* merged(
      cursors.filter((cursor) => cursor.next()),
      keyBytes,
    );
  }

  return {
    begin(longest) {
      if (used + HEAD + longest > memory || held === starts.length) spill();
      entry.at = used + HEAD;
      return entry;
    },
    take() {
      bytes.writeUInt32LE(entry.end - entry.at, used);
      starts[held++] = used;
      used = entry.end;
    },
    count: () => spilt + held,
    entries() {
      if (runs.length > 0) spill();
      return file === undefined ? fromMemory() : fromRuns(file);
    },
    close() {
      if (file !== undefined) closeSync(file);
      file = undefined;
    },
  };
}

/** A file whose name is taken away at once goes when the process does, however that ends. */
function openUnnamed(name: string): number {
  const file = openSync(name, 'wx+', 0o600);
  unlinkSync(name);
  return file;
}

/** Gives the entries' numbers in the order of their keys: byte by byte from the last, each pass keeping the one before. */
function createOrdering(
  bytes: Buffer,
  starts: Uint32Array,
  keyBytes: number,
): (count: number) => Uint32Array {
  const keys = new Uint8Array(starts.length * keyBytes);
  const places = new Uint32Array(256);
  let order = new Uint32Array(starts.length);
  let next = new Uint32Array(starts.length);

  return (count) => {
    for (let i = 0, to = 0; i < count; i++) {
      order[i] = i;
      const from = (starts[i] as number) + HEAD;
      for (let at = from; at < from + keyBytes; at++) keys[to++] = bytes[at] as number;
    }
    for (let byte = keyBytes - 1; byte >= 0; byte--) {
      places.fill(0);
      for (let i = 0, at = byte; i < count; i++, at += keyBytes) (places[keys[at] as number] as number)++;
      if (places[keys[byte] as number] === count) continue;
      for (let value = 0, place = 0; value < 256; value++) {
        const size = places[value] as number;
        places[value] = place;
        place += size;
      }
      for (let i = 0; i < count; i++) {
        const value = keys[(order[i] as number) * keyBytes + byte] as number;
        next[places[value] as number] = order[i] as number;
        (places[value] as number)++;
      }
      [order, next] = [next, order];
    }
    return order.subarray(0, count);
  };
}

interface Cursor {
  bytes: Buffer;
  at: number;
  end: number;
  /** The earlier run comes first where keys are equal. */
  readonly run: number;
  next(): boolean;
}

function openRun(file: number, run: { start: number; end: number }, window: Buffer): Cursor {
  let filled = 0;
  let position = run.start;
  const cursor: Cursor = { bytes: window, at: 0, end: 0, run: run.start, next };

  function next(): boolean {
    if (cursor.end + HEAD > filled && !more(HEAD)) return false;
    const length = cursor.bytes.readUInt32LE(cursor.end);
    if (cursor.end + HEAD + length > filled) more(HEAD + length);
    cursor.at = cursor.end + HEAD;
    cursor.end = cursor.at + length;
    return true;
  }

  /** Moves what is left to the front and fills up behind it. */
  function more(wanted: number): boolean {
    const rest = cursor.bytes.subarray(cursor.end, filled);
    if (wanted > cursor.bytes.length) cursor.bytes = Buffer.alloc(wanted);
    filled = rest.copy(cursor.bytes);
    cursor.end = 0;
    while (filled < cursor.bytes.length && position < run.end) {
      const wish = Math.min(cursor.bytes.length - filled, run.end - position);
      const read = readSync(file, cursor.bytes, filled, wish, position);
      if (read === 0) throw new Error('the file of sorted records is shorter than what was written to it');
      position += read;
      filled += read;
    }
    return filled > 0;
  }

  return cursor;
}

/** A heap of cursors: the one with the smallest key is on top. */
function* merged(heap: Cursor[], keyBytes: number): Generator<Cursor> {
  const before = (a: Cursor, b: Cursor): boolean => {
    for (let i = 0; i < keyBytes; i++) {
      const difference = (a.bytes[a.at + i] as number) - (b.bytes[b.at + i] as number);
      if (difference !== 0) return difference < 0;
    }
    return a.run < b.run;
  };

  function sink(from: number): void {
    const cursor = heap[from] as Cursor;
    let at = from;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1] as Cursor, heap[child] as Cursor)) child++;
      if (!before(heap[child] as Cursor, cursor)) break;
      heap[at] = heap[child] as Cursor;
      at = child;
    }
    heap[at] = cursor;
  }

  for (let at = (heap.length >> 1) - 1; at >= 0; at--) sink(at);
  while (heap.length > 0) {
    const top = heap[0] as Cursor;
    yield top;
    if (!top.next()) {
      const last = heap.pop() as Cursor;
      if (last === top) return;
      heap[0] = last;
    }
    sink(0);
  }
}
