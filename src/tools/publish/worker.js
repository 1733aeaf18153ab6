// The program of a published site at Cloudflare and Netlify.
import { findHeaders, route } from './router.js';

export async function answer(request, env) {
  const url = new URL(request.url);
  const { method, headers } = request;
  if (method === 'OPTIONS')
    return new Response(null, { status: 204, headers: { ...SITE.common, ...SITE.preflight } });
  const { file, error } = route(url.host, url.pathname + url.search);
  const isUnknown = file === undefined && error === 'ROUTE_NOT_FOUND';
  if (method !== 'GET' && method !== 'HEAD' && !isUnknown) return fail('METHOD_NOT_ALLOWED');
  if (file === undefined) return fail(error);
  const path = file.split('/').map(encodeURIComponent).join('/');
  const found = await env.ASSETS.fetch(new URL(`/${path}`, url));
  if (!found.ok) return fail(error);
  const body = await found.arrayBuffer();
  const { 'content-type': type, ...own } = findHeaders(file);
  const etag = await computeEtag(file, body);
  const others = { ...own, etag, vary: 'Accept-Encoding' };
  if (isKnown(headers.get('if-none-match') ?? '', etag))
    return new Response(null, { status: 304, headers: others });
  return new Response(method === 'HEAD' ? null : body, { headers: { ...others, 'content-type': type } });
}

function fail(code) {
  const { status, body, headers } = SITE.errors[code];
  const all = { ...SITE.common, ...headers, 'content-type': SITE.jsonType };
  return new Response(body, { status, headers: all });
}

/** For lookups and copied pictures the server's: the hash of a profile or of the items in a list, or the name. */
async function computeEtag(file, body) {
  const [, name] = /^media\/..\/([0-9a-f]{64})/.exec(file) ?? [];
  if (name !== undefined) return `"${name}"`;
  const bytes = new Uint8Array(body);
  const hashed = /^data\/.\/items\//.test(file) ? bytes.slice(bytes.indexOf(COLON) + 1, -1) : bytes;
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', hashed));
  const text = btoa(String.fromCharCode(...hash));
  return `"${text.replaceAll('+', '-').replaceAll('/', '_').slice(0, 22)}"`;
}

const COLON = 58;

/** Compares weakly; the ETag of the server's compressed form stands for the plain one. */
const isKnown = (known, etag) => known.trim() === '*' || known.replaceAll('-gzip"', '"').includes(etag);
