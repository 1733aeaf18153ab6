// `vitrine print haproxy`
import { type Deployment, lines } from './deployment.ts';
import {
  CLIENT_CONNECTIONS,
  COMPRESSIBLE,
  isList,
  lookupQuery,
  unavailableBody,
  unavailableHeaders,
} from './proxy.ts';

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
  const { https, names, corsOrigin } = deployment;
  const query = lookupQuery(deployment);
  return `frontend public
    bind :80
    ${https ? '' : '# '}bind :443 ssl crt /etc/haproxy/${names[0]}.pem alpn h2,http/1.1
    # Connections of one client. Behind a CDN, which is one client, remove these three lines.
    stick-table type ipv6 size 100k expire 5m store conn_cur
    tcp-request connection track-sc0 src
    tcp-request connection reject if { sc0_conn_cur gt ${CLIENT_CONNECTIONS} }
${https ? '    http-request redirect scheme https code 301 unless { ssl_fc }\n' : ''}    option forwardfor
    http-request set-header X-Forwarded-Proto https if { ssl_fc }
    http-request set-header X-Forwarded-Proto http if !{ ssl_fc }
    http-request set-header X-Request-Id %[uuid()]
    # Only \`user\` and \`post\` matter. All other parameters are dropped, so that they cannot fill the cache with copies.
    # What has one of them twice is for Vitrine to reject.
    acl repeated pathq -m reg '${query.repeated}'
    http-request replace-pathq '${query.userAndPost}' '\\1?user\\2&post\\3' if !repeated
    http-request replace-pathq '${query.user}' '\\1?user\\2' if !repeated
    http-request replace-pathq '${query.none}' '\\1' if !repeated
    # Vitrine compresses its answers. HAProxy cannot unpack them, so it keeps two copies: for clients that take gzip, and
    # for the few that do not.
    acl gzip req.hdr(accept-encoding) -m reg -i '^gzip\\s*(;\\s*q=(1|0\\.0*[1-9]).*)?$'
    http-request set-header Accept-Encoding gzip if gzip
    http-request set-header Accept-Encoding identity if !gzip
${lines(ignoredOrigins(corsOrigin), '    ')}    http-response set-header X-Cache-Status MISS if { srv_id -m found }
    http-response set-header X-Cache-Status HIT unless { srv_id -m found }
    default_backend vitrine
`;
}

function backend(deployment: Deployment): string {
  const { socket, host, port, checkPort } = deployment;
  const onPort = checkPort === undefined ? '' : ` port ${checkPort}`;
  return `backend vitrine
    # Not for pictures, which would push the answers out of memory.
    http-request cache-use vitrine if !{ path_beg /media/ }
    http-response cache-store vitrine unless { res.hdr(cache-control) -m sub immutable }
    compression algo gzip
    compression type text/html ${COMPRESSIBLE.join(' ')}

    # A request that meets a server which is going down is repeated on the next.
    option redispatch 1
    retry-on conn-failure empty-response

    option httpchk GET /readyz
    http-check expect status 200
    default-server check inter 500ms fall 1 rise 1
    # One line for each server.
    server one ${socket === undefined ? `${host}:${port}` : `unix@${socket}`}${onPort}

    # No server answers: an error in Vitrine's format that pages of other origins can read.
${lines(
  STATUSES.map((status) => httpError(status, deployment)),
  '    ',
)}`;
}

function httpError(status: number, deployment: Deployment): string {
  const headers = unavailableHeaders(deployment).map(([name, value]) => `hdr ${name} ${value}`);
  return `http-error status ${status} content-type "application/json; charset=utf-8" string '${unavailableBody(status)}' ${headers.join(' ')}`;
}

function ignoredOrigins(corsOrigin: Deployment['corsOrigin']): string[] {
  if (!isList(corsOrigin)) return [];
  return [
    '# Vitrine learns the origin only if it is allowed: all others share one copy.',
    `http-request del-header Origin unless { req.hdr(origin) -m str ${corsOrigin.join(' ')} }`,
  ];
}
