// @ts-check
// Sends a request, and reads the response in full.

/** @typedef {{ kind: 'response', url: string, status: number, statusText: string, ms: number, bytes: number, text: string, json: unknown, headers: Headers }} ApiResponse */
/** @typedef {{ kind: 'unreachable' | 'timeout' | 'other-host' | 'dot-segment', ms: number }} Failure */
/** @typedef {ApiResponse | Failure} Outcome */

const TIMEOUT_MS = 15_000;
/**
 * @param {string} url
 * @param {{ signal?: AbortSignal, headers?: Record<string, string>, cache?: RequestCache }} [options]
 * @returns {Promise<Outcome>} rejects only when `signal` aborts
 */
export async function sendRequest(url, { signal, headers = {}, cache = 'no-store' } = {}) {
  // Browsers resolve . and .. as path steps, even when they are escaped.
  if (/\/\.{1,2}(?=\/|$)/.test(url)) return { kind: 'dot-segment', ms: 0 };
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const limit = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
  const started = performance.now();
  try {
    const response = await fetch(url, { cache, headers, signal: limit });
    const body = await response.arrayBuffer();
    const text = new TextDecoder().decode(body);
    const json = parseJson(text);
    return {
      kind: 'response',
      url,
      status: response.status,
      // Responses over HTTP/2 have none.
      statusText: response.statusText || (response.status === 200 ? 'OK' : (json?.error ?? '')),
      ms: networkTime(url, started) ?? performance.now() - started,
      bytes: body.byteLength,
      text,
      json,
      headers: response.headers,
    };
  } catch (error) {
    if (signal?.aborted) throw error;
    return { kind: timeout.aborted ? 'timeout' : 'unreachable', ms: performance.now() - started };
  }
}

/**
 * The time on the network as the browser measured it, without this page's own work.
 * @param {string} url @param {number} since
 */
function networkTime(url, since) {
  const entries = /** @type {PerformanceResourceTiming[]} */ (performance.getEntriesByName(url));
  const entry = entries.findLast(({ startTime }) => startTime >= since - 1);
  const ms = entry === undefined ? 0 : entry.responseEnd - (entry.requestStart || entry.startTime);
  return ms > 0 ? ms : undefined;
}

/** @param {string} text */
function parseJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @param {Outcome | undefined} outcome @returns {outcome is ApiResponse} */
export const isResponse = (outcome) => outcome?.kind === 'response';
