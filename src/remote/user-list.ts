// The names of the users to ask a site for, each once, in a scratch file: a list may be larger than memory.
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { brief } from '../records/normalise.ts';
import { userKey, userNameFault } from '../records/user-name.ts';
import type { Connection } from '../stores/sqlite/connect.ts';

/** The users to ask for: names, or a file of names. */
export type UserSource =
  | { readonly names: readonly string[] }
  | { readonly file: string; readonly stdin: AsyncIterable<Buffer> };

export type UserList = ReturnType<typeof createUserList>;

/** The list of a source; `onFault` gets a line for each invalid name. */
export async function listUsers(
  users: UserSource,
  scratch: Connection,
  onFault: (line: string) => void,
  signal: AbortSignal,
): Promise<UserList> {
  if ('names' in users) {
    const list = createUserList(scratch, '--user', onFault);
    for (const name of users.names) list.add(name);
    return list;
  }
  const source = users.file === '-' ? 'standard input' : users.file;
  const list = createUserList(scratch, source, onFault);
  await readUserList(list, users.file, users.stdin, signal);
  return list;
}

/** `onFault` gets a line for each invalid name: `FILE:LINE: what is wrong, got "…"`. */
function createUserList(db: Connection, source: string, onFault: (line: string) => void) {
  db.exec('CREATE TABLE names (n INTEGER PRIMARY KEY, name TEXT NOT NULL, user_key TEXT NOT NULL UNIQUE)');
  const insert = db.prepare('INSERT OR IGNORE INTO names (name, user_key) VALUES (?, ?)');
  const remove = db.prepare('DELETE FROM names WHERE user_key = ?');
  const page = db.prepare('SELECT n, name FROM names WHERE n > ? ORDER BY n LIMIT ?');
  let line = 0;
  let size = 0;
  let faults = 0;

  return {
    size: () => size,
    faults: () => faults,

    /** Takes the next line: blank ones are skipped. A name ends at a tab; up to there every character counts. */
    add(text: string): void {
      line++;
      const [name = ''] = (line === 1 ? text.replace(/^\ufeff/, '') : text).split('\t', 1);
      if (name === '') return;
      const fault = userNameFault(name);
      if (fault === undefined) size += insert.run(name, userKey(name)).changes;
      else {
        faults++;
        onFault(`${source}:${line}: ${fault}, got "${brief(name)}"`);
      }
    },

    /** Takes a user off the list; whether they were on it. */
    remove(name: string): boolean {
      const { changes } = remove.run(userKey(name));
      size -= changes;
      return changes > 0;
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
async function readUserList(
  list: UserList,
  file: string,
  stdin: AsyncIterable<Buffer>,
  signal: AbortSignal,
): Promise<void> {
  const input = file === '-' ? Readable.from(stdin, { objectMode: false }) : createReadStream(file);
  try {
    for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      if (signal.aborted) throw new Error('stopped while the list of users was read');
      list.add(line);
    }
  } finally {
    input.destroy();
  }
}
