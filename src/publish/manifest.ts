// The manifest of a published tree: a line of JSON for each file, in the order in which the files are made. So the next run
// reads it line by line beside its own work, and holds the files of one user at a time.
import { createReadStream, existsSync } from 'node:fs';

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

/** Negative if the first comes first. Keys are in the order of their bytes, as in both stores. */
function order(one: Place, other: Place): number {
  return one.group - other.group || Buffer.compare(Buffer.from(one.user), Buffer.from(other.user));
}

/** Reads a manifest beside a walk through the same places. */
export function readBeside(file: string, onGone: (entry: Entry) => void) {
  const entries = readEntries(file)[Symbol.asyncIterator]();
  let next: IteratorResult<Entry> | undefined;

  async function take(isTaken: (entry: Entry) => boolean, use: (entry: Entry) => void): Promise<void> {
    next ??= await entries.next();
    while (!next.done && isTaken(next.value)) {
      use(next.value);
      next = await entries.next();
    }
  }

  return {
    /** The entries of a place, by path; those before it are gone. */
    async find(place: Place): Promise<Map<string, Entry>> {
      const found = new Map<string, Entry>();
      // Compared once for each entry: most are of the place itself.
      const isSame = ({ group, user }: Entry) => group === place.group && user === place.user;
      await take((entry) => !isSame(entry) && order(entry, place) < 0, onGone);
      await take(isSame, (entry) => void found.set(entry.path, entry));
      return found;
    },
    rest: () => take(() => true, onGone),
  };
}

/** Splits on \n only: node:readline also splits on U+2028 and U+2029, which a user name may contain. */
async function* readEntries(file: string): AsyncGenerator<Entry> {
  if (!existsSync(file)) return;
  let rest = '';
  for await (const chunk of createReadStream(file, 'utf8')) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield JSON.parse(line);
  }
}
