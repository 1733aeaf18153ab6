// The statements about copies of pictures, in text that SQLite and PostgreSQL both understand.
import { SMALL_WIDTHS } from '../../records/copy-files.ts';
import {
  type Family,
  FILE_MEMBERS,
  KIND_NAMES,
  KINDS,
  type KindName,
  PICTURE_MEMBERS,
} from '../../records/kinds.ts';

/** The SQL for a member of a record, which is the one thing that differs between the stores. */
export type MemberSql = (name: string) => string;

export const HAS_COPIES =
  "SELECT count(*) FROM (SELECT 1 FROM media WHERE file > '' AND linked_file IS NOT NULL LIMIT 1) AS one";

export const copiedMembers = (kind: KindName) => [...PICTURE_MEMBERS[kind], ...FILE_MEMBERS[kind]];

/** The SQL for a record as it is served: with the addresses of copies. Quotes within a text are escaped, so no text passes for a member. */
export const servedRecord = (kind: KindName, member: MemberSql): string =>
  copiedMembers(kind).reduce((text, name) => {
    const original = `coalesce(${member(name)}, '')`;
    const value = (url: string) => `'"${name}":"' || ${escapeJson(url)} || '"'`;
    return `replace(${text}, ${value(original)}, ${value(servedAddress(original))})`;
  }, 'record');

/** The SQL for an address as it is served: that of its copy, where there is one. */
export const servedAddress = (original: string): string => `coalesce(
  (SELECT media_url || '/' || linked_file FROM vitrine CROSS JOIN media WHERE url = ${original}), ${original})`;

/** The same for a profile, as it is stored: `served` is null where it is the record itself. */
export const SERVED_PROFILE = 'coalesce(served, record)';

/** The SQL for an address as it stands in JSON: no address holds other characters that JSON escapes. */
const escapeJson = (url: string) => String.raw`replace(replace(${url}, '\', '\\'), '"', '\"')`;

/** Staged records may name copies, as `export --media-urls` does: such an address is an original of the copy as well. */
export const namedCopies = (
  kind: KindName,
  kindCode: number,
  member: MemberSql,
  unnamedSince: (url: string) => string,
) =>
  copiedMembers(kind).map(
    (name) => `
    INSERT INTO media (url, file, linked_file, unnamed_since)
    SELECT DISTINCT found.url, file, file, ${unnamedSince('found.url')}
    FROM (SELECT ${member(name)} AS url FROM staged WHERE kind = ${kindCode}) AS found CROSS JOIN vitrine CROSS JOIN media
    WHERE file = substr(found.url, length(media_url) + 2) AND found.url = media_url || '/' || file
    ON CONFLICT DO NOTHING`,
  );

/**
 * The ids in `changed` whose record names other pictures than the staged one: the names of all others stay as they are filed. New and
 * damaged records are among them.
 */
export function renamingRecords(kind: KindName, kindCode: number, member: MemberSql): string {
  // No address has a space.
  const all = copiedMembers(kind).map((name) => `coalesce(${member(name)}, '')`);
  const pictures = `CASE WHEN json_valid(record) THEN ${all.join(` || ' ' || `)} END`;
  const table = tableName(kind);
  return `
    SELECT id FROM changed
    WHERE (SELECT ${pictures} FROM ${table} WHERE family = '${KINDS[kind].family}' AND ${table}.id = changed.id)
      IS DISTINCT FROM (SELECT ${pictures} FROM staged WHERE kind = ${kindCode} AND staged.id = changed.id)`;
}

/** The table of a kind's records. */
export const tableName = (kind: KindName) => (KINDS[kind].role === 'item' ? 'items' : 'profiles');

/** The column with the user of a record. */
export const userColumn = (kind: KindName) => (KINDS[kind].role === 'item' ? 'owner' : 'id');

/** The addresses that records of a kind have as a member; `users` is a condition on the ids of their users. */
export const selectMember = (kind: KindName, name: string, member: MemberSql, users?: string) =>
  `SELECT ${userColumn(kind)} AS id, ${member(name)} AS url FROM ${tableName(kind)} WHERE family = '${KINDS[kind].family}'${
    users === undefined ? '' : ` AND ${userColumn(kind)} ${users}`
  }`;

/** As the index has it: pictures that are to be measured, and those that were before there was the narrowest small picture. */
const IS_UNMEASURED = `(width IS NULL OR width > 240 AND substr(coalesce(small, ''), 1, 4) <> '240:') AND tries < 3
  AND substr(file, 66) IN ('jpg', 'png', 'gif', 'webp', 'avif')`;

/** Copies behind this name, in the order of names: file, address, size, width, small pictures, and how often it was tried. */
export const copiesAfter = (name: string, limit: number, unmeasured: boolean) => `
  SELECT file, (SELECT min(url) FROM media WHERE media.file = copies.file), bytes, width, small, tries FROM copies
  WHERE file > '${name}'${unmeasured ? ` AND ${IS_UNMEASURED}` : ''} AND ${HAS_ADDRESS} ORDER BY file LIMIT ${limit}`;

/** Whether a copy still has an address. */
export const HAS_ADDRESS = 'EXISTS (SELECT 1 FROM media WHERE media.file = copies.file)';

export const MEDIA_URL = 'SELECT media_url FROM vitrine WHERE media_url IS NOT NULL';

/** Pictures, and of other files those that were tried: kind, user name or item id, member, address and why there is no copy. */
export const missingCopies = (member: MemberSql) =>
  KIND_NAMES.flatMap((kind) =>
    copiedMembers(kind).map((name) => {
      const whose = KINDS[kind].role === 'item' ? 'CAST(id AS text)' : member('username');
      const join = PICTURE_MEMBERS[kind].includes(name) ? 'LEFT JOIN' : 'JOIN';
      return `
      SELECT '${kind}', whose, '${name}', found.url, reason FROM (
        SELECT ${whose} AS whose, ${member(name)} AS url FROM ${tableName(kind)}
        WHERE family = '${KINDS[kind].family}') AS found
      ${join} media ON media.url = found.url WHERE found.url <> '' AND media.file IS NULL`;
    }),
  );

interface UsersOfFamily {
  readonly family: Family;
  /** Digits. */
  readonly ids: readonly string[];
}

/** The addresses that records name, of all users or of some, each once, with what is known of it. */
export function originals(member: MemberSql, files: boolean, users?: UsersOfFamily): string {
  const kinds = KIND_NAMES.filter((kind) => users === undefined || KINDS[kind].family === users.family);
  const named = kinds.flatMap((kind) =>
    (files ? copiedMembers(kind) : PICTURE_MEMBERS[kind]).map((name) =>
      selectMember(kind, name, member, users && `IN (${users.ids})`),
    ),
  );
  return `
    SELECT found.url, media.file, bytes, reason, refused
    FROM (${named.map((query) => `SELECT url FROM (${query}) AS one`).join(' UNION ')}) AS found
    LEFT JOIN media ON media.url = found.url LEFT JOIN copies ON copies.file = media.file WHERE found.url <> ''`;
}

// What pages need to know of a copy of a picture, as it stands in the rows of `copies`.

/** What pages need to know of a copy. */
export interface CopyFacts {
  /** In pixels. */
  readonly width: number;
  readonly height: number;
  /** The mean colour as `rrggbb`; null where the picture lets its background through. */
  readonly color: string | null;
  /** The widths of its small WebP files. */
  readonly small: readonly number[];
}

export interface SmallPicture {
  readonly width: number;
  /** The start of the SHA-256 of its bytes; earlier versions saved none. */
  readonly hash?: string | undefined;
}

/** A copy that was measured just now. */
export interface MeasuredCopy extends Omit<CopyFacts, 'small'> {
  readonly small: readonly SmallPicture[];
}

/** A copy that could not be decoded so many times. Pages do not know its size. */
export interface UndecodedCopy {
  readonly failedDecodes: number;
}

export interface FactsRow extends Omit<CopyFacts, 'small'> {
  readonly file: string;
  readonly small: string | null;
}

export const factsByFile = (rows: readonly FactsRow[]): ReadonlyMap<string, CopyFacts> =>
  new Map(
    rows.map(({ file, small, ...facts }) => {
      return [file, { ...facts, small: readSmall(small).map(({ width }) => width) }];
    }),
  );

const [NARROWEST] = SMALL_WIDTHS;
/** In place of a hash: there is no small picture of this width, since it would be larger than the copy. */
const NOT_MADE = '-';

/** Small pictures as they stand in a row, such as `240:0f3a… 480:77b1…`. All of a wider picture begin with the narrowest. */
export function writeSmall(files: readonly SmallPicture[], width: number): string {
  const lacksFirst = width > NARROWEST && files[0]?.width !== NARROWEST;
  const all = lacksFirst ? [{ width: NARROWEST, hash: NOT_MADE }, ...files] : files;
  return all.map(({ width, hash }) => (hash === undefined ? `${width}` : `${width}:${hash}`)).join(' ');
}

export function readSmall(text: string | null): SmallPicture[] {
  const files = text ? text.split(' ') : [];
  return files
    .map((file) => {
      const [width, hash] = file.split(':');
      return { width: Number(width), hash };
    })
    .filter(({ hash }) => hash !== NOT_MADE);
}

/** Whether a copy was measured since there is the narrowest small picture. */
export const isMeasured = (width: number, small: string | null) =>
  width > 0 && (width <= NARROWEST || (small ?? '').startsWith(`${NARROWEST}:`));
