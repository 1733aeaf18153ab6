// The names of the users to ask a site for, each once, in a scratch file: a list may be larger than memory.

import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { brief } from '../../records/printable.ts';
import { toError } from '../../records/thrown.ts';
import { userKey, userNameFault } from '../../records/user-name.ts';
import { openScratch } from '../../stores/sqlite/connect.ts';

/** The users to ask for: names, or a file of names. */
export type UserSource =
  | { readonly names: readonly string[] }
  | { readonly file: string; readonly stdin: AsyncIterable<Buffer> };

export type UserList = ReturnType<typeof createUserList>;

function nameOf(source: UserSource): string {
  if ('names' in source) return '--user';
  return source.file === '-' ? 'standard input' : source.file;
}

/** `onFault` gets a line for each invalid name: `FILE:LINE: what is wrong, got "…"`. */
export async function listUsers(
  source: UserSource,
  onFault: (line: string) => void,
  signal: AbortSignal,
): Promise<UserList> {
  const list = createUserList();
  const where = nameOf(source);
  let line = 0;
  try {
    for await (const text of 'names' in source ? source.names : readLines(source)) {
      if (signal.aborted) throw new Error('stopped while the list of users was read');
      line++;
      // A name ends at a tab; up to there every character counts.
      const [name = ''] = (line === 1 ? text.replace(/^\ufeff/, '') : text).split('\t', 1);
      const fault = name === '' ? undefined : list.add(name);
      if (fault !== undefined) onFault(`${where}:${line}: ${fault}, got "${brief(name)}"`);
    }
    if (list.total() === 0) throw new Error('the list of users is empty');
    return list;
  } catch (error) {
    list[Symbol.dispose]();
    throw error;
  }
}

async function* readLines({ file, stdin }: Extract<UserSource, { file: string }>): AsyncGenerator<string> {
  const input = file === '-' ? Readable.from(stdin, { objectMode: false }) : createReadStream(file);
  try {
    yield* createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
  } catch (error) {
    // The error of reading a folder does not name it.
    throw Object.assign(toError(error), { path: file });
  } finally {
    input.destroy();
  }
}

function createUserList() {
  const db = openScratch();
  db.exec('CREATE TABLE names (n INTEGER PRIMARY KEY, name TEXT NOT NULL, user_key TEXT NOT NULL UNIQUE)');
  const insert = db.prepare('INSERT OR IGNORE INTO names (name, user_key) VALUES (?, ?)');
  const page = db.prepare<[number, number], { n: number; name: string }>(
    'SELECT n, name FROM names WHERE n > ? ORDER BY n LIMIT ?',
  );
  let size = 0;
  let invalid = 0;

  return {
    /** Of valid names. */
    size: () => size,
    /** How many names no user can have. */
    invalid: () => invalid,
    total: () => size + invalid,

    /** Why no user can have this name; undefined if one can. */
    add(name: string): string | undefined {
      const fault = userNameFault(name);
      if (fault === undefined) size += insert.run(name, userKey(name)).changes;
      else invalid++;
      return fault;
    },

    *pages(length: number): Generator<string[]> {
      let rows = page.all(0, length);
      while (rows.length > 0) {
        yield rows.map(({ name }) => name);
        rows = page.all(rows.at(-1)?.n ?? 0, length);
      }
    },

    [Symbol.dispose]: db[Symbol.dispose],
  };
}
