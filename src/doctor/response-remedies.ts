// Remedies for checks of the response, as lines of configuration for each proxy.
import type { Remedy } from './check.ts';

export const RESPONSE_REMEDIES = {
  type: {
    nginx: `# remove: proxy_hide_header Content-Type; add_header Content-Type …; charset …; sub_filter …;
proxy_pass_header Content-Type;`,
    caddy: `# remove: header Content-Type …, and templates`,
    haproxy: `# remove: http-response set-header Content-Type …`,
    varnish: `# remove: set beresp.http.Content-Type = …; set resp.http.Content-Type = …; set beresp.do_esi = true;`,
  },
  errors: {
    nginx: `proxy_intercept_errors off;    # error_page then leaves Vitrine's errors alone`,
    caddy: `reverse_proxy 127.0.0.1:8080   # without handle_response @error { … }`,
    haproxy: `# remove: http-response return status …
# errorfile and http-error are for HAProxy's own errors, and may stay`,
    varnish: `# remove from vcl_backend_response: if (beresp.status >= 400) { return (error(…)); }
# vcl_synth and vcl_backend_error are for Varnish's own errors, and may stay`,
  },
  cors: {
    nginx: `# remove every: add_header Access-Control-… ;  proxy_hide_header Access-Control-… ;
# Vitrine sends them with every status; its setting is CORS_ORIGIN
# and pass OPTIONS on: no  if ($request_method = OPTIONS) { return … }`,
    caddy: `# remove every: header Access-Control-… and header_down -Access-Control-…`,
    haproxy: `# remove every: http-response set-header, add-header or del-header Access-Control-…
# and: http-request return … if METH_OPTIONS`,
    varnish: `# remove every: set or unset resp.http.Access-Control-… and beresp.http.Access-Control-…
# and from vcl_recv: if (req.method == "OPTIONS") { return (synth(…)); }`,
  },
  compression: {
    nginx: `gzip on;
gzip_types application/json;
gzip_proxied any;
gzip_vary on;`,
    caddy: `encode zstd gzip`,
    haproxy: `compression algo gzip
compression type application/json`,
    varnish: `# in vcl_backend_response
if (beresp.http.Content-Type ~ "^application/json") { set beresp.do_gzip = true; }`,
  },
} satisfies Record<string, Remedy>;
