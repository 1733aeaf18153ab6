// Remedies for checks of caching, as lines of configuration for each proxy.
import type { Remedy } from './check.ts';

export const CACHE_REMEDIES = {
  etag: {
    nginx: `# remove what rewrites bodies or drops the header:
#   sub_filter …;  ssi on;  add_before_body …;  add_after_body …;  proxy_hide_header ETag;
etag on;`,
    caddy: `# remove: header -ETag, header_down -ETag, replace_response, templates`,
    haproxy: `# remove: http-response del-header ETag`,
    varnish: `# remove: unset beresp.http.ETag; unset resp.http.ETag;`,
  },
  revalidation: {
    nginx: `proxy_set_header If-None-Match $http_if_none_match;    # remove: proxy_set_header If-None-Match "";
proxy_cache_revalidate on;`,
    caddy: `# remove: header_up -If-None-Match, request_header -If-None-Match`,
    haproxy: `# remove: http-request del-header If-None-Match`,
    varnish: `# remove from vcl_recv: unset req.http.If-None-Match;
# in vcl_backend_response, so that expired responses are revalidated
set beresp.keep = 1d;`,
  },
  caching: {
    nginx: `expires off;
# remove: add_header Cache-Control …;  proxy_hide_header Cache-Control;  add_header Set-Cookie …;
# the time is Vitrine's setting CACHE_CONTROL`,
    caddy: `# remove: header Cache-Control …, header_down -Cache-Control`,
    haproxy: `# remove: http-response set-header or del-header Cache-Control …
# and for this backend: cookie … insert`,
    varnish: `# remove: set or unset beresp.http.Cache-Control and resp.http.Cache-Control, set resp.http.Set-Cookie = …`,
  },
  errors: {
    nginx: `# remove: proxy_cache_valid any …;  proxy_cache_valid 404 …;  proxy_ignore_headers Cache-Control …;
#         add_header Cache-Control … always;
# the cache then keeps errors for as long as Vitrine allows`,
    caddy: `# remove: header Cache-Control …, and ttl of the module cache-handler`,
    haproxy: `# the cache keeps successes only; remove: http-response set-header Cache-Control …`,
    varnish: `# remove from vcl_backend_response: set beresp.ttl = …; set beresp.grace = …; for every status
if (beresp.status >= 400) { set beresp.grace = 0s; }`,
  },
  cache: {
    nginx: `# in http { … }
proxy_cache_path /var/cache/vitrine levels=1:2 keys_zone=vitrine:20m max_size=1g inactive=1d use_temp_path=off;
# in the location
proxy_cache vitrine;
proxy_cache_key $http_host$request_uri;
proxy_cache_revalidate on;
proxy_cache_background_update on;
proxy_cache_use_stale error timeout invalid_header http_502 http_503 http_504;
add_header X-Cache-Status $upstream_cache_status always;
# remove: proxy_no_cache …;  proxy_cache_bypass …;  proxy_buffering off;`,
    caddy: `# Caddy itself has no cache: build it with the module cache-handler, or use a CDN`,
    haproxy: `cache vitrine
    total-max-size 64
    max-age 60
    process-vary on
# in the backend
http-request cache-use vitrine
http-response cache-store vitrine
# in the frontend
http-response set-header X-Cache-Status MISS if { srv_id -m found }
http-response set-header X-Cache-Status HIT unless { srv_id -m found }`,
    varnish: `# in vcl_recv: cookies do not matter to Vitrine, and keep Varnish from caching
unset req.http.Cookie;
# in vcl_backend_response
set beresp.keep = 1d;
# in vcl_deliver
if (obj.hits > 0) { set resp.http.X-Cache-Status = "HIT"; } else { set resp.http.X-Cache-Status = "MISS"; }`,
  },
  key: {
    nginx: `proxy_cache_key $http_host$request_uri;
proxy_set_header Host $http_host;`,
    caddy: `# cache-handler has the host in its key; remove: key { disable_host }`,
    haproxy: `# the key is host and address as they arrive; remove: http-request set-header Host …`,
    varnish: `# in vcl_hash, if it returns
hash_data(req.http.host);`,
  },
} satisfies Record<string, Remedy>;
