// If-None-Match as RFC 9110 has it: lists, `*`, weak comparison; what is not an entity tag is passed over.

const ENTITY_TAG = /\s*(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")\s*(?:,|$)|[^,]*(?:,|$)/gy;

/** Whether a representation with this ETag is one that the client already has. */
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
