// nginx keeps each answer in a file with its headers, and forgets an answer whose file is gone. All files of its cache are
// read, since an address may have many hosts and spellings: 100,000 take a second.
import { closeSync, openSync, readdirSync, readSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { SITE_TAG } from '../records/user-name.ts';

/** What `userTag` makes. */
const USER_TAG = new RegExp(`${SITE_TAG}-[0-9a-f]{16}`, 'g');

/** The key of an entry, and mostly its headers. nginx allows them 64 KiB. */
const [USUAL_HEAD, LONGEST_HEAD] = [2048, 65_536];

/** Removes what has one of these tags. */
export async function purgeNginx(
  folder: string,
  tags: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  try {
    await removeTagged(folder, tags, signal);
  } catch (error) {
    throw describe(error as NodeJS.ErrnoException);
  }
}

function describe(error: NodeJS.ErrnoException): Error {
  const { code, path } = error;
  if (code === 'ENOENT')
    return new Error(`${path} does not exist: start nginx with the printed configuration`);
  if (code === 'EACCES' || code === 'EPERM')
    return new Error(`this user may not change ${path}: run the command as nginx's user, or as root`);
  return error;
}

async function removeTagged(folder: string, tags: readonly string[], signal: AbortSignal): Promise<void> {
  const wanted = tags.includes(SITE_TAG) ? undefined : new Set(tags);
  const buffer = Buffer.alloc(LONGEST_HEAD);
  for (const part of listFolders(folder)) {
    signal.throwIfAborted();
    for (const name of readdirSync(part)) {
      // Nothing else in the folder is touched.
      if (!/^[0-9a-f]{32}$/.test(name)) continue;
      const file = join(part, name);
      unlessGone(() => {
        const found = readTags(file, buffer);
        if (found.some((tag) => wanted?.has(tag) ?? true)) unlinkSync(file);
      });
    }
    await nextTurn();
  }
}

/** The folder and those in it that nginx makes, as its `levels` say. */
function* listFolders(folder: string): Generator<string> {
  yield folder;
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory() && /^[0-9a-f]{1,2}$/.test(entry.name))
      yield* listFolders(join(folder, entry.name));
}

/** More than one if a client wrote the tag of another user into the address. */
function readTags(file: string, buffer: Buffer): string[] {
  const fd = openSync(file, 'r');
  try {
    let length = readSync(fd, buffer, 0, USUAL_HEAD, 0);
    if (length === USUAL_HEAD && buffer.subarray(0, length).indexOf('\r\n\r\n') === -1)
      length += readSync(fd, buffer, length, LONGEST_HEAD - length, length);
    return buffer.toString('latin1', 0, length).match(USER_TAG) ?? [];
  } finally {
    closeSync(fd);
  }
}

/** nginx removes files as well. */
function unlessGone(act: () => void): void {
  try {
    act();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
