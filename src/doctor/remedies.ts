// What to do about what a check found: a sentence, and the line of `vitrine print PROXY` that does it right.

export type ProxyName = 'nginx' | 'caddy' | 'haproxy' | 'varnish';

export interface Remedy {
  readonly advice: string;
  /** A part of a line that is printed for the proxy. */
  readonly lines?: Partial<Record<ProxyName, string>>;
}

const TRUST = 'set TRUST_PROXY to the address from which the proxy connects, and to no other';

/** By the name of the check. */
export const REMEDIES = {
  address: {
    advice: 'Pass the path on with its prefix, and send front-ends to the address that answers.',
    lines: { nginx: 'proxy_pass http://', caddy: 'reverse_proxy', haproxy: 'default_backend vitrine' },
  },
  'encoded names': {
    advice:
      'Pass the path on as it was sent: no $uri, rewrite, handle_path, normalize-uri, url_dec or querysort.',
    lines: {
      nginx: 'map $request_uri',
      caddy: 'reverse_proxy',
      haproxy: 'replace-pathq',
      varnish: 'set req.url',
    },
  },
  query: {
    advice: 'Pass `user` and `post` on, and have them in the cache key. Other parameters may be dropped.',
    lines: { nginx: 'proxy_cache_key', haproxy: 'replace-pathq', varnish: 'set req.url' },
  },
  HEAD: { advice: 'Let GET, HEAD and OPTIONS through.' },
  'header size': {
    advice:
      'Make room for 16 KB of headers: large_client_header_buffers 4 16k (nginx), max_header_size 16KB (Caddy), -p http_req_hdr_len=8k -p http_req_size=32k (varnishd).',
    lines: { haproxy: 'tune.bufsize' },
  },
  'content type': { advice: 'Remove what sets Content-Type or rewrites bodies.' },
  'error bodies': {
    advice:
      "Pass Vitrine's errors on: no proxy_intercept_errors (nginx), handle_response (Caddy), http-response return (HAProxy), error() in vcl_backend_response (Varnish).",
    lines: {
      nginx: 'error_page 502',
      caddy: 'handle_errors',
      haproxy: 'http-error status',
      varnish: 'vcl_backend_error',
    },
  },
  CORS: {
    advice:
      'Remove whatever adds, sets or hides Access-Control-… headers, and pass OPTIONS on: Vitrine sends them with every status, as its setting CORS_ORIGIN says.',
  },
  compression: {
    advice:
      'Vitrine compresses lists, scripts and styles for who asks: pass Accept-Encoding on, or ask for gzip and unpack for the few who cannot. Let the proxy compress pages of people and feeds.',
    lines: {
      nginx: 'gunzip on;',
      caddy: 'encode {',
      haproxy: 'compression type',
      varnish: 'set beresp.do_gzip',
    },
  },
  ETag: {
    advice:
      'Remove what hides ETag or rewrites bodies: proxy_hide_header, sub_filter, ssi, templates, del-header, unset.',
  },
  304: {
    advice: 'Pass If-None-Match on, and revalidate what has expired.',
    lines: { nginx: 'proxy_cache_revalidate on;', varnish: 'set beresp.keep = 1d;' },
  },
  'Cache-Control': {
    advice:
      'Remove what sets or hides Cache-Control, or adds cookies: the time is the setting CACHE_CONTROL.',
  },
  'error caching': {
    advice:
      'Let the cache keep errors only for as long as Vitrine allows: no proxy_cache_valid any, proxy_ignore_headers Cache-Control or ttl of your own.',
    lines: { haproxy: 'cache-store vitrine', varnish: 'set beresp.grace = 0s;' },
  },
  cache: {
    advice:
      'Add a cache, and have it say what it does in X-Cache-Status. Caddy needs the module cache-handler or a CDN.',
    lines: { nginx: 'proxy_cache_path', haproxy: 'cache-use vitrine', varnish: 'unset req.http.Cookie;' },
  },
  'cache key': {
    advice: 'Have the host in the cache key, and pass it on.',
    lines: {
      nginx: 'proxy_cache_key',
      caddy: 'reverse_proxy',
      haproxy: 'cache vitrine',
      varnish: 'set req.url',
    },
  },
  'cache copies': {
    advice: 'Drop parameters that Vitrine ignores, and keep one copy for all spellings of Accept-Encoding.',
    lines: {
      nginx: 'proxy_ignore_headers Vary;',
      haproxy: 'set-header Accept-Encoding gzip',
      varnish: 'set req.url',
    },
  },
  pictures: {
    advice:
      'Pass /media/ on like everything else, or serve it as printed. Missing files: `vitrine media check`. Another public address: set MEDIA_URL, then `vitrine media relink`.',
    lines: { nginx: 'location ~ "^/media/', varnish: '"^/media/"' },
  },
  connections: {
    advice: 'Keep the connections of clients open.',
    lines: { haproxy: 'timeout http-keep-alive' },
  },
  'HTTP to Vitrine': {
    advice: 'Speak HTTP/1.1 with Vitrine, over connections that are kept open.',
    lines: { nginx: 'proxy_http_version 1.1;', caddy: 'keepalive' },
  },
  'client address': {
    advice: `Set X-Forwarded-For in the proxy, and ${TRUST}.`,
    lines: {
      nginx: 'proxy_set_header X-Forwarded-For',
      caddy: 'reverse_proxy',
      haproxy: 'option forwardfor',
    },
  },
} as const satisfies Record<string, Remedy>;

export type CheckName = `${keyof typeof REMEDIES}`;
