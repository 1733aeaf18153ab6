// A list of user names, one a line -> each name once, and what cannot be anybody's.
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { brief } from '../records/normalise.ts';
import { userKey, userNameFault } from '../records/user-name.ts';

export interface UserList {
  readonly users: readonly string[];
  /** Each `FILE:LINE: what is wrong, got "…"`. */
  readonly faults: readonly string[];
}

/** Blank lines are passed over; everything else, blanks around it and all, is a name. `-` is standard input. */
export async function readUsers(file: string, stdin: AsyncIterable<Buffer>): Promise<UserList> {
  const names: string[] = [];
  const stream = file === '-' ? Readable.from(stdin, { objectMode: false }) : createReadStream(file);
  // A file that is not there is told by the stream alone.
  const broken = new Promise<never>((_, reject) => stream.once('error', reject));
  broken.catch(() => {});
  const lines = createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY });
  const ended = new Promise<void>((resolve) => lines.once('close', resolve));
  lines.on('line', (line) => names.push(names.length === 0 ? line.replace(/^\ufeff/, '') : line));
  await Promise.race([broken, ended]);
  return listOf(names, file === '-' ? 'standard input' : file);
}

export function listOf(names: readonly string[], source: string): UserList {
  const users = new Map<string, string>();
  const faults: string[] = [];
  for (const [index, name] of names.entries()) {
    if (name === '') continue;
    const fault = userNameFault(name);
    if (fault !== undefined) faults.push(`${source}:${index + 1}: ${fault}, got "${brief(name)}"`);
    else if (!users.has(userKey(name))) users.set(userKey(name), name);
  }
  return { users: [...users.values()], faults };
}
