// If-None-Match (RFC 9110, 13.1.2): lists, `*`, weak comparison. Anything that is not an entity tag is ignored.

const ENTITY_TAG = /\s*(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")\s*(?:,|$)|[^,]*(?:,|$)/gy;

/** Whether the client already has the representation with this ETag. */
export function matches(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch === etag) return true;
  if (ifNoneMatch.trim() === '*') return true;
  ENTITY_TAG.lastIndex = 0;
  while (ENTITY_TAG.lastIndex < ifNoneMatch.length) {
    const tag = ENTITY_TAG.exec(ifNoneMatch)?.[1];
    if (tag === etag) return true;
  }
  return false;
}
