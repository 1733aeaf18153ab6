// The manifest of a published tree: a line of JSON for each file, in the order in which the files are made, and a last line
// about the run. So the next run reads it line by line beside its own work, and holds the files of one user at a time.
import {
  closeSync,
  createReadStream,
  existsSync,
  fstatSync,
  fsyncSync,
  openSync,
  readSync,
  writeSync,
} from 'node:fs';

/** One file. */
export interface Entry {
  /** Users have the files of a family in common, in the order of their keys; other files have a group of their own. */
  readonly group: number;
  readonly user: string;
  /** Below `files/`. */
  readonly path: string;
  /** The canonical address, if there is one. */
  readonly address?: string | undefined;
  readonly type: string;
  /** As the server sends it. */
  readonly etag: string;
  readonly sha256: string;
  readonly bytes: number;
}

export type Place = Pick<Entry, 'group' | 'user'>;

/** The files of one place, as they stand in the manifest. */
export interface Lines extends Place {
  readonly lines: readonly string[];
}

/** Negative if the first comes first. Keys are in the order of their bytes, as in both stores. */
function order(one: Place, other: Place): number {
  return one.group - other.group || Buffer.compare(Buffer.from(one.user), Buffer.from(other.user));
}

/** Reads a manifest beside a walk through some of its places, in the same order. */
export function readBeside(file: string, onSkipped: (skipped: Lines) => void) {
  const places = readPlaces(file);
  let next: Lines | undefined;
  const move = async () => (next = (await places.next()).value ?? undefined);
  const begun = move();

  return {
    /** The entries of a place, by path; the places before it are skipped. */
    async find(place: Place): Promise<Map<string, Entry>> {
      await begun;
      const found = new Map<string, Entry>();
      for (; next !== undefined; await move()) {
        const position = order(next, place);
        if (position > 0) break;
        if (position < 0) onSkipped(next);
        else for (const entry of parseLines(next)) found.set(entry.path, entry);
      }
      return found;
    },
    /** Skips the rest. */
    async end(): Promise<void> {
      await begun;
      for (; next !== undefined; await move()) onSkipped(next);
    },
  };
}

export const parseLines = ({ lines }: Lines): Entry[] => lines.map((line) => JSON.parse(line));

const AFTER_PLACE = ',"path":';

async function* readPlaces(file: string): AsyncGenerator<Lines> {
  let start = '';
  let lines: string[] = [];
  const place = () => ({ ...JSON.parse(`${start.slice(0, -AFTER_PLACE.length)}}`), lines });
  for await (const texts of readTexts(file))
    for (const text of texts) {
      // Parsed once for each place: of most, nothing else is needed.
      if (lines.length > 0 && text.startsWith(start)) {
        lines.push(text);
        continue;
      }
      const end = text.indexOf(AFTER_PLACE);
      if (end === -1) continue;
      if (lines.length > 0) yield place();
      start = text.slice(0, end + AFTER_PLACE.length);
      lines = [text];
    }
  if (lines.length > 0) yield place();
}

/** Splits on \n only: node:readline also splits on U+2028 and U+2029, which a user name may contain. */
async function* readTexts(file: string): AsyncGenerator<string[]> {
  if (!existsSync(file)) return;
  let rest = '';
  for await (const chunk of createReadStream(file, { encoding: 'utf8', highWaterMark: CHUNK })) {
    const texts = (rest + chunk).split('\n');
    rest = texts.pop() ?? '';
    yield texts;
  }
}

/** What a run made its files from. */
export interface Source {
  /** Of the data. */
  readonly generation: number;
  /** A digest of everything else. */
  readonly settings: string;
}

const LONGEST_SOURCE = 1024;

/** The last line of a manifest; undefined where there is none. */
export function readSource(file: string): Source | undefined {
  if (!existsSync(file)) return undefined;
  const end = Buffer.alloc(LONGEST_SOURCE);
  const fd = openSync(file, 'r');
  try {
    const start = Math.max(0, fstatSync(fd).size - LONGEST_SOURCE);
    const last = end
      .toString('utf8', 0, readSync(fd, end, 0, LONGEST_SOURCE, start))
      .split('\n')
      .at(-2);
    return last?.startsWith('{"generation":') ? JSON.parse(last) : undefined;
  } finally {
    closeSync(fd);
  }
}

const CHUNK = 256 * 1024;

export type LineWriter = ReturnType<typeof createLineWriter>;

export function createLineWriter(file: string) {
  const fd = openSync(file, 'w');
  let waiting = '';
  let isOpen = true;
  return {
    file,
    add(line: string): void {
      waiting += `${line}\n`;
      if (waiting.length < CHUNK) return;
      writeSync(fd, waiting);
      waiting = '';
    },
    finish(): void {
      if (!isOpen) return;
      isOpen = false;
      writeSync(fd, waiting);
      fsyncSync(fd);
      closeSync(fd);
    },
  };
}
