// Remedies for checks of the request, as lines of configuration for each proxy.
import type { Remedy } from './check.ts';

export const ADDRESS_REMEDIES = {
  address: {
    nginx: `location /b/ {
    proxy_pass http://vitrine;    # nothing after the name, not even a slash: the prefix stays
}`,
    caddy: `handle /b/* {                     # handle, not handle_path: the prefix stays
    reverse_proxy 127.0.0.1:8080
}`,
    haproxy: `use_backend vitrine if { path_beg /b/ }
# remove: http-request set-path …, replace-path …: the prefix stays`,
    varnish: `# in vcl_recv
if (req.url ~ "^/b/") { set req.backend_hint = vitrine; }
# remove: set req.url = regsub(req.url, …): the prefix stays`,
  },
  names: {
    nginx: `proxy_pass http://vitrine;    # or http://vitrine$request_uri: as it was sent
# never a path after the name, and neither $uri nor rewrite: those are decoded`,
    caddy: `reverse_proxy 127.0.0.1:8080   # without rewrite, uri and handle_path, which decode`,
    haproxy: `# remove: http-request normalize-uri …, and url_dec in http-request set-path or set-uri`,
    varnish: `# remove from vcl_recv: std.querysort(), urldecode functions, and set req.url = …`,
  },
  query: {
    nginx: `proxy_pass http://vitrine;    # or http://vitrine$request_uri: with the query; $uri is without
proxy_cache_key $http_host$request_uri;`,
    caddy: `reverse_proxy 127.0.0.1:8080   # without rewrite * /path, which drops the query`,
    haproxy: `# remove: http-request set-query …, http-request set-uri %[path]: they drop the query`,
    varnish: `# remove from vcl_recv: set req.url = regsub(req.url, "\\?.*$", "");
# in vcl_hash, if there is one
hash_data(req.url);`,
  },
  head: {
    nginx: `limit_except GET OPTIONS { deny all; }    # GET includes HEAD; remove: if ($request_method != GET)
proxy_cache_convert_head on;`,
    caddy: `@reading method GET HEAD OPTIONS
reverse_proxy @reading 127.0.0.1:8080`,
    haproxy: `http-request deny deny_status 405 unless { method GET HEAD OPTIONS }`,
    varnish: `# in vcl_recv
if (req.method !~ "^(GET|HEAD|OPTIONS)$") { return (synth(405)); }`,
  },
  size: {
    nginx: `client_header_buffer_size 4k;
large_client_header_buffers 4 16k;`,
    caddy: `# in the global options
servers {
    max_header_size 16KB
}`,
    haproxy: `# in global
tune.bufsize 32768
tune.maxrewrite 1024`,
    varnish: `# parameters of varnishd
-p http_req_hdr_len=8k -p http_req_size=32k -p workspace_client=128k`,
  },
} satisfies Record<string, Remedy>;
