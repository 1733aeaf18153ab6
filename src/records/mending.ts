// Mends records of real sites: addresses as browsers read them, texts that were escaped for HTML, invalid optional members.
import { decodeHTMLStrict } from 'entities';
import { type DateOrder, utcFromSheet } from './dates.ts';
import { type Family, FILE_MEMBERS, type KindName, PICTURE_MEMBERS } from './kinds.ts';
import { type NormaliseResult, normalise, type RawRecord } from './normalise.ts';
import { MEMBERS } from './schemas.ts';

export interface MendingOptions {
  /** Whether optional members that are not valid are left empty. */
  readonly lenient?: boolean | undefined;
  /** Whether texts are read as HTML: `&amp;` is an ampersand. */
  readonly unescape?: boolean | undefined;
  /** The order of day and month in dates that a spreadsheet wrote. */
  readonly dates?: DateOrder | undefined;
  /** What completes relative addresses of pictures. */
  readonly filesUrl?: string | undefined;
}

/** What was mended. */
export interface MendingCounts {
  /** How often each member was left empty. */
  readonly emptied: Record<string, number>;
  /** Texts with HTML entities, and whether they were read as HTML. */
  escaped: number;
  readonly isUnescaped: boolean;
}

export type Mender = ReturnType<typeof createMender>;

/** `normalise` for records of real sites. With `watch`, escaped texts are counted also where they stay as they are. */
export function createMender(
  { lenient = false, unescape: isUnescaped = false, dates, filesUrl }: MendingOptions,
  watch = false,
) {
  const counts: MendingCounts = { emptied: {}, escaped: 0, isUnescaped };

  return {
    counts,
    normalise(given: RawRecord, known?: KindName, family?: Family): NormaliseResult {
      const raw = dates === undefined ? given : readSheetDates(given, dates);
      const plain = isUnescaped || watch ? unescapeTexts(raw, counts) : raw;
      let source = isUnescaped ? plain : raw;
      let result = normalise(source, known, family);
      if ('faults' in result && result.kind !== undefined && filesUrl !== undefined) {
        source = completePictures(source, result.kind, filesUrl);
        result = normalise(source, result.kind);
      }
      if ('row' in result || !lenient) return result;
      const bad = result.faults.map(({ member }) => member);
      if (result.kind === undefined || !areOptional(bad, result.kind)) return result;
      for (const member of bad) counts.emptied[member] = (counts.emptied[member] ?? 0) + 1;
      const emptied = Object.fromEntries(bad.map((member) => [member, undefined]));
      return normalise({ ...source, ...emptied }, result.kind);
    },
  };
}

function areOptional(members: readonly string[], kind: KindName): boolean {
  const schemas = MEMBERS[kind];
  return members.every((member) => schemas[member]?.default !== undefined);
}

const DATE_MEMBERS = ['date', 'created_project'];

function readSheetDates(raw: RawRecord, order: DateOrder): RawRecord {
  const read: Record<string, unknown> = {};
  for (const member of DATE_MEMBERS) {
    const text = raw[member];
    const date = typeof text === 'string' ? utcFromSheet(text.trim(), order) : undefined;
    if (date !== undefined) read[member] = date;
  }
  return Object.keys(read).length === 0 ? raw : { ...raw, ...read };
}

const ENTITY = /&(?:#\d+|#x[\da-f]+|[a-z][a-z\d]*);/i;

/** A record with its texts read as HTML. */
export function unescapeTexts(
  raw: RawRecord,
  counts: Pick<MendingCounts, 'escaped'> = { escaped: 0 },
): RawRecord {
  let read = raw;
  for (const [member, value] of Object.entries(raw)) {
    if (typeof value !== 'string' || !ENTITY.test(value)) continue;
    counts.escaped++;
    read = { ...read, [member]: decodeHTMLStrict(value) };
  }
  return read;
}

/** A record with addresses of pictures below the URL in the place of relative ones, unless they lead out of it. */
function completePictures(raw: RawRecord, kind: KindName, filesUrl: string): RawRecord {
  const base = filesUrl.replace(/\/?$/, '/');
  const completed: Record<string, unknown> = {};
  for (const member of PICTURE_MEMBERS[kind]) {
    const text = raw[member];
    if (typeof text !== 'string' || !isRelative(text) || /^(?:www\.|\/\/)/i.test(text)) continue;
    const url = URL.parse(text.replace(/^\//, ''), base)?.href;
    if (url?.startsWith(base)) completed[member] = url;
  }
  return { ...raw, ...completed };
}

/** One with a point or a slash; other texts are no addresses. */
const isRelative = (text: string) => !HAS_SCHEME.test(text) && /[./]/.test(text);

const HAS_SCHEME = /^[a-z][a-z\d+.-]*:/i;

/**
 * A record as a browser reads its addresses: `www.…` has the site's scheme, and those of pictures and files may be relative.
 */
export function resolveAddresses(raw: RawRecord, kind: KindName, base: URL): RawRecord {
  const files = [...PICTURE_MEMBERS[kind], ...FILE_MEMBERS[kind]];
  const resolved: Record<string, unknown> = {};
  for (const [member, schema] of Object.entries(MEMBERS[kind])) {
    const text = raw[member];
    if (schema['x-form'] !== 'url' || typeof text !== 'string' || HAS_SCHEME.test(text)) continue;
    if (/^www\./i.test(text)) resolved[member] = `${base.protocol}//${text}`;
    else if (files.includes(member) && isRelative(text))
      resolved[member] = URL.parse(text, `${base.href.replace(/\/$/, '')}/`)?.href ?? text;
  }
  return { ...raw, ...resolved };
}
