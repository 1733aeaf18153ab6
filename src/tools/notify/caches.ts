// The caches of PURGE as subscribers of changes: nginx by its files, others by HTTP.

import { hash } from 'node:crypto';
import { closeSync, openSync, readdirSync, readSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Environment } from '../../config/config.ts';
import { readToken } from '../../config/secrets.ts';
import { type Cache, type CacheKind, ConfigError } from '../../config/setting-values.ts';
import type { Config } from '../../config/settings.ts';
import { errorCode, toError } from '../../records/thrown.ts';
import { SITE_TAG, userTag } from '../../records/user-name.ts';
import type { ChangeSet } from '../../stores/sql/changes.ts';
import { call } from '../remote/host.ts';
import type { Delivery, Subscriber } from './notify.ts';

type Changes = ChangeSet['changes'];

/** Milliseconds until a request that began before the change is answered, and its answer stored. */
const LONGEST_ANSWER = 1000;

/** Throws if a token is missing, before anything is changed. */
export const createCaches = (config: Config, environment: Environment): Subscriber[] =>
  config.purge.map((cache) => ({
    name: nameOf(cache),
    repeatAfter: LONGEST_ANSWER,
    withOldItems: true,
    deliver: cache.kind === 'nginx' ? purgeNginx(cache) : callService(cache, cache.kind, environment),
  }));

/** Two caches may differ in the part that is not shown. */
const nameOf = ({ kind, place, shown }: Cache) =>
  kind === 'post' ? `${shown}${hash('sha256', place).slice(0, 8)}` : shown;

function listTags(changes: Changes): string[] {
  if (changes === 'everything') return [SITE_TAG];
  return changes.map(({ family, key }) => userTag(family, key));
}

interface Service {
  readonly url: (place: string) => string;
  /** Tags in one call, and calls in a minute, that every account may use. */
  readonly batch: number;
  readonly perMinute: number;
  /** The variable with the secret of the account, and whether it must be set. */
  readonly token: string;
  readonly needsToken: boolean;
  /** What to do if it refuses. */
  readonly remedy: string;
}

type ServiceName = Exclude<CacheKind, 'nginx'>;

export const SERVICES: Record<ServiceName, Service> = {
  // https://developers.cloudflare.com/cache/how-to/purge-cache/ (limits of the free plan)
  cloudflare: {
    url: (zone) => `https://api.cloudflare.com/client/v4/zones/${zone}/purge_cache`,
    batch: 100,
    perMinute: 5,
    token: 'CLOUDFLARE_API_TOKEN',
    needsToken: true,
    remedy: 'the token must be valid, and have the permission Zone, Cache Purge, for this zone',
  },
  post: {
    url: (place) => place,
    batch: 1000,
    perMinute: Number.POSITIVE_INFINITY,
    token: 'PURGE_TOKEN',
    needsToken: false,
    remedy: 'set PURGE_TOKEN to the bearer token that it wants',
  },
};

/** Sends the tags; throws unless every call is accepted. */
function callService({ place, perMinute: limit }: Cache, kind: ServiceName, environment: Environment) {
  const { url, batch, perMinute, token: variable, needsToken, remedy } = SERVICES[kind];
  const token = readToken(variable, environment);
  if (!token && needsToken)
    throw new ConfigError([`PURGE needs a token: set ${variable} or ${variable}_FILE`]);
  const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) };
  // Each purge is sent twice in a minute, so half of the calls are allowed. If more are needed, one call purges everything.
  const mostCalls = Math.max(1, (limit ?? perMinute) / 2);

  return async ({ changes, ...delivery }: Delivery): Promise<void> => {
    const tags = listTags(changes);
    const parts = Array.from({ length: Math.ceil(tags.length / batch) }, (_, nr) =>
      tags.slice(nr * batch, (nr + 1) * batch),
    );
    for (const part of parts.length > mostCalls ? [[SITE_TAG]] : parts) {
      const body = JSON.stringify({ tags: part });
      await call({ method: 'POST', url: url(place), headers, body, remedy }, delivery);
    }
  };
}

// nginx keeps each answer in a file with its headers, and forgets an answer when its file is gone. All files are read: 100,000
// take a second of CPU, and ten more if they are not in memory.

/** What `userTag` makes. */
const USER_TAG = new RegExp(`${SITE_TAG}-[0-9a-f]{16}`, 'g');

/** The key of an entry, and mostly its headers. nginx allows them 64 KiB. */
const [USUAL_HEAD, LONGEST_HEAD] = [2048, 65_536];

const CACHE_FILE = /^[0-9a-f]{32}$/;

/** Removes what has one of the tags. */
function purgeNginx({ place }: Cache) {
  return async ({ changes, signal }: Delivery): Promise<void> => {
    try {
      await removeTagged(place, listTags(changes), signal);
    } catch (error) {
      throw describe(toError(error));
    }
  };
}

function describe(error: NodeJS.ErrnoException): Error {
  const { code = '', path } = error;
  if (code === 'ENOENT')
    return new Error(`${path} does not exist: start nginx with the printed configuration`);
  if (['EACCES', 'EPERM', 'EROFS'].includes(code))
    return new Error(`this command may not change ${path}: run \`vitrine purge\` as root`);
  return error;
}

async function removeTagged(folder: string, tags: readonly string[], signal: AbortSignal): Promise<void> {
  const wanted = tags.includes(SITE_TAG) ? undefined : new Set(tags);
  const buffer = Buffer.alloc(LONGEST_HEAD);
  for (const part of listFolders(folder)) {
    signal.throwIfAborted();
    for (const name of listFiles(part)) {
      const file = join(part, name);
      unlessGone(() => {
        // There is more than one if a client wrote the tag of another user into the address.
        const found = readHead(file, buffer).match(USER_TAG) ?? [];
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

/** The entries of the cache in a folder. Nothing else is touched, nor opened: a pipe would be waited for. */
const listFiles = (folder: string) =>
  readdirSync(folder, { withFileTypes: true })
    .filter((entry) => CACHE_FILE.test(entry.name) && entry.isFile())
    .map(({ name }) => name);

/** The key and the headers. */
function readHead(file: string, buffer: Buffer): string {
  const fd = openSync(file, 'r');
  try {
    let length = readSync(fd, buffer, 0, USUAL_HEAD, 0);
    if (length === USUAL_HEAD && buffer.subarray(0, length).indexOf('\r\n\r\n') === -1)
      length += readSync(fd, buffer, length, LONGEST_HEAD - length, length);
    return buffer.toString('latin1', 0, length);
  } finally {
    closeSync(fd);
  }
}

/** nginx removes files as well. */
function unlessGone(act: () => void): void {
  try {
    act();
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
}
