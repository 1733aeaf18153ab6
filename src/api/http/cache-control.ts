// The one reader of Cache-Control (RFC 9111, 5.2.2). Directives are read whole, so no value passes for a directive.

const DIRECTIVE = /([^\s,=]+)(?:\s*=\s*(?:"([^"]*)"|([^\s,]*)))?/g;

/** The directives by name, in lower case. */
const readDirectives = (header: string): ReadonlyMap<string, string> =>
  new Map(
    [...header.toLowerCase().matchAll(DIRECTIVE)].map(([, name = '', quoted, token = '']) => [
      name,
      quoted ?? token,
    ]),
  );

/** Seconds for which a shared cache may keep a response; undefined if the header does not say. */
export function sharedAge(header: string): number | undefined {
  const directives = readDirectives(header);
  const age = directives.get('s-maxage') ?? directives.get('max-age');
  if (age === undefined) return undefined;
  // A malformed age counts as stale (RFC 9111, 4.2.1).
  return /^\d+$/.test(age) ? Number(age) : 0;
}

/** Whether a shared cache may keep a response and send it without asking. */
export const allowsSharedCaching = (header: string): boolean =>
  !hasAny(header, ['private', 'no-store', 'no-cache']) && sharedAge(header) !== 0;

/** Whether a shared cache may send a stale response while the server is down (RFC 9111, 4.2.4). */
export const allowsStale = (header: string): boolean =>
  !hasAny(header, ['must-revalidate', 'proxy-revalidate', 'no-cache', 'no-store', 's-maxage']);

function hasAny(header: string, names: readonly string[]): boolean {
  const directives = readDirectives(header);
  return names.some((name) => directives.has(name));
}
