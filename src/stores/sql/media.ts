// Copies of pictures: remembered, linked into what is served, and forgotten when no record names them any more. All inside
// the caller's transaction, with the work tables of an import.

import { FAMILIES, type Family } from '../../records/kinds.ts';
import { noStep } from '../steps.ts';
import { derive, touch } from './derive.ts';
import { addOwnAddresses, beginNames, seconds, unnamedSince, whoNames } from './media-names.ts';
import {
  HAS_ADDRESS,
  MEDIA_URL,
  type MeasuredCopy,
  type SmallPicture,
  type UndecodedCopy,
  writeSmall,
} from './media-statements.ts';
import { countRows, firstRow, type Rows, type SqlAdapter } from './sql-adapter.ts';
import { NEWEST_MARK } from './takedowns.ts';

export interface OriginalState {
  readonly url: string;
  /** The name of our copy; null if it could not be had. */
  readonly file: string | null;
  readonly bytes: number;
  readonly reason: string | null;
  /** The host, with its scheme, if it was not named. */
  readonly refused?: string | undefined;
  /** What pages need to know of the copy, if it was measured. */
  readonly facts?: MeasuredCopy | UndecodedCopy | undefined;
}

/** A copy, with one of its addresses. */
export interface Copy {
  readonly file: string;
  readonly url: string;
  readonly bytes: number;
  readonly isMeasured: boolean;
  /** How often decoding it came to nothing. */
  readonly failedDecodes: number;
  readonly small: readonly SmallPicture[];
}

export interface PrunedCopies {
  /** Addresses that no record has named for long enough. */
  readonly forgotten: number;
  /** Addresses that no record names, but not for long enough yet. */
  readonly waiting: number;
}

/**
 * $1 is the original address, $2 the copy, $3 why there is none, and $4 the host that was refused. A refused host stays until a
 * whole run has looked at everything. A failure does not replace a copy, which may lie in another folder than was given.
 */
const save = (db: SqlAdapter) => `
  INSERT INTO media (url, file, reason, refused, unnamed_since)
  VALUES ($1, nullif($2, ''), nullif($3, ''), nullif($4, ''),
    ${unnamedSince(db, '$1')})
  ON CONFLICT (url) DO UPDATE SET file = excluded.file, reason = excluded.reason,
    refused = coalesce(excluded.refused, media.refused)
  WHERE media.file IS NULL OR excluded.file IS NOT NULL`;

const SAVE_COPY = 'INSERT INTO copies (file, bytes) VALUES ($1, $2) ON CONFLICT DO NOTHING';

export type HasFile = (name: string) => boolean;

/** A takedown removes files in a change of its own. What was fetched may be gone by now. */
const withoutFile = ({ url }: OriginalState): OriginalState => {
  return { url, file: null, bytes: 0, reason: 'a takedown removed the file meanwhile' };
};

export async function saveOriginals(
  db: SqlAdapter,
  entries: readonly OriginalState[],
  mark: string,
  hasFile: HasFile,
): Promise<boolean> {
  if ((await takedownsMark(db)) !== mark) return false;
  await beginNames(db);
  for (const entry of entries) {
    const isGone = entry.file !== null && !hasFile(entry.file);
    const { url, file, bytes, reason, refused, facts } = isGone ? withoutFile(entry) : entry;
    await db.run(save(db), [url, file ?? '', reason ?? '', refused ?? '']);
    if (file === null) continue;
    await db.run(SAVE_COPY, [file, String(bytes)]);
    if (facts !== undefined) await saveFacts(db, file, facts);
  }
  return true;
}

/** Pages of who names a linked copy change with it. The end of the fetch gives the data a generation (fetches.ts). */
const noteFacts = (family: Family) => `
  INSERT INTO changes (family, user_key, generation)
  SELECT family, user_key, generation FROM vitrine CROSS JOIN (${whoNames(family, IS_OTHER)}) AS users CROSS JOIN profiles
  WHERE generation > 0 AND family = '${family}' AND profiles.id = users.id
  ON CONFLICT (family, user_key) DO UPDATE SET generation = excluded.generation`;

/** $1 is the file, and $2 to $5 are its width, height, colour and small pictures, empty where a copy has none. */
const FACTS = {
  width: "CAST(nullif($2, '') AS integer)",
  height: "CAST(nullif($3, '') AS integer)",
  color: "nullif($4, '')",
  small: "nullif($5, '')",
};

const IS_OTHER = `file = $1 AND linked_file IS NOT NULL AND EXISTS (
  SELECT 1 FROM copies WHERE copies.file = media.file AND (width IS DISTINCT FROM ${FACTS.width}
    OR height IS DISTINCT FROM ${FACTS.height} OR color IS DISTINCT FROM ${FACTS.color}
    OR nullif(small, '') IS DISTINCT FROM ${FACTS.small}))`;

/** Writes nothing: it tells whether there is anything to note, for a fraction of what it costs to look for users. */
const FIND_OTHER = `UPDATE media SET linked_file = linked_file WHERE ${IS_OTHER}`;

const SAVE_FACTS = `
  UPDATE copies SET width = ${FACTS.width}, height = ${FACTS.height}, color = ${FACTS.color}, small = ${FACTS.small}, tries = $6
  WHERE file = $1 AND ${HAS_ADDRESS}`;

/** Of a copy that cannot be decoded, pages know nothing. */
const describeFacts = (facts: MeasuredCopy | UndecodedCopy) =>
  'failedDecodes' in facts
    ? { shown: ['', '', '', ''], tries: facts.failedDecodes }
    : {
        shown: [
          String(facts.width),
          String(facts.height),
          facts.color ?? '',
          writeSmall(facts.small, facts.width),
        ],
        tries: 0,
      };

/** False if no address has the copy any more. */
export async function saveFacts(
  db: SqlAdapter,
  file: string,
  facts: MeasuredCopy | UndecodedCopy,
): Promise<boolean> {
  const { shown, tries } = describeFacts(facts);
  const values = [file, ...shown];
  if ((await db.run(FIND_OTHER, values)) > 0)
    for (const family of FAMILIES) await db.run(noteFacts(family), values);
  return (await db.run(SAVE_FACTS, [...values, String(tries)])) > 0;
}

/**
 * Notes that a copy is about to be decoded: one that ends the process is left alone after the third time. It may have no address
 * yet. Facts that are saved later take the note back.
 */
export const noteTry = async (db: SqlAdapter, file: string, bytes: number): Promise<void> =>
  void (await db.run(
    `INSERT INTO copies (file, bytes, tries) VALUES ($1, $2, 1) ON CONFLICT (file) DO UPDATE SET tries = copies.tries + 1`,
    [file, String(bytes)],
  ));

export const takedownsMark = async (db: Rows) => (await firstRow(db, NEWEST_MARK))[0] ?? '';

const IS_UNLINKED = 'linked_file IS DISTINCT FROM file';
const HAS_LINK = 'coalesce(file, linked_file) IS NOT NULL';

/** Names copies in what is served; how many profiles and lists that changed. */
export async function relink(
  db: SqlAdapter,
  mediaUrl: string,
  advance: () => Promise<void>,
): Promise<number> {
  const hasSameUrl = ((await firstRow(db, MEDIA_URL))[0] ?? mediaUrl) === mediaUrl;
  const isRelinked = hasSameUrl ? IS_UNLINKED : HAS_LINK;
  await addOwnAddresses(db, mediaUrl, isRelinked);
  for (const family of FAMILIES)
    await db.run(
      `INSERT INTO relinked SELECT '${family}', id FROM (${whoNames(family, isRelinked)}) AS users`,
    );
  const before = 'SELECT id FROM relinked WHERE family =';
  await db.run('UPDATE vitrine SET media_url = $1', [mediaUrl]);
  await db.run(`UPDATE media SET linked_file = file, refused = NULL WHERE ${IS_UNLINKED}`);
  let rebuilt = 0;
  for (const family of FAMILIES) {
    await touch(db, family, `${before} '${family}'`);
    rebuilt += await derive(db, family, { notes: 'touched' });
  }
  if ((await countRows(db, 'SELECT count(*) FROM relinked')) > 0) await advance();
  await db.run('DELETE FROM relinked');
  return rebuilt;
}

/** Forgets what no record has named for `grace` seconds: a record that is being imported may name it again. */
export async function pruneCopies(db: SqlAdapter, grace: number, onStep = noStep): Promise<PrunedCopies> {
  onStep('forgetting copies that no record names');
  const forgotten = await db.run(`DELETE FROM media WHERE unnamed_since <= ${seconds(db)} - ${grace}`);
  await db.run(`DELETE FROM copies WHERE NOT ${HAS_ADDRESS}`);
  return {
    forgotten,
    waiting: await countRows(db, 'SELECT count(*) FROM media WHERE unnamed_since IS NOT NULL'),
  };
}

/** Files that no address has, and that no record names by the address of a copy, as in what `export --media-urls` writes. */
export async function unknownFiles(
  db: SqlAdapter,
  names: readonly string[],
  mediaUrl: string,
): Promise<string[]> {
  await beginNames(db);
  const nameAt = mediaUrl.length + 2;
  for (const name of names)
    await db.run(
      `INSERT INTO named_urls SELECT $1 WHERE NOT EXISTS (SELECT 1 FROM media_names WHERE media_names.url = $1)
       ON CONFLICT DO NOTHING`,
      [`${mediaUrl}/${name}`],
    );
  const unknown = db.rows<[string]>(`
    SELECT name FROM (SELECT substr(url, ${nameAt}) AS name FROM named_urls) AS unnamed
    WHERE NOT EXISTS (SELECT 1 FROM media WHERE media.file = unnamed.name)`);
  return (await Array.fromAsync(unknown)).map(([name]) => name);
}
