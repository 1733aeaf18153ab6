// Remedies for checks of connections and addresses, as lines of configuration for each proxy.
import type { Remedy } from './check.ts';

export const TRANSPORT_REMEDIES = {
  connections: {
    nginx: `keepalive_timeout 75s;
keepalive_requests 1000;`,
    caddy: `# remove: header Connection close`,
    haproxy: `timeout http-keep-alive 75s
# remove: option httpclose`,
    varnish: `# parameter of varnishd
-p timeout_idle=75`,
  },
  upstream: {
    nginx: `upstream vitrine {
    server 127.0.0.1:8080 max_fails=0;
    keepalive 32;
}
# in the location
proxy_http_version 1.1;
proxy_set_header Connection "";`,
    caddy: `reverse_proxy 127.0.0.1:8080   # HTTP/1.1 with kept connections is the default`,
    haproxy: `http-reuse safe                # HTTP/1.1 with kept connections is the default
# remove: option httpclose, option http-server-close`,
    varnish: `# HTTP/1.1 with kept connections is the default; remove: set bereq.http.Connection = "close";`,
  },
  clientAddress: {
    nginx: `proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
proxy_set_header X-Forwarded-Proto $scheme;
# and start Vitrine with TRUST_PROXY= the address from which nginx connects, and no other`,
    caddy: `# Caddy sends X-Forwarded-For by itself; trusted_proxies names proxies in front of it
# and start Vitrine with TRUST_PROXY= the address from which Caddy connects, and no other`,
    haproxy: `option forwardfor
http-request set-header X-Forwarded-Proto https if { ssl_fc }
# and start Vitrine with TRUST_PROXY= the address from which HAProxy connects, and no other`,
    varnish: `# Varnish sends X-Forwarded-For by itself; remove: unset req.http.X-Forwarded-For;
# and start Vitrine with TRUST_PROXY= the address from which Varnish connects, and no other`,
  },
} satisfies Record<string, Remedy>;
