// The names of the users to visit, each once, in a scratch file: a list may be larger than memory.
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { brief } from '../records/normalise.ts';
import { userKey, userNameFault } from '../records/user-name.ts';
import type { SqliteFile } from './state-file.ts';

export type UserList = ReturnType<typeof createUserList>;

/** `onFault` gets a line for each name that nobody can have: `FILE:LINE: what is wrong, got "…"`. */
export function createUserList(db: SqliteFile, source: string, onFault: (line: string) => void) {
  db.exec('CREATE TABLE names (n INTEGER PRIMARY KEY, name TEXT NOT NULL, user_key TEXT NOT NULL UNIQUE)');
  const insert = db.prepare('INSERT OR IGNORE INTO names (name, user_key) VALUES (?, ?)');
  const page = db.prepare('SELECT n, name FROM names WHERE n > ? ORDER BY n LIMIT ?');
  let line = 0;
  let size = 0;
  let faults = 0;

  return {
    size: () => size,
    faults: () => faults,

    /** Takes the next line: blank ones are skipped; in all others every character counts. */
    add(text: string): void {
      line++;
      const name = line === 1 ? text.replace(/^\ufeff/, '') : text;
      if (name === '') return;
      const fault = userNameFault(name);
      if (fault === undefined) size += insert.run(name, userKey(name)).changes;
      else {
        faults++;
        onFault(`${source}:${line}: ${fault}, got "${brief(name)}"`);
      }
    },

    *batches(length: number): Generator<string[]> {
      let last = 0;
      for (;;) {
        const rows = page.all(last, length) as { n: number; name: string }[];
        if (rows.length === 0) return;
        yield rows.map(({ name }) => name);
        last = (rows.at(-1) as { n: number }).n;
      }
    },
  };
}

/** Adds each line of a file; `-` is standard input. */
export async function readUserList(
  list: UserList,
  file: string,
  stdin: AsyncIterable<Buffer>,
  signal: AbortSignal,
): Promise<void> {
  const input = file === '-' ? Readable.from(stdin, { objectMode: false }) : createReadStream(file);
  const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY, signal });
  // Not every Node 24 lets readline pass on that a file cannot be read.
  const failed = new Promise<never>((_, reject) => {
    input.once('error', reject);
    lines.once('error', reject);
  });
  failed.catch(() => {});
  const ended = new Promise<void>((resolve) => lines.once('close', resolve));
  lines.on('line', list.add);
  await Promise.race([failed, ended]);
  input.destroy();
}
