// What `media fetch` looks at: users with records that changed since the last whole run, and addresses that have no copy. Such an
// address is filed with the users that name it, so a run that copies it later knows what to rebuild.

import { FAMILIES, type Family, FILE_MEMBERS, findKind } from '../../records/kinds.ts';
import { knowsGeneration, markDelivered, wasChanged } from './changes.ts';
import { relink } from './media.ts';
import { copiedMembers, MEDIA_URL, selectMember } from './media-statements.ts';
import { countRows, firstRow, type Rows, type SqlAdapter } from './sql-adapter.ts';

/** Its name among the subscribers. */
const FETCH = 'media fetch';

export interface FetchStart {
  readonly generation: number;
  /** Since when all changes are to be looked at; undefined: everything is. */
  readonly since: number | undefined;
  /** The hosts that were refused, with their schemes. */
  readonly refused: readonly string[];
}

/** From one to the next: there may be as many addresses as records. */
const REFUSED_HOSTS = `
  WITH RECURSIVE hosts (host) AS (
    SELECT min(refused) FROM media WHERE refused IS NOT NULL
    UNION ALL
    SELECT (SELECT min(refused) FROM media WHERE refused > host) FROM hosts
    WHERE host IS NOT NULL)
  SELECT host FROM hosts WHERE host IS NOT NULL`;

export async function readFetchStart(db: Rows): Promise<FetchStart> {
  const generation = await countRows(db, 'SELECT generation FROM vitrine');
  const since = await countRows(db, `SELECT generation FROM subscribers WHERE name = '${FETCH}'`);
  const refused = await Array.fromAsync(db.rows<[string]>(REFUSED_HOSTS));
  return {
    generation,
    since: (await knowsGeneration(db, since, generation)) ? since : undefined,
    refused: refused.map(([host]) => host),
  };
}

/** Users who are here and changed since a generation. */
export async function changedUsers(db: Rows, since: number): Promise<ReadonlyMap<Family, string[]>> {
  const users = new Map<Family, string[]>(FAMILIES.map((family) => [family, []]));
  for await (const [family, id] of db.rows<[Family, string]>(
    selectChanged(since, 'CAST(profiles.id AS text)'),
  ))
    users.get(family)?.push(id);
  return users;
}

const selectChanged = (since: number, id = 'profiles.id') => `
  SELECT profiles.family, ${id} FROM changes CROSS JOIN profiles
  WHERE profiles.family = changes.family AND profiles.user_key = changes.user_key AND ${wasChanged(since)}`;

/** The addresses that have no copy, as far as users name them who did not change; with what is known of each. */
export function missingOriginals(since: number, files: boolean): string {
  const wanted = files ? 'is_file IN (0, 1)' : 'is_file = 0';
  return `
    SELECT named.url, file, bytes, reason, refused FROM (SELECT DISTINCT url FROM media_missing WHERE ${wanted}) AS named
    LEFT JOIN media ON media.url = named.url
    WHERE EXISTS (SELECT 1 FROM media_missing AS missing WHERE missing.url = named.url AND ${wanted} AND NOT EXISTS (
      SELECT 1 FROM profiles CROSS JOIN changes
      WHERE profiles.family = missing.family AND profiles.id = missing.id
      AND changes.family = profiles.family AND changes.user_key = profiles.user_key AND ${wasChanged(since)}))`;
}

export interface FetchEnd extends Pick<FetchStart, 'since'> {
  /** What records name copies by. */
  readonly mediaUrl: string;
  /** Set if all that was to be looked at was: as of which generation, and which of the refused hosts were asked. */
  readonly whole?: { readonly generation: number; readonly asked: readonly string[] } | undefined;
}

/** An unlinked copy that users name who were not looked at, or nobody knows who. */
const UNKNOWN_USERS = `
  SELECT count(*) FROM media WHERE linked_file IS DISTINCT FROM file AND (linked_file IS NOT NULL OR refused IS NOT NULL)`;

const HAS_FILES = "SELECT count(*) FROM (SELECT 1 FROM media WHERE file > '' LIMIT 1) AS one";

/** Links what was copied, and files what was not; how much that rebuilt. `advance` gives the data a new generation. */
export async function finishFetch(
  db: SqlAdapter,
  { since, mediaUrl, whole }: FetchEnd,
  advance: () => Promise<void>,
): Promise<number> {
  const before = await countRows(db, 'SELECT generation FROM vitrine');
  const isPartial =
    since !== undefined &&
    (await knowsGeneration(db, since, before)) &&
    ((await firstRow(db, MEDIA_URL))[0] ?? mediaUrl) === mediaUrl &&
    (await countRows(db, UNKNOWN_USERS)) === 0;
  if (isPartial) await listUsers(db, since);
  let relinked = 0;
  if ((await countRows(db, HAS_FILES)) > 0) relinked = await relink(db, mediaUrl, advance, isPartial);
  if (whole !== undefined) {
    for (const host of whole.asked)
      await db.run('UPDATE media SET refused = NULL WHERE file IS NULL AND refused = $1', [host]);
    await fileMissing(db, isPartial);
  }
  const after = await countRows(db, 'SELECT generation FROM vitrine');
  // An import that came in between is looked at by the next run.
  if (whole !== undefined)
    await markDelivered(db, [FETCH], whole.generation === before ? after : whole.generation);
  return relinked;
}

/** Those who changed, and those who name addresses that have a copy now. */
async function listUsers(db: SqlAdapter, since: number): Promise<void> {
  await db.run(`
    INSERT INTO listed ${selectChanged(since)}
    UNION SELECT media_missing.family, media_missing.id FROM media CROSS JOIN media_missing
    WHERE linked_file IS DISTINCT FROM file AND media_missing.url = media.url AND is_file IN (0, 1)`);
  // Without this, PostgreSQL reads all items even for one user.
  await db.run('ANALYZE listed');
}

/** Longer addresses are never asked for, and indexes take none. */
const LONGEST_URL = 2048;

async function fileMissing(db: SqlAdapter, isPartial: boolean): Promise<void> {
  for (const family of FAMILIES) {
    const users = isPartial ? `IN (SELECT id FROM listed WHERE listed.family = '${family}')` : undefined;
    await db.run(`DELETE FROM media_missing WHERE family = '${family}'${users ? ` AND id ${users}` : ''}`);
    for (const kind of [findKind(family, 'profile'), findKind(family, 'item')])
      for (const name of copiedMembers(kind))
        await db.run(`
          INSERT INTO media_missing (is_file, url, family, id)
          SELECT DISTINCT ${Number(FILE_MEMBERS[kind].includes(name))}, found.url, '${family}', found.id
          FROM (${selectMember(kind, name, db.member, users)}) AS found LEFT JOIN media ON media.url = found.url
          WHERE found.url <> '' AND octet_length(found.url) <= ${LONGEST_URL} AND file IS NULL AND refused IS NULL
          ON CONFLICT DO NOTHING`);
  }
}
