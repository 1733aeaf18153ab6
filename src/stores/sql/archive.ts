// Everything in a database, as of one moment: for exports, checks, takedowns and fetches of pictures.
import { type Family, KIND_NAMES, KINDS } from '../../records/kinds.ts';
import type { Awaitable, Counts } from '../reader.ts';
import { noStep } from '../steps.ts';
import { type ChangeOptions, readChangeSet, type Since } from './changes.ts';
import { readCounts } from './counts.ts';
import { changedUsers, missingOriginals, readFetchStart } from './fetches.ts';
import { type Copy, type OriginalState, takedownsMark } from './media.ts';
import {
  copiesAfter,
  HAS_ADDRESS,
  isMeasured,
  MEDIA_URL,
  missingCopies,
  originals,
  readSmall,
  SERVED_PROFILE,
  servedRecord,
  tableName,
} from './media-statements.ts';
import { findFaults } from './soundness.ts';
import { firstRow, type Rows, type TextRow } from './sql-adapter.ts';
import { ALL_ENTRIES, ALL_MARKS, ALL_SALTS, type TakedownList, takedownList } from './takedowns.ts';

export interface MediaSummary {
  readonly copies: number;
  readonly files: number;
  readonly bytes: number;
}

export type Archive = ReturnType<typeof createArchive>;

interface ArchiveOptions {
  readonly toStoreError: (error: unknown) => Error;
  /** What is wrong with the file itself, a sentence each. */
  readonly findDamage?: () => readonly string[];
  readonly close: () => Awaitable<void>;
}

export function createArchive(adapter: Rows, { toStoreError, findDamage = () => [], close }: ArchiveOptions) {
  const db = {
    ...adapter,
    async *rows<Row extends TextRow>(sql: string) {
      try {
        yield* adapter.rows<Row>(sql);
      } catch (error) {
        throw toStoreError(error);
      }
    },
  };
  return {
    async check(onStep = noStep): Promise<CheckResult> {
      onStep('checking the file');
      const damage = findDamage();
      if (damage.length > 0) return { faults: damage, counts: undefined };
      const faults = await findFaults(db, (name, share) => onStep(`checking ${name}`, share));
      return { faults, counts: await readCounts(db) };
    },
    counts: () => readCounts(db),
    takedowns: () => readTakedowns(db),
    /** Every record's JSON text, profiles before items, in an order that depends on the data only. */
    records: (withCopies = false) => records(db, withCopies),
    /** The users and items that have these ids, which must be digits. */
    owners: (family: Family, users: readonly string[], items: readonly string[]) =>
      owners(db, family, users, items),
    /** What became of each address that was tried. */
    media: () => media(db, ALL_MEDIA),
    /**
     * Some copies behind this name, in the order of names; with `unmeasured` pictures that are to be measured. A long task reads
     * page by page, and holds no transaction.
     */
    copies: (after: string, unmeasured = false) => copies(db, after, unmeasured),
    fetchStart: (files: boolean) => readFetchStart(db, files),
    /**
     * The addresses of pictures in records, with `files` of other files too, and what is known of each. With `since`, of users who
     * changed since that generation, and those without a copy: such an address may come several times.
     */
    originals: (files: boolean, since?: number) =>
      since === undefined ? media(db, originals(db.member, files)) : originalsSince(db, files, since),
    mediaSummary: () => mediaSummary(db),
    missing: () => missing(db),
    takedownsMark: () => takedownsMark(db),
    /** The users with answers that changed since a generation. */
    changes: (since: Since, options?: ChangeOptions) => readChangeSet(db, since, options),
    /** What the addresses of copies begin with; undefined when nothing was linked yet. */
    mediaUrl: async () => (await firstRow(db, MEDIA_URL))[0] ?? undefined,
    close,
  };
}

export interface CheckResult {
  readonly faults: readonly string[];
  /** Undefined when the database is too damaged to be counted. */
  readonly counts: Counts | undefined;
}

export const readTakedowns = async ({ rows }: Rows): Promise<TakedownList> =>
  takedownList(
    await Array.fromAsync(rows(ALL_SALTS)),
    await Array.fromAsync(rows(ALL_MARKS)),
    await Array.fromAsync(rows(ALL_ENTRIES)),
  );

/** Profiles of both families first. */
const IN_ORDER = KIND_NAMES.toSorted((one, other) => KINDS[other].role.localeCompare(KINDS[one].role));

async function* records({ rows, member }: Rows, withCopies: boolean): AsyncGenerator<string> {
  for (const kind of IN_ORDER) {
    const { family, role } = KINDS[kind];
    const [order, served] =
      role === 'profile'
        ? ['user_key', SERVED_PROFILE]
        : ['owner, date DESC, id DESC', servedRecord(kind, member)];
    for await (const [record] of rows<[string]>(
      `SELECT ${withCopies ? served : 'record'} FROM ${tableName(kind)} WHERE family = '${family}' ORDER BY ${order}`,
    ))
      yield record;
  }
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
    for await (const [id, userKey] of rows<[string, string]>(
      `SELECT CAST(id AS text), user_key FROM profiles WHERE family = '${family}' AND id IN (${ids})`,
    ))
      found.users.set(id, userKey);
  for (const ids of pages(itemIds))
    for await (const [id, owner, userKey] of rows<[string, string, string]>(
      `SELECT CAST(items.id AS text), CAST(owner AS text), user_key FROM items
       JOIN profiles ON profiles.family = items.family AND profiles.id = owner
       WHERE items.family = '${family}' AND items.id IN (${ids})`,
    ))
      found.items.set(id, { owner, userKey });
  return found;
}

/** Ids, which must be digits, as many as one query takes. */
function* pages(ids: readonly string[]): Generator<readonly string[]> {
  if (!ids.every((id) => /^\d+$/.test(id))) throw new Error('an id is not digits');
  for (let at = 0; at < ids.length; at += 1000) yield ids.slice(at, at + 1000);
}

const ALL_MEDIA = `
  SELECT url, media.file, bytes, reason, refused FROM media LEFT JOIN copies ON copies.file = media.file ORDER BY url`;

async function* media({ rows }: Rows, query: string): AsyncGenerator<OriginalState> {
  type Row = [url: string, file: Text, bytes: Text, reason: Text, refused: Text];
  type Text = string | null;
  for await (const [url, file, bytes, reason, refused] of rows<Row>(query))
    yield { url, file, bytes: Number(bytes), reason, ...(refused && { refused }) };
}

async function* originalsSince(db: Rows, files: boolean, since: number) {
  for (const [family, users] of await changedUsers(db, since))
    for (const ids of pages(users)) yield* media(db, originals(db.member, files, { family, ids }));
  yield* media(db, missingOriginals(files));
}

const COPIES_AT_ONCE = 500;

async function copies({ rows }: Rows, after: string, unmeasured: boolean): Promise<Copy[]> {
  if (!/^[\w.-]*$/.test(after)) throw new Error('not the name of a copy');
  const found: Copy[] = [];
  type Row = [
    file: string,
    url: string,
    bytes: string,
    width: string | null,
    small: string | null,
    tries: string,
  ];
  for await (const row of rows<Row>(copiesAfter(after, COPIES_AT_ONCE, unmeasured))) {
    const [file, url, bytes, width, small, tries] = row;
    const facts = {
      isMeasured: isMeasured(Number(width), small),
      failedDecodes: Number(tries),
      small: readSmall(small),
    };
    found.push({ file, url, bytes: Number(bytes), ...facts });
  }
  return found;
}

/** Pictures that records name and that have no copy; `reason` is null when it was not tried yet. */
async function* missing({ rows, member: sqlOf }: Rows) {
  // The second column is the name of a user, or the id of an item.
  type Row = [kind: string, whose: string, member: string, url: string, reason: string | null];
  for (const query of missingCopies(sqlOf))
    for await (const [kind, whose, member, url, reason] of rows<Row>(query))
      yield { kind, whose, member, url, reason };
}

const SUM_OF_COPIES = `
  SELECT (SELECT count(*) FROM media WHERE file IS NOT NULL), count(*), coalesce(sum(bytes), 0)
  FROM copies WHERE ${HAS_ADDRESS}`;

async function mediaSummary(db: Rows): Promise<MediaSummary> {
  const [copies, files, bytes] = await firstRow(db, SUM_OF_COPIES);
  return { copies: Number(copies), files: Number(files), bytes: Number(bytes) };
}
