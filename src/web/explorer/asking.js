// @ts-check
// What is asked, where, and what came of it.

/** @typedef {{ name: 'a' | 'b' | 'c', path: string, origin: string | null }} Variant */
/** @typedef {'profile' | 'items'} Part */
/**
 * @typedef {{ kind: 'answer', status: number, phrase: string, ms: number, bytes: number, text: string, json: unknown,
 *   etag: string | null, headers: Array<[string, string]>, retryAfter: string | null }} Answer
 */
/** @typedef {Answer | { kind: 'gone' | 'slow' | 'elsewhere' | 'impossible', ms: number }} Outcome */

const PATIENCE = 15_000;
const SHOWN_HEADERS = ['ETag', 'Cache-Control', 'Content-Type', 'Retry-After'];
/** HTTP/2 has no phrases. */
const PHRASES = /** @type {Record<number, string>} */ ({
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

export const COLLECTIONS = { a: 'posts', b: 'Shots', c: 'Posts' };

/** Percent escapes that a shell's single quotes survive, too. @param {string} name */
const escaped = (name) =>
  encodeURIComponent(name.toWellFormed()).replace(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/**
 * Where a variant lives. A path is taken from where this page is, so that a prefix before both goes along.
 * @param {Variant} variant
 */
export function baseOf({ path, origin }) {
  if (origin !== null) {
    const ours = new URL(origin).host === location.host;
    return new URL(`${ours ? location.origin : origin}${path}`);
  }
  const base = new URL(`.${path}/`, document.baseURI);
  base.pathname = base.pathname.replace(/\/+$/, '');
  return base;
}

/** @param {Variant} variant @param {string} user @param {Part} part */
export function addressOf(variant, user, part) {
  const base = baseOf(variant).href.replace(/\/+$/, '');
  const tail =
    variant.name === 'a'
      ? `/api/?user=${escaped(user)}${part === 'items' ? '&post=true' : ''}`
      : `/api/username/${escaped(user)}${part === 'items' ? '/shots' : ''}`;
  return `${base}${tail}`;
}

/**
 * @param {Variant} variant @param {string} user @param {Part} part
 * @param {{ signal?: AbortSignal, etag?: string }} [options]
 * @returns {Promise<Outcome>}
 */
export async function ask(variant, user, part, { signal, etag } = {}) {
  const address = addressOf(variant, user, part);
  if (new URL(address).origin !== location.origin) return { kind: 'elsewhere', ms: 0 };
  // A browser takes these for steps in the path, however they are escaped.
  if (variant.name !== 'a' && /^\.{1,2}$/.test(user)) return { kind: 'impossible', ms: 0 };
  const patience = AbortSignal.timeout(PATIENCE);
  const started = performance.now();
  try {
    const response = await fetch(address, {
      cache: 'no-store',
      credentials: 'same-origin',
      headers: etag === undefined ? {} : { 'If-None-Match': etag },
      signal: signal === undefined ? patience : AbortSignal.any([signal, patience]),
    });
    const body = await response.arrayBuffer();
    const ms = taken(address, started) ?? performance.now() - started;
    const text = new TextDecoder().decode(body);
    return {
      kind: 'answer',
      status: response.status,
      phrase: response.statusText || PHRASES[response.status] || '',
      ms,
      bytes: body.byteLength,
      text,
      json: parsed(text),
      etag: response.headers.get('etag'),
      headers: SHOWN_HEADERS.flatMap((name) => {
        const value = response.headers.get(name);
        return value === null ? [] : [/** @type {[string, string]} */ ([name, value])];
      }),
      retryAfter: response.headers.get('retry-after'),
    };
  } catch (error) {
    if (signal?.aborted) throw error;
    return { kind: patience.aborted ? 'slow' : 'gone', ms: performance.now() - started };
  }
}

/**
 * How long the network took, as the browser saw it: what else the page was doing does not count.
 * @param {string} address @param {number} since
 */
function taken(address, since) {
  const entries = /** @type {PerformanceResourceTiming[]} */ (performance.getEntriesByName(address));
  const entry = entries.findLast(({ startTime }) => startTime >= since - 1);
  const ms = entry === undefined ? 0 : entry.responseEnd - (entry.requestStart || entry.startTime);
  return ms > 0 ? ms : undefined;
}

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @param {Outcome} outcome @returns {outcome is Answer} */
export const isAnswer = (outcome) => outcome.kind === 'answer';

/** The record of a success, checked to be one. @param {Outcome} outcome @returns {Record<string, unknown> | undefined} */
export function profileIn(outcome) {
  if (!isAnswer(outcome) || outcome.status !== 200) return undefined;
  const { json } = outcome;
  return isRecord(json) && typeof json.username === 'string' ? json : undefined;
}

/** @param {Variant} variant @param {Outcome} outcome @returns {Record<string, unknown>[] | undefined} */
export function itemsIn(variant, outcome) {
  if (!isAnswer(outcome) || outcome.status !== 200 || !isRecord(outcome.json)) return undefined;
  const list = outcome.json[COLLECTIONS[variant.name]];
  return Array.isArray(list) ? list.filter(isRecord) : undefined;
}

/** @param {unknown} value @returns {value is Record<string, unknown>} */
const isRecord = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
