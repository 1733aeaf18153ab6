// What is published: every answer of the app, in the order of the manifest.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { findMediaFolder } from '../config/media.ts';
import { JSON_TYPE } from '../http/answer.ts';
import { ERROR_CODES, type ErrorCode, FAILURES } from '../http/errors.ts';
import { computeEtag } from '../records/etag.ts';
import { FAMILIES, type Family } from '../records/kinds.ts';
import { MEDIA_NAME, mediaPath, mediaType } from '../records/media-types.ts';
import type { Change, News } from '../stores/changes.ts';
import type { UserEntry } from '../stores/reader.ts';
import type { Place } from './manifest.ts';
import { type SiteFile, spell } from './targets.ts';
import {
  answerFile,
  type FileSource,
  listFamilyMounts,
  listUserFiles,
  type PublishedFile,
  type User,
} from './user-files.ts';

/** Files that belong together: those of a user, or one. */
export interface Unit extends Place {
  readonly files: readonly PublishedFile[];
}

export interface SourceOptions extends FileSource {
  /** The users to look at. */
  readonly changes: News['changes'];
  /** Called for a user whose name is too long for a file. */
  readonly onTooLong: () => void;
}

/** The groups of the manifest after those of files that are there once. */
const userGroup = (family: Family) => FAMILIES.indexOf(family) + 1;
const COPIES = FAMILIES.length + 1;

export const isUserGroup = (group: number) => group > 0 && group < COPIES;

/** Everything that may have changed, in the order of the manifest. */
export async function* listUnits(
  options: SourceOptions,
  site: ReadonlyMap<string, SiteFile>,
): AsyncGenerator<Unit> {
  for (const code of ERROR_CODES.toSorted()) yield errorFile(code);
  for (const [path, { host, address }] of site)
    yield { group: 0, user: path, files: [answerFile(options, [{ path, address }], path, host)] };
  for (const family of FAMILIES)
    for await (const user of listUsers(options, family))
      yield { group: userGroup(family), user: user.key, files: await listUserFiles(options, user) };
  yield* listCopies(options);
}

/** The body of an error, which has no address. */
function errorFile(code: ErrorCode): Unit {
  const path = `errors/${code}.json`;
  const { body } = FAILURES[code];
  const etag = computeEtag(body);
  const ask = (known?: string) => (known === etag ? ('same' as const) : { etag, type: JSON_TYPE, body });
  return { group: 0, user: path, files: [{ paths: [{ path }], ask }] };
}

const USERS_AT_ONCE = 200;

/** The users of a family that is served, in the order of their keys. One who is gone has no names. */
async function* listUsers(options: SourceOptions, family: Family): AsyncGenerator<User> {
  if (listFamilyMounts(options, family).length === 0) return;
  for await (const { key, username } of listNames(options, family)) {
    const all = username === undefined ? [] : [...new Set([key, username])];
    const names = all.filter((name) => spell(name) !== undefined);
    if (username !== undefined && names.length === 0) options.onTooLong();
    yield { family, key, names };
  }
}

async function* listNames(
  { changes, store }: SourceOptions,
  family: Family,
): AsyncGenerator<Pick<Change, 'key' | 'username'>> {
  if (changes !== 'everything') {
    yield* changes.filter((change) => change.family === family);
    return;
  }
  for (let after = ''; ; ) {
    const page: readonly UserEntry[] = await store.users(family, { after, limit: USERS_AT_ONCE });
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < USERS_AT_ONCE) return;
    after = last.key;
  }
}

/** Copies of pictures, in the order of their names. */
async function* listCopies({ asker, config, without }: SourceOptions): AsyncGenerator<Unit> {
  const folder = findMediaFolder(config);
  if (folder === undefined || without.has('media') || !existsSync(folder)) return;
  const isCopy = new RegExp(MEDIA_NAME);
  const shards = readdirSync(folder).filter((name) => /^[0-9a-f]{2}$/.test(name));
  for (const shard of shards.sort())
    for (const name of readdirSync(join(folder, shard)).sort()) {
      if (!isCopy.test(name)) continue;
      const [sha256, path, address] = [name.slice(0, 64), `media/${mediaPath(name)}`, `/media/${name}`];
      const [etag, file] = [`"${sha256}"`, join(folder, mediaPath(name))];
      asker.note('media', name, address, undefined);
      const ask = (known?: string) =>
        known === etag ? ('same' as const) : { etag, type: mediaType(name), body: { file, sha256 } };
      yield { group: COPIES, user: name, files: [{ paths: [{ path, address }], ask }] };
    }
}
