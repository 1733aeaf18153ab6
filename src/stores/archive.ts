// Everything in a database, as of one moment: for exports, checks, takedowns, and for whoever fetches copies of pictures.
import { type Family, KIND_NAMES, KINDS } from '../records/kinds.ts';
import { type NewsOptions, readNews } from './changes.ts';
import { firstRow, type Rows } from './connection.ts';
import { COUNTS, countsFrom } from './counts.ts';
import type { StoreError } from './errors.ts';
import type { MediaEntry } from './media.ts';
import { takedownsMark } from './media.ts';
import {
  ALL_COPIES,
  ALL_MEDIA,
  LINKED_COPIES,
  MEDIA_URL,
  type MemberSql,
  missingCopies,
  originals,
  SUM_OF_COPIES,
  servedText,
} from './media-statements.ts';
import type { Awaitable, Counts } from './reader.ts';
import { findFaults } from './soundness.ts';
import { ALL_ENTRIES, ALL_SALTS, type TakedownList, takedownList } from './takedowns.ts';

/** A picture that a record names and that has no copy. */
interface MissingCopy {
  readonly kind: string;
  /** The name of a user, or the id of an item. */
  readonly whose: string;
  readonly member: string;
  readonly url: string;
  /** Null when nobody tried to fetch it yet. */
  readonly reason: string | null;
}

export interface MediaSummary {
  /** Addresses that have a copy. */
  readonly copies: number;
  readonly files: number;
  readonly bytes: number;
}

export type Archive = ReturnType<typeof createArchive>;

interface ArchiveOptions {
  readonly toStoreError: (error: unknown) => StoreError;
  /** What is wrong with the file itself, a sentence each. */
  readonly findDamage?: () => readonly string[];
  readonly close: () => Awaitable<void>;
}

export function createArchive(
  connection: Rows,
  { toStoreError, findDamage = () => [], close }: ArchiveOptions,
) {
  const db = {
    ...connection,
    async *rows(sql: string) {
      try {
        yield* connection.rows(sql);
      } catch (error) {
        throw toStoreError(error);
      }
    },
  };
  return {
    async check(): Promise<CheckResult> {
      const damage = findDamage();
      if (damage.length > 0) return { faults: damage, counts: undefined };
      return { faults: await findFaults(db), counts: await counts(db) };
    },
    counts: () => counts(db),
    takedowns: () => readTakedowns(db),
    /** Every record's JSON text, profiles before items, in an order that depends on the data only. */
    records: (withCopies = false) => records(db, withCopies),
    /** The users and items that have these ids, which must be digits. */
    owners: (family: Family, users: readonly string[], items: readonly string[]) =>
      owners(db, family, users, items),
    /** What became of each address that was tried. */
    media: () => media(db, ALL_MEDIA),
    /** Every copy, with one of its addresses. */
    copies: () => media(db, ALL_COPIES),
    /** The addresses of pictures in records, with `files` of other files too, and what is known of each. */
    originals: (files: boolean) => media(db, originals(db.member, files)),
    mediaSummary: () => mediaSummary(db),
    missing: () => missing(db),
    takedownsMark: () => takedownsMark(db),
    /** Whose answers changed since a generation. */
    changes: (since: number | undefined, options?: NewsOptions) => readNews(db, since, options),
    /** Changes with the copies that are linked. */
    linkedCopies: async () => (await firstRow(db, LINKED_COPIES)).join(),
    /** What the addresses of copies begin with; undefined when nothing was linked yet. */
    mediaUrl: async () => (await firstRow(db, MEDIA_URL))[0],
    close,
  };
}

export interface CheckResult {
  readonly faults: readonly string[];
  /** Undefined when the database is too damaged to be counted. */
  readonly counts: Counts | undefined;
}

const counts = async ({ rows }: Rows): Promise<Counts> => countsFrom(await Array.fromAsync(rows(COUNTS)));

export const readTakedowns = async ({ rows }: Rows): Promise<TakedownList> =>
  takedownList(await Array.fromAsync(rows(ALL_SALTS)), await Array.fromAsync(rows(ALL_ENTRIES)));

async function* records({ rows, member }: Rows, withCopies: boolean): AsyncGenerator<string> {
  for (const query of recordQueries(withCopies ? member : undefined))
    for await (const [record] of rows(query)) yield record as string;
}

export interface Owners {
  /** The keys of users' names by their ids. */
  readonly users: ReadonlyMap<string, string>;
  readonly items: ReadonlyMap<string, { readonly owner: string; readonly userKey: string }>;
}

async function owners(
  { rows }: Rows,
  family: Family,
  userIds: readonly string[],
  itemIds: readonly string[],
): Promise<Owners> {
  const found = { users: new Map(), items: new Map() };
  for (const ids of pages(userIds))
    for await (const [id, userKey] of rows(
      `SELECT CAST(id AS text), user_key FROM profiles WHERE family = '${family}' AND id IN (${ids})`,
    ))
      found.users.set(id, userKey);
  for (const ids of pages(itemIds))
    for await (const [id, owner, userKey] of rows(
      `SELECT CAST(items.id AS text), CAST(owner AS text), user_key FROM items
       JOIN profiles ON profiles.family = items.family AND profiles.id = owner
       WHERE items.family = '${family}' AND items.id IN (${ids})`,
    ))
      found.items.set(id, { owner, userKey });
  return found;
}

const IDS_AT_ONCE = 1000;

function* pages(ids: readonly string[]): Generator<string> {
  for (let at = 0; at < ids.length; at += IDS_AT_ONCE) {
    const page = ids.slice(at, at + IDS_AT_ONCE);
    if (!page.every((id) => /^\d+$/.test(id))) throw new Error('an id is not digits');
    yield page.join();
  }
}

/** One query for each kind, profiles first. */
function recordQueries(member: MemberSql | undefined): string[] {
  const profiles = KIND_NAMES.filter((kind) => KINDS[kind].role === 'profile');
  const items = KIND_NAMES.filter((kind) => KINDS[kind].role === 'item');
  return [
    ...profiles.map(
      (kind) =>
        `SELECT ${member ? 'coalesce(served, record)' : 'record'} FROM profiles
         WHERE family = '${KINDS[kind].family}' ORDER BY user_key`,
    ),
    ...items.map(
      (kind) =>
        `SELECT ${member ? servedText(kind, member) : 'record'} FROM items
         WHERE family = '${KINDS[kind].family}' ORDER BY owner, date DESC, id DESC`,
    ),
  ];
}

async function* media({ rows }: Rows, query: string): AsyncGenerator<MediaEntry> {
  for await (const [url = '', file = null, bytes, reason = null] of rows(query))
    yield { url, file, bytes: Number(bytes), reason };
}

async function* missing({ rows, member }: Rows): AsyncGenerator<MissingCopy> {
  for (const query of missingCopies(member))
    for await (const [kind = '', whose = '', name = '', url = '', reason = null] of rows(query))
      yield { kind, whose, member: name, url, reason };
}

async function mediaSummary(db: Rows): Promise<MediaSummary> {
  const [copies, files, bytes] = await firstRow(db, SUM_OF_COPIES);
  return { copies: Number(copies), files: Number(files), bytes: Number(bytes) };
}
