// What a client says that it has, and which coding it takes.

// If-None-Match (RFC 9110, 13.1.2): lists, `*`, weak comparison. Anything that is not an entity tag is ignored.
const ENTITY_TAG = /\s*(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")\s*(?:,|$)|[^,]*(?:,|$)/g;
/** Any ETag. */
export const ANY = '*';
/** Those behind them are not looked at: a header of 15,000 commas would cost as much as 200 lookups. */
const MOST_TAGS = 100;

/**
 * The ETags that a client has, or `*`. That of a compressed form stands for the plain one: a client that has either has the
 * data, and a proxy that compresses may have changed the ending. The 304 names the ETag of the form that a 200 to this
 * request would have (RFC 9110, 15.4.5).
 */
export function knownEtags(ifNoneMatch: string | undefined): string | undefined {
  if (ifNoneMatch === undefined) return undefined;
  if (ifNoneMatch.trim() === ANY) return ANY;
  const tags = ifNoneMatch.matchAll(ENTITY_TAG).take(MOST_TAGS);
  return [...tags.map(([, tag = '']) => tag)].join(',').replaceAll(SUFFIX, '"');
}

export function matches(ifNoneMatch: string | undefined, etag: string): boolean {
  const known = knownEtags(ifNoneMatch);
  return known === ANY || (known?.includes(etag) ?? false);
}

// Accept-Encoding (RFC 9110, 12.5.3), and the ETags of a body and of its compressed form.

/** The weight of a coding; 0 refuses it, and so does what is no weight: every client takes the plain body. */
function readWeight(header: string, coding: string): number | undefined {
  const found = new RegExp(`(?:^|,)\\s*${coding}\\s*(?:;[^,]*?\\bq=([^,;]*))?(?:,|;|$)`, 'i').exec(header);
  if (found === null) return undefined;
  const [, weight = '1'] = found;
  return /^\s*(0(\.\d{0,3})?|1(\.0{0,3})?)\s*$/.test(weight) ? Number(weight) : 0;
}

/** Whether to send gzip. A client that says nothing gets the plain body. */
export function acceptsGzip(header: string | undefined): boolean {
  if (header === undefined) return false;
  const gzip = readWeight(header, '(?:x-)?gzip') ?? readWeight(header, '\\*');
  const identity = readWeight(header, 'identity');
  // Where nothing is said of the plain body, it is the last choice.
  return gzip === undefined ? identity === 0 : gzip > 0 && gzip >= (identity ?? 0);
}

const SUFFIX = '-gzip"';

export const gzipEtag = (etag: string) => etag.slice(0, -1) + SUFFIX;
