// What the tests of imports share: short records, and what is in a database afterwards.
import { join } from 'node:path';
import { openForExport } from '../src/stores/open.ts';
import type { Stored } from '../src/stores/store.ts';
import type { Kind, Raw } from './expected.ts';
import { run, tempFolder } from './rig.ts';

export const newPath = () => join(tempFolder(), 'site.db');

export const into = (path: string, files: string[], options: Parameters<typeof run>[1] = {}) =>
  run(['import', '--database-url', path, ...files], options);

/** Every record of a store, a line each, in the order of an export. */
export async function exported(url: string): Promise<string[]> {
  const reader = await openForExport(url);
  try {
    const lines: string[] = [];
    for await (const line of reader.records()) lines.push(line);
    return lines;
  } finally {
    await reader.close();
  }
}

/** The same in an order that depends on the lines alone. */
export const recordsIn = async (path: string) => (await exported(path)).sort();

/** The numbers of a summary's line: new, changed, unchanged, removed. */
export const tally = (stdout: string, plural: string) =>
  new RegExp(`^${plural} +(\\d+) +(\\d+) +(\\d+) +(\\d+)$`, 'm').exec(stdout)?.slice(1).map(Number);

type Id = number | string;
export const blog = (id: Id, username: string, more: Raw = {}): Raw => ({
  totalPost: '0',
  id: String(id),
  username,
  ...more,
});
export const folio = (id: Id, username: string, more: Raw = {}): Raw => ({
  totalShots: '0',
  id: String(id),
  username,
  ...more,
});
export const post = (id: Id, user: Id, more: Raw = {}): Raw => ({
  id: String(id),
  user: String(user),
  date: '2024-01-01 00:00:00',
  ...more,
});

export const shot = (id: Id, user: Id, more: Raw = {}): Raw => ({
  id: String(id),
  user_id: String(user),
  date: '2024-01-01 00:00:00',
  ...more,
});

export const kindOf = (raw: Raw): Kind =>
  'user' in raw
    ? 'post'
    : 'user_id' in raw
      ? 'shot'
      : 'totalShots' in raw
        ? 'portfolio profile'
        : 'microblog profile';

/** The text of what a reader found. */
export const bodyOf = (found: Stored | undefined) => String(found?.body);
