// `vitrine print varnish`
import { BAN_HEADER } from '../config/caches.ts';
import { type Deployment, lines } from './deployment.ts';
import { COMPRESSIBLE, isList, lookupQuery, unavailableBody, unavailableHeaders } from './proxy.ts';

export function varnish(deployment: Deployment): string {
  const { socket, host, port, corsOrigin, staleWhileRevalidate, staleIfError, bannedBy } = deployment;
  const query = lookupQuery(deployment);
  const where =
    socket === undefined ? [`.host = "${host}";`, `.port = "${port}";`] : [`.path = "${socket}";`];
  return `# Varnish 6.5 or newer for Vitrine: a cache in memory that revalidates, and outlives restarts. Save it as
# /etc/varnish/default.vcl, and start Vitrine with TRUST_PROXY=loopback, or with the address from which Varnish connects.
# Varnish does not limit the connections of one client: the program in front that speaks TLS can, or a firewall, with
# nftables' \`ct count\`.
vcl 4.1;

import std;

backend vitrine {
${lines(where, '    ')}    .first_byte_timeout = 30s;
    .probe = {
        .url = "/readyz";
        .interval = 1s;
        .timeout = 2s;
        .window = 3;
        .threshold = 2;
        .initial = 2;
    }
}

# Varnish speaks no TLS. Who may say that a request came over https: the program in front of it, on this machine.
acl tls_terminator {
    "localhost";
}

${bannedBy === undefined ? '' : PURGERS}sub vcl_recv {
${bannedBy === undefined ? '' : ban(bannedBy)}    # Neither matters to Vitrine, and both would keep Varnish from caching.
    unset req.http.Cookie;
    unset req.http.Authorization;
    # Only \`user\` and \`post\` matter. All other parameters are dropped, so that they cannot fill the cache with copies.
    # What has one of them twice is for Vitrine to reject.
    if (req.url !~ "${query.repeated}") {
        set req.url = regsub(req.url, "${query.userAndPost}", "\\1?user\\2&post\\3");
        set req.url = regsub(req.url, "${query.user}", "\\1?user\\2");
        set req.url = regsub(req.url, "${query.none}", "\\1");
    }
${lines(ignoredOrigins(corsOrigin), '    ')}    set req.http.X-Request-Id = req.xid;
    if (client.ip !~ tls_terminator) {
        set req.http.X-Forwarded-Proto = "http";
    }
    # Pictures would push the answers out of memory, and browsers keep them for good.
    if (req.url ~ "^/media/") {
        return (pass);
    }
    # stale-while-revalidate while the server is well; stale-if-error when it is not, or has just failed.
    if (req.restarts == 0 && std.healthy(req.backend_hint)) {
        set req.grace = ${staleWhileRevalidate}s;
    } else {
        set req.grace = ${staleIfError}s;
    }
}

sub vcl_backend_response {
    if (beresp.status >= 500) {
        # What is cached stays.
        if (bereq.is_bgfetch) {
            return (abandon);
        }
        set beresp.ttl = 0s;
        set beresp.grace = 0s;
        set beresp.keep = 0s;
        return (deliver);
    }
    if (beresp.status < 400) {
        set beresp.grace = ${staleIfError}s;
        set beresp.keep = 1d;  # for If-None-Match
    } else {
        set beresp.grace = 0s;
    }
${bannedBy === undefined ? '' : LASTING}    # Vitrine compresses its answers; Varnish does the rest: pages of people, cards, feeds. It keeps one copy, and unpacks
    # it for the few clients that cannot.
    if (beresp.http.Content-Type ~ "^(text/html|${COMPRESSIBLE.join('|').replace(/[+.]/g, '\\$&')})") {
        set beresp.do_gzip = true;
    }
}

sub vcl_deliver {
${bannedBy === undefined ? '' : DELIVERED}    if (resp.status >= 500 && req.restarts == 0) {
        # Perhaps there is an older response.
        return (restart);
    }
    if (obj.hits == 0) {
        set resp.http.X-Cache-Status = "MISS";
    } else if (obj.ttl < 0s) {
        set resp.http.X-Cache-Status = "STALE";
    } else {
        set resp.http.X-Cache-Status = "HIT";
    }
}

# No server answers and nothing is cached: an error in Vitrine's format that pages of other origins can read.
sub vcl_backend_error {
    if (bereq.is_bgfetch) {
        return (abandon);
    }
    if (bereq.retries == 0) {
        return (retry);
    }
${unavailable('beresp', deployment)}    set beresp.ttl = 0s;
    set beresp.grace = 0s;
    set beresp.body = """${unavailableBody(503)}""";
    return (deliver);
}

sub vcl_synth {
    if (resp.status < 500) {
        return (deliver);
    }
${unavailable('resp', deployment)}    set resp.body = """${unavailableBody(503)}""";
    return (deliver);
}
`;
}

const PURGERS = `# Who may say what changed: add the machines on which imports run.
acl purgers {
    "localhost";
}

`;

const ban = (tagHeader: string) => `    if (req.method == "BAN") {
        # With a comma the request came through the program that speaks TLS, from anybody.
        if (client.ip !~ purgers || req.http.X-Forwarded-For ~ ",") {
            return (synth(403));
        }
        if (req.http.${BAN_HEADER} !~ "^[-|0-9a-z]+$") {
            return (synth(400));
        }
        ban("obj.http.${tagHeader} ~ (" + req.http.${BAN_HEADER} + ")");
        return (synth(200));
    }
`;

/** Vitrine sends this header with what PURGE tells of, errors of lookups included. */
const LASTING = `    if (beresp.http.X-Accel-Expires) {
        set beresp.ttl = 1d;
    }
`;

const DELIVERED = `    if (resp.http.X-Accel-Expires) {
        # For clients it is as fresh as Vitrine's own.
        unset resp.http.X-Accel-Expires;
        unset resp.http.Age;
        set resp.http.Date = now;
    }
`;

function unavailable(response: string, deployment: Deployment): string {
  const headers = [
    ['Content-Type', 'application/json; charset=utf-8'] as const,
    ...unavailableHeaders(deployment),
  ].map(([name, value]) => `set ${response}.http.${name} = "${value}";`);
  return lines([`set ${response}.status = 503;`, ...headers], '    ');
}

function ignoredOrigins(corsOrigin: Deployment['corsOrigin']): string[] {
  if (!isList(corsOrigin)) return [];
  return [
    '# Vitrine learns the origin only if it is allowed: all others share one copy.',
    `if (req.http.Origin !~ "^(${corsOrigin.join('|').replaceAll('.', '\\.')})$") {`,
    '    unset req.http.Origin;',
    '}',
  ];
}
