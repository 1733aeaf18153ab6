// What `media fetch` looks at: users with records that changed since the last whole run, and addresses that have no copy.

import { FAMILIES, type Family } from '../../records/kinds.ts';
import { markDelivered, readDelivered, readGeneration, selectChanged } from './changes.ts';
import { relink } from './media.ts';
import { countRows, type Rows, type SqlAdapter } from './sql-adapter.ts';

/** Its names among the subscribers: fetches of all files look at more addresses. */
const FETCH = 'media fetch';
const FETCH_FILES = 'media fetch --files';

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

export async function readFetchStart(db: Rows, files: boolean): Promise<FetchStart> {
  const generation = await readGeneration(db);
  const refused = await Array.fromAsync(db.rows<[string]>(REFUSED_HOSTS));
  return {
    generation,
    since: await readDelivered(db, files ? FETCH_FILES : FETCH, generation),
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

/** The addresses that were tried before, have no copy, and are still named. The condition is that of an index. */
export const missingOriginals = (files: boolean) => `
  SELECT url, file, 0, reason, refused FROM media WHERE coalesce(file, refused) IS NULL AND EXISTS (
    SELECT 1 FROM media_names WHERE media_names.url = media.url${files ? '' : ' AND is_file = 0'})`;

export interface FetchEnd {
  /** What records name copies by. */
  readonly mediaUrl: string;
  readonly files: boolean;
  /** Set if all that was to be looked at was: as of which generation, and which of the refused hosts were asked. */
  readonly whole?: { readonly generation: number; readonly asked: readonly string[] } | undefined;
}

/** Who was noted as changed while copies were measured, before there is a generation of it. */
const NOTED = 'SELECT count(*) FROM changes CROSS JOIN vitrine WHERE changes.generation = vitrine.generation';
const HAS_FILES = "SELECT count(*) FROM (SELECT 1 FROM media WHERE file > '' LIMIT 1) AS one";

/** Links what was copied; how much that rebuilt. `advance` gives the data a new generation. */
export async function finishFetch(
  db: SqlAdapter,
  { mediaUrl, files, whole }: FetchEnd,
  advance: () => Promise<void>,
): Promise<number> {
  const before = await readGeneration(db);
  const hasFiles = (await countRows(db, HAS_FILES)) > 0;
  const relinked = hasFiles ? await relink(db, mediaUrl, advance) : 0;
  if ((await countRows(db, NOTED)) > 0) await advance();
  if (whole !== undefined) {
    for (const host of whole.asked)
      await db.run('UPDATE media SET refused = NULL WHERE file IS NULL AND refused = $1', [host]);
    // An import that came in between is looked at by the next run.
    const seen = whole.generation === before ? await readGeneration(db) : whole.generation;
    await markDelivered(db, files ? [FETCH, FETCH_FILES] : [FETCH], seen);
  }
  return relinked;
}
