// The Retry-After header of a response.

/** The milliseconds that Retry-After asks for; 0 without one. */
export function retryAfter(text: string | undefined, now: number): number {
  if (text === undefined) return 0;
  const wanted = /^\s*\d+\s*$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return wanted > 0 ? wanted : 0;
}
