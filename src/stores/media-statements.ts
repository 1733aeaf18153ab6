// The statements about copies of pictures, in text that SQLite and PostgreSQL both understand.
import { FILE_MEMBERS, KIND_NAMES, KINDS, type KindName, PICTURE_MEMBERS } from '../records/kinds.ts';

/** The SQL for a member of a record, which is the one thing that differs between the stores. */
export type MemberSql = (name: string) => string;

export const HAS_COPIES =
  'SELECT count(*) FROM (SELECT 1 FROM media WHERE linked_file IS NOT NULL LIMIT 1) AS one';

const copiedMembers = (kind: KindName) => [...PICTURE_MEMBERS[kind], ...FILE_MEMBERS[kind]];

/** A record with the addresses of the copies. Quotes within a text are escaped, so no text passes for a member. */
export const servedText = (kind: KindName, member: MemberSql): string =>
  copiedMembers(kind).reduce((text, name) => {
    const original = `coalesce(${member(name)}, '')`;
    const copy = `(SELECT media_url || '/' || linked_file FROM vitrine CROSS JOIN media WHERE url = ${original})`;
    const value = (url: string) => `'"${name}":"' || ${escapeJson(url)} || '"'`;
    return `replace(${text}, ${value(original)}, ${value(`coalesce(${copy}, ${original})`)})`;
  }, 'record');

/** The SQL for an address as it stands in JSON: no address holds other characters that JSON escapes. */
const escapeJson = (url: string) => String.raw`replace(replace(${url}, '\', '\\'), '"', '\"')`;

/** Staged records may name copies, as `export --media-urls` does: such an address is an original of the copy as well. */
export const namedCopies = (kind: KindName, kindCode: number, member: MemberSql) =>
  copiedMembers(kind).map(
    (name) => `
    INSERT INTO media (url, file, bytes, linked_file)
    SELECT DISTINCT found.url, file, bytes, file
    FROM (SELECT ${member(name)} AS url FROM staged WHERE kind = ${kindCode}) AS found CROSS JOIN vitrine CROSS JOIN media
    WHERE file = substr(found.url, length(media_url) + 2) AND found.url = media_url || '/' || file
    ON CONFLICT DO NOTHING`,
  );

/**
 * $1: the original address; $2: the copy; $3: its size; $4: why there is none. A failure does not replace a copy, which may
 * lie in another folder than was given; only a placeholder is refused afterwards.
 */
export const SAVE = `
  INSERT INTO media (url, file, bytes, reason) VALUES ($1, nullif($2, ''), $3, nullif($4, ''))
  ON CONFLICT (url) DO UPDATE SET file = excluded.file, bytes = excluded.bytes, reason = excluded.reason
  WHERE media.file IS NULL OR excluded.file IS NOT NULL OR excluded.reason LIKE 'placeholder %'`;

export const SET_MEDIA_URL = 'UPDATE vitrine SET media_url = $1';
export const LINK = 'UPDATE media SET linked_file = file WHERE linked_file IS DISTINCT FROM file';

const table = (kind: KindName) => (KINDS[kind].role === 'item' ? 'items' : 'profiles');

/** Fills `named` with the addresses of copies that records name. */
export const findNamed = (member: MemberSql) =>
  KIND_NAMES.flatMap((kind) =>
    copiedMembers(kind).map(
      (name) => `
      INSERT INTO named SELECT DISTINCT url FROM (
        SELECT ${member(name)} AS url FROM ${table(kind)} WHERE family = '${KINDS[kind].family}') AS found
      WHERE url IN (SELECT url FROM media) ON CONFLICT DO NOTHING`,
    ),
  );

const IS_NAMED = 'EXISTS (SELECT 1 FROM named WHERE named.url = media.url)';

export const UNMARK_NAMED = `UPDATE media SET unnamed_since = NULL WHERE unnamed_since IS NOT NULL AND ${IS_NAMED}`;
/** $1: now. */
export const MARK_UNNAMED = `UPDATE media SET unnamed_since = $1 WHERE unnamed_since IS NULL AND NOT ${IS_NAMED}`;
/** $1: a time. */
export const FORGET_UNNAMED_SINCE = 'DELETE FROM media WHERE unnamed_since <= $1';
export const COUNT_MARKED = 'SELECT count(*) FROM media WHERE unnamed_since IS NOT NULL';

/** The files of addresses that no record names; files that another address has as well are left out. */
export const FILES_UNNAMED = `
  SELECT DISTINCT file FROM media WHERE file IS NOT NULL AND NOT ${IS_NAMED} AND NOT EXISTS (
    SELECT 1 FROM media AS other JOIN named ON named.url = other.url WHERE other.file = media.file)`;
export const FORGET_UNNAMED = `DELETE FROM media WHERE NOT ${IS_NAMED}`;

/** $1: the name of a file. */
export const ADD_NAME = 'INSERT INTO named VALUES ($1) ON CONFLICT DO NOTHING';
export const NAMES_WITHOUT_COPY = `
  SELECT url FROM named WHERE NOT EXISTS (SELECT 1 FROM media WHERE media.file = named.url)`;

export const LINKED_COPIES = `
  SELECT (SELECT media_url FROM vitrine), count(*), sum(bytes) FROM media WHERE linked_file IS NOT NULL`;

export const ALL_MEDIA = 'SELECT url, file, bytes, reason FROM media ORDER BY url';
export const ALL_COPIES =
  'SELECT min(url), file, bytes FROM media WHERE file IS NOT NULL GROUP BY file, bytes';
export const MEDIA_URL = 'SELECT media_url FROM vitrine WHERE media_url IS NOT NULL';

/** Pictures, and of other files those that were tried: kind, whose, member, address and why there is no copy. */
export const missingCopies = (member: MemberSql) =>
  KIND_NAMES.flatMap((kind) =>
    copiedMembers(kind).map((name) => {
      const whose = KINDS[kind].role === 'item' ? 'CAST(id AS text)' : member('username');
      const join = PICTURE_MEMBERS[kind].includes(name) ? 'LEFT JOIN' : 'JOIN';
      return `
      SELECT '${kind}', whose, '${name}', found.url, reason FROM (
        SELECT ${whose} AS whose, ${member(name)} AS url FROM ${table(kind)}
        WHERE family = '${KINDS[kind].family}') AS found
      ${join} media ON media.url = found.url WHERE found.url <> '' AND media.file IS NULL`;
    }),
  );

/** The addresses that records name, each once, with what is known of it: file, bytes and reason. */
export function originals(member: MemberSql, files: boolean): string {
  const named = KIND_NAMES.flatMap((kind) =>
    (files ? copiedMembers(kind) : PICTURE_MEMBERS[kind]).map(
      (name) => `SELECT ${member(name)} AS url FROM ${table(kind)} WHERE family = '${KINDS[kind].family}'`,
    ),
  );
  return `
    SELECT found.url, file, bytes, reason FROM (${named.join(' UNION ')}) AS found
    LEFT JOIN media ON media.url = found.url WHERE found.url <> ''`;
}

export const SUM_OF_COPIES = `
  SELECT (SELECT count(*) FROM media WHERE file IS NOT NULL), count(*), coalesce(sum(bytes), 0)
  FROM (SELECT DISTINCT file, bytes FROM media WHERE file IS NOT NULL) AS files`;
