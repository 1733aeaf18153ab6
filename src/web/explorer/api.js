// @ts-check
// Requests to the API and their outcomes.
import { escaped } from './snippets.js';
import { root } from './state.js';

/**
 * @typedef {{ name: string, profile: string, items: string, family: 'microblog' | 'portfolio', collection: string,
 *   path: string, origin: string | null }} Variant
 */
/** @typedef {'profile' | 'items'} Resource */
/**
 * @typedef {{ kind: 'response', status: number, statusText: string, ms: number, bytes: number, text: string,
 *   json: unknown, etag: string | null, headers: Array<[string, string]>, retryAfter: string | null }} ApiResponse
 */
/** @typedef {{ kind: 'unreachable' | 'timeout' | 'other-host' | 'dot-segment', ms: number }} Failure */
/** @typedef {ApiResponse | Failure} Outcome */

const TIMEOUT_MS = 15_000;
const SHOWN_HEADERS = ['ETag', 'Cache-Control', 'Content-Type', 'Retry-After'];
/** HTTP/2 responses carry no status text. */
const STATUS_TEXTS = /** @type {Record<number, string>} */ ({
  200: 'OK',
  304: 'Not Modified',
  400: 'Bad Request',
  404: 'Not Found',
  414: 'URI Too Long',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
});

/**
 * The variant's base URL. A path is resolved against this page, so that a proxy's prefix applies to both.
 * @param {Variant} variant
 */
export function buildBase({ path, origin }) {
  if (origin !== null) {
    const sameHost = new URL(origin).host === location.host;
    return new URL(`${sameHost ? location.origin : origin}${path}`);
  }
  const base = new URL(`.${path}/`, root);
  base.pathname = base.pathname.replace(/\/+$/, '');
  return base;
}

/** @param {Variant} variant @param {string} user @param {Resource} resource */
export function buildUrl(variant, user, resource) {
  const base = buildBase(variant).href.replace(/\/+$/, '');
  return base + variant[resource].replace(':username', () => escaped(user));
}

/**
 * @param {Variant} variant @param {string} user @param {Resource} resource
 * @param {{ signal?: AbortSignal, etag?: string }} [options]
 * @returns {Promise<Outcome>} rejects only when `signal` aborts
 */
export async function sendRequest(variant, user, resource, { signal, etag } = {}) {
  const url = buildUrl(variant, user, resource);
  if (new URL(url).origin !== location.origin) return { kind: 'other-host', ms: 0 };
  // Browsers resolve . and .. as path steps, even when they are escaped.
  if (!variant.profile.includes('?') && /^\.{1,2}$/.test(user)) return { kind: 'dot-segment', ms: 0 };
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const started = performance.now();
  try {
    const response = await fetch(url, {
      cache: 'no-store',
      credentials: 'same-origin',
      headers: etag === undefined ? {} : { 'If-None-Match': etag },
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    });
    const body = await response.arrayBuffer();
    return readResponse(response, body, networkTime(url, started) ?? performance.now() - started);
  } catch (error) {
    if (signal?.aborted) throw error;
    return { kind: timeout.aborted ? 'timeout' : 'unreachable', ms: performance.now() - started };
  }
}

/** @param {Response} response @param {ArrayBuffer} body @param {number} ms @returns {ApiResponse} */
function readResponse({ status, statusText, headers }, body, ms) {
  const text = new TextDecoder().decode(body);
  return {
    kind: 'response',
    status,
    statusText: statusText || STATUS_TEXTS[status] || '',
    ms,
    bytes: body.byteLength,
    text,
    json: parseJson(text),
    etag: headers.get('etag'),
    headers: SHOWN_HEADERS.flatMap((name) => {
      const value = headers.get(name);
      return value === null ? [] : [/** @type {[string, string]} */ ([name, value])];
    }),
    retryAfter: headers.get('retry-after'),
  };
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

/** @param {Outcome} outcome @returns {outcome is ApiResponse} */
export const isResponse = (outcome) => outcome.kind === 'response';

/** The profile in a 200 response; undefined for anything else. @param {Outcome} outcome @returns {Record<string, unknown> | undefined} */
export function profileIn(outcome) {
  if (!isResponse(outcome) || outcome.status !== 200) return undefined;
  const { json } = outcome;
  return isObject(json) && typeof json.username === 'string' ? json : undefined;
}

/** The items in a 200 response. @param {Variant} variant @param {Outcome} outcome @returns {Record<string, unknown>[] | undefined} */
export function itemsIn(variant, outcome) {
  if (!isResponse(outcome) || outcome.status !== 200 || !isObject(outcome.json)) return undefined;
  const list = outcome.json[variant.collection];
  return Array.isArray(list) ? list.filter(isObject) : undefined;
}

/** @param {unknown} value @returns {value is Record<string, unknown>} */
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
