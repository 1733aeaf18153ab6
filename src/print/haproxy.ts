// `vitrine print haproxy`
import { type Deployment, lines } from './deployment.ts';
import { lookupQuery, UNAVAILABLE_HEADERS, unavailableBody } from './proxy.ts';

/** HAProxy's own errors when no server answers. */
const STATUSES = [502, 503, 504];

export function haproxy(deployment: Deployment): string {
  return `${defaults(deployment)}
${frontend(deployment)}
${backend(deployment)}`;
}

function defaults({ requestTimeout }: Deployment): string {
  return `# HAProxy 2.4 or newer for Vitrine: compression, a small cache, health checks. Save it as /etc/haproxy/haproxy.cfg, and
# start Vitrine with SHUTDOWN_DELAY=1s, twice the interval of the checks: HAProxy sends requests over idle connections,
# and without the delay some reach a connection that a stopping server has just closed. Set TRUST_PROXY=loopback, or to
# the address from which HAProxy connects.

global
    tune.bufsize 32768  # the longest names and large cookies fit

defaults
    mode http
    timeout connect 2s
    timeout client ${requestTimeout + 5}s
    timeout server ${requestTimeout + 5}s
    timeout http-request 10s
    timeout http-keep-alive 75s

# Successes only, for as long as Cache-Control allows. It is neither revalidated nor served when it is stale.
cache vitrine
    total-max-size 64  # megabytes
    max-object-size 2000000
    max-age 60
    process-vary on
`;
}

function frontend(deployment: Deployment): string {
  const query = lookupQuery(deployment);
  return `frontend public
    bind :80
    # bind :443 ssl crt /etc/haproxy/${deployment.names[0]}.pem alpn h2,http/1.1
    option forwardfor
    http-request set-header X-Forwarded-Proto https if { ssl_fc }
    http-request set-header X-Forwarded-Proto http if !{ ssl_fc }
    http-request set-header X-Request-Id %[uuid()]
    # Only the \`user\` and \`post\` of lookups by query matter. All other parameters are dropped, so that they cannot
    # fill the cache with copies. What has one of them twice is for Vitrine to reject.
    acl repeated pathq -m reg '${query.repeated}'
    http-request replace-pathq '${query.userAndPost}' '\\1?user\\2&post\\3' if !repeated
    http-request replace-pathq '${query.user}' '\\1?user\\2' if !repeated
    http-request replace-pathq '${query.none}' '\\1' if !repeated
    http-response set-header X-Cache-Status MISS if { srv_id -m found }
    http-response set-header X-Cache-Status HIT unless { srv_id -m found }
    default_backend vitrine
`;
}

function backend({ socket, host, port, checkPort, corsOrigin }: Deployment): string {
  const onPort = checkPort === undefined ? '' : ` port ${checkPort}`;
  return `backend vitrine
    # Not for pictures, which would push the answers out of memory.
    http-request cache-use vitrine if !{ path_beg /media/ }
    http-response cache-store vitrine unless { res.hdr(cache-control) -m sub immutable }
    compression algo gzip
    compression type application/json

    # A request that meets a server which is going down is repeated on the next.
    option redispatch 1
    retry-on conn-failure empty-response

    option httpchk GET /readyz
    http-check expect status 200
    default-server check inter 500ms fall 1 rise 1
    # One line for each server.
    server one ${socket === undefined ? `${host}:${port}` : `unix@${socket}`}${onPort}

    # No server answers: an error in Vitrine's format that pages of other origins can read.
${lines(originVariable(corsOrigin), '    ')}${lines(
  STATUSES.map((status) => httpError(status, corsOrigin)),
  '    ',
)}`;
}

function httpError(status: number, corsOrigin: Deployment['corsOrigin']): string {
  const origin = corsOrigin === '*' ? ['*'] : corsOrigin.length > 0 ? ['%[var(txn.origin)]'] : [];
  const headers = [
    ...origin.map((value) => `hdr Access-Control-Allow-Origin ${value}`),
    ...Object.entries(UNAVAILABLE_HEADERS).map(([name, value]) => `hdr ${name} ${value}`),
  ];
  return `http-error status ${status} content-type "application/json; charset=utf-8" string '${unavailableBody(status)}' ${headers.join(' ')}`;
}

function originVariable(corsOrigin: Deployment['corsOrigin']): string[] {
  if (corsOrigin === '*' || corsOrigin.length === 0) return [];
  return [
    `http-request set-var(txn.origin) req.hdr(origin) if { req.hdr(origin) -m str ${corsOrigin.join(' ')} }`,
  ];
}
