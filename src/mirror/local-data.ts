// What the database holds already. No other file of the mirror reads from the store.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Family, KIND_NAMES, KINDS, type RecordKind } from '../records/kinds.ts';
import { SCHEMAS } from '../records/schemas.ts';
import { userKey } from '../records/user-name.ts';
import type { Archive } from '../stores/archive.ts';
import type { Awaitable, Reader } from '../stores/reader.ts';
import type { SqliteFile } from '../stores/sqlite/scratch-file.ts';

export interface LocalUser {
  readonly id: string;
  /** Changes whenever one of the user's two responses does. */
  readonly version: string;
}

export interface LocalDataOptions {
  readonly family: Family;
  /** Opens the database for reading. */
  readonly openReader: () => Awaitable<Reader>;
  /** Opens the database to read all of it. */
  readonly openArchive: () => Awaitable<Archive>;
  readonly scratch: SqliteFile;
  /** Whether the mirror brought a user: of these nothing needs to be indexed. */
  readonly brought: (userKey: string, id: string) => boolean;
  readonly signal: AbortSignal;
}

export type LocalData = ReturnType<typeof createLocalData>;

export function createLocalData(options: LocalDataOptions) {
  const { family, openReader } = options;
  let index: Promise<IdIndex> | undefined;

  return {
    /** The users with these keys, as far as they exist here. */
    users: (userKeys: readonly string[]) =>
      withReader(openReader, async (reader) => {
        const users = new Map<string, LocalUser>();
        for (const key of userKeys) {
          const user = await readUser(reader, family, key);
          if (user !== undefined) users.set(key, user);
        }
        return users;
      }),

    /** Who has which ids, among the users that the mirror did not bring. Read from the whole database, once. */
    othersIds(): Promise<IdIndex> {
      index ??= withReader(options.openArchive, (archive) => buildIndex(archive, options));
      return index;
    },
  };
}

/** A reader sees the database as it was in the turn of the event loop in which it was opened: none is kept. */
async function withReader<R extends Reader | Archive, T>(
  open: () => Awaitable<R>,
  use: (reader: R) => Promise<T>,
) {
  const reader = await open();
  try {
    return await use(reader);
  } finally {
    await reader.close();
  }
}

async function readUser(reader: Reader, family: Family, userKey: string): Promise<LocalUser | undefined> {
  const profile = await reader.profile(family, userKey);
  const items = await reader.items(family, userKey, 'items');
  if (profile === undefined || items === undefined) return undefined;
  return { id: JSON.parse(String(profile.body)).id, version: `${profile.etag} ${items.etag}` };
}

export interface IdIndex {
  /** The key of the user with this id. */
  user(id: string): string | undefined;
  /** The id of the owner of this item. */
  owner(itemId: string): string | undefined;
}

const ROWS_PER_TURN = 5000;

async function buildIndex(archive: Archive, options: LocalDataOptions): Promise<IdIndex> {
  const { family, scratch, brought, signal } = options;
  scratch.exec(`
    CREATE TABLE users (id INTEGER PRIMARY KEY, user_key TEXT NOT NULL);
    CREATE TABLE items (id INTEGER PRIMARY KEY, owner TEXT NOT NULL);`);
  const addUser = scratch.prepare('INSERT INTO users VALUES (?, ?)');
  const addItem = scratch.prepare('INSERT INTO items VALUES (?, ?)');
  const user = scratch.prepare('SELECT user_key FROM users WHERE id = ?').pluck();
  const owner = scratch.prepare('SELECT owner FROM items WHERE id = ?').pluck();
  const classify = createClassifier(family);
  let rows = 0;
  for await (const text of archive.records()) {
    const row = classify(text);
    if (row === undefined) continue;
    // Profiles come first, so the owner of each item is in the index, or was brought by the mirror.
    if ('userKey' in row) {
      if (!brought(row.userKey, row.id)) addUser.run(row.id, row.userKey);
    } else if (user.get(row.owner) !== undefined) addItem.run(row.id, row.owner);
    if (++rows % ROWS_PER_TURN === 0) await nextTurn(undefined, { signal });
  }
  return {
    user: (id) => user.get(id) as string | undefined,
    owner: (id) => owner.get(id) as string | undefined,
  };
}

/** Reads a record of the family as far as the index needs it; undefined for records of other families. */
function createClassifier(family: Family) {
  const kinds = KIND_NAMES.filter((kind) => KINDS[kind].family === family);
  const ownerOf = (kind: (typeof kinds)[number]) => (KINDS[kind] as RecordKind).owner;
  const owner = kinds.map(ownerOf).find((member) => member !== undefined) as string;
  const profile = kinds.find((kind) => ownerOf(kind) === undefined) as (typeof kinds)[number];
  const others = KIND_NAMES.filter((kind) => kind !== profile).map((kind) => SCHEMAS[kind].properties);
  const mark = Object.keys(SCHEMAS[profile].properties).find((member) =>
    others.every((properties) => !(member in properties)),
  ) as string;

  return (text: string): { id: string; userKey: string } | { id: string; owner: string } | undefined => {
    const record = JSON.parse(text) as Record<string, string>;
    const id = record.id as string;
    if (owner in record) return { id, owner: record[owner] as string };
    return mark in record ? { id, userKey: userKey(record.username as string) } : undefined;
  };
}
