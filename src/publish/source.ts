// What is published: every answer of the app.
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
import { type SiteFile, spell } from './targets.ts';
import {
  answerFile,
  type FileSource,
  listFamilyMounts,
  listUserFiles,
  type PublishedFile,
  type User,
} from './user-files.ts';

/** Files that belong together. */
export interface Unit {
  /** Names it in the manifest: a user, a copy, or those that are there once. */
  readonly owner: string;
  readonly files: readonly PublishedFile[];
}

export interface SourceOptions extends FileSource {
  /** The users to look at. */
  readonly changes: News['changes'];
  /** Called for a user whose name is too long for a file. */
  readonly onTooLong: () => void;
}

export const SITE = 'site';
/** How the names of copies begin. */
export const COPIES = 'media/';

/** Everything that may have changed. */
export async function* listUnits(
  options: SourceOptions,
  site: ReadonlyMap<string, SiteFile>,
): AsyncGenerator<Unit> {
  const { ask } = options;
  const once = [...site].map(([path, { host, address }]) => answerFile(ask, [{ path, address }], path, host));
  yield { owner: SITE, files: [...ERROR_CODES.map(errorFile), ...once] };
  for (const family of FAMILIES)
    for await (const user of listUsers(options, family))
      yield { owner: `${family} ${user.key}`, files: await listUserFiles(options, user) };
  yield* listCopies(options);
}

/** The body of an error, which has no address. */
function errorFile(code: ErrorCode): PublishedFile {
  const { body } = FAILURES[code];
  const etag = computeEtag(body);
  const ask = (known?: string) => (known === etag ? ('same' as const) : { etag, type: JSON_TYPE, body });
  return { kind: 'errors', host: null, paths: [{ path: `errors/${code}.json`, address: null }], ask };
}

const USERS_AT_ONCE = 200;

/** The users of a family that is served. One who is gone has no names. */
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

/** Copies of pictures. */
function* listCopies({ config, without }: SourceOptions): Generator<Unit> {
  const folder = findMediaFolder(config);
  if (folder === undefined || without.has('media') || !existsSync(folder)) return;
  const isCopy = new RegExp(MEDIA_NAME);
  const shards = readdirSync(folder).filter((name) => /^[0-9a-f]{2}$/.test(name));
  for (const shard of shards)
    for (const name of readdirSync(join(folder, shard))) {
      if (!isCopy.test(name)) continue;
      const [sha256, path, address] = [name.slice(0, 64), `media/${mediaPath(name)}`, `/media/${name}`];
      const [etag, file] = [`"${sha256}"`, join(folder, mediaPath(name))];
      const ask = (known?: string) =>
        known === etag ? ('same' as const) : { etag, type: mediaType(name), body: { file, sha256 } };
      yield { owner: path, files: [{ kind: 'media', host: null, paths: [{ path, address }], ask }] };
    }
}
