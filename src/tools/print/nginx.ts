// `vitrine print nginx`
import { COPY_HEADERS } from '../../api/http/headers.ts';
import { MEDIA_TYPES } from '../../records/copy-files.ts';
import { PARAMETERS } from '../../variants.ts';
import { lines, type PrintInput, proxyKeepAlive } from './input.ts';
import { listening, quoteText, typesBlock } from './nginx-syntax.ts';
import { COMPRESSIBLE, isList, unavailableBody, unavailableHeaders } from './proxies.ts';

/** Connections of one client: enough for many people behind one address, too few to take them all. */
const CLIENT_CONNECTIONS = 200;

export function nginx(input: PrintInput): string {
  const { socket, host, port, corsOrigin, nginxCache } = input;
  const headers = unavailableHeaders(input).map(([name, value]) => `add_header ${name} ${value} always;`);
  return `# nginx for Vitrine: compression and a cache that outlives restarts. Save it as /etc/nginx/conf.d/vitrine.conf, and start
# Vitrine with TRUST_PROXY=loopback, or with the address from which nginx connects.

proxy_cache_path ${nginxCache} levels=1:2 keys_zone=vitrine:20m max_size=1g inactive=1d use_temp_path=off;
limit_conn_zone $binary_remote_addr zone=vitrine_clients:10m;

upstream vitrine {
    # One line for each server. A failed request is repeated on the next server, so two that are restarted in turn lose none.
    # After a failed request nginx would leave a server out for ten seconds, which is longer than a restart takes;
    # max_fails=0 keeps it.
    server ${socket === undefined ? `${host}:${port}` : `unix:${socket}`} max_fails=0;
    keepalive 32;
    keepalive_timeout ${proxyKeepAlive(input)}s;  # less than KEEP_ALIVE_TIMEOUT
}

${targetMaps(input)}
# Escapes of letters that need none: clients do not write them, and each spelling of a name would be a copy.
map $vitrine_target $vitrine_odd {
    default "";
    "~*%(?:2[de]|3[0-9]|4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9ae])" 1;
}
${hostMap(input)}${originMap(corsOrigin)}
${listening(input)}
${input.isNamed ? REFUSAL : '    # Other hosts are refused once base URLs name yours.'}
    # Requests of one client at a time. Behind a CDN, which is one client, set real_ip_header or remove this.
    limit_conn vitrine_clients ${CLIENT_CONNECTIONS};

    # Vitrine compresses its answers: one copy is kept, passed on, and unpacked for the few clients that cannot.
    gunzip on;
    # nginx compresses the rest: pages of people, cards, feeds.
    gzip on;
    gzip_types ${COMPRESSIBLE.join(' ')};
    gzip_proxied any;
    gzip_vary on;

    # Errors of nginx itself. Vitrine's own errors are passed on as they are.
    error_page 502 503 504 =503 @unavailable;

${mediaLocation(input)}    location / {
        proxy_pass http://vitrine$vitrine_target;
        proxy_http_version 1.1;
        proxy_set_header Connection "";
        proxy_set_header Host ${input.isNamed ? '$vitrine_host' : '$http_host'};
        proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
        proxy_set_header X-Forwarded-Proto $scheme;
        proxy_set_header X-Request-Id $request_id;
        proxy_set_header Accept-Encoding gzip;
${lines(originLines(corsOrigin), '        ')}
        proxy_cache vitrine;
        proxy_no_cache $vitrine_odd${input.queryBases.length === 0 ? '' : ' $vitrine_odd_query'};
        proxy_cache_key ${input.isNamed ? '$host:$server_port' : '$http_host'}$vitrine_target${isList(corsOrigin) ? '$vitrine_origin' : ''};
        # The key holds what responses vary by. gzip_vary tells clients.
        proxy_ignore_headers Vary;
        proxy_hide_header Vary;
        proxy_cache_revalidate on;
        proxy_cache_background_update on;
${staleLine(input)}        add_header X-Cache-Status $upstream_cache_status always;
    }

    # No server answers and nothing is cached: an error in Vitrine's format that pages of other origins can read.
    location @unavailable {
        types { }
        default_type "application/json; charset=utf-8";
${lines(headers, '        ')}        return 503 '${unavailableBody(503)}';
    }
}
`;
}

/**
 * The hosts that base URLs name, as they name them. A client may write another port, a last dot, or another host into the
 * request line: if Vitrine learned of that, its 404 would be kept for all.
 */
const hostMap = ({ isNamed, names, hosts }: PrintInput) =>
  !isNamed
    ? ''
    : `
# The host that is sent to Vitrine, whatever port or last dot the client writes.
map $host $vitrine_host {
    default "";
${lines(
  names.map((name) => {
    const [host, ...others] = hosts.filter((each) => new URL(`http://${each}`).hostname === name);
    return `"${name}" "${others.length === 0 ? host : `${name}:$server_port`}";`;
  }),
  '    ',
)}}
`;

const REFUSAL = `    # Each other host would have copies of its own in the cache.
    if ($vitrine_host = "") {
        return 444;
    }
`;

/** Copies of pictures, with the headers that Vitrine sends. What nginx cannot answer, Vitrine does. */
function mediaLocation({ mediaDir, corsOrigin }: PrintInput): string {
  // No path with a dollar sign can be written.
  if (mediaDir === undefined || mediaDir.includes('$')) return '';
  const types = Object.entries(MEDIA_TYPES);
  const headers = Object.entries(COPY_HEADERS).map(([name, value]) => `add_header ${name} "${value}";`);
  return `    # Copies of pictures, straight from MEDIA_DIR if nginx can read it. What it cannot answer is for Vitrine.
    location ~ "^/media/(?<vitrine_copy>(?<vitrine_shard>[0-9a-f]{2})[0-9a-f]{62}(?:-[0-9]+)?\\.(?:${Object.keys(MEDIA_TYPES).join('|')}))$" {
        if ($request_method !~ "^(GET|HEAD)$") {
            rewrite ^ /from-vitrine last;
        }
        root ${quoteText(mediaDir)};
        try_files /$vitrine_shard/$vitrine_copy /from-vitrine;
        error_page 403 = /from-vitrine;
        sendfile on;
${typesBlock(types, '        ')}${lines([...originHeader(corsOrigin), ...headers], '        ')}    }

`;
}

const staleLine = ({ mayBeStale }: PrintInput) =>
  mayBeStale
    ? '        proxy_cache_use_stale error timeout invalid_header http_502 http_503 http_504;\n'
    : '        # CACHE_CONTROL forbids stale responses, so there is no proxy_cache_use_stale.\n';

/** Vitrine learns the origin only if it is allowed: all others get the same response. */
const originLines = (corsOrigin: PrintInput['corsOrigin']) =>
  isList(corsOrigin) ? ['proxy_set_header Origin $vitrine_origin;', 'add_header Vary Origin always;'] : [];

/** The allowed origin, by the origin that asks; an empty header is not sent. */
const originMap = (corsOrigin: PrintInput['corsOrigin']) =>
  !isList(corsOrigin)
    ? ''
    : `
map $http_origin $vitrine_origin {
    default "";
${lines(
  corsOrigin.map((origin) => `"${origin}" "${origin}";`),
  '    ',
)}}
`;

function originHeader(corsOrigin: PrintInput['corsOrigin']): string[] {
  if (corsOrigin === '*') return ['add_header Access-Control-Allow-Origin *;'];
  if (corsOrigin.length === 0) return [];
  return ['add_header Access-Control-Allow-Origin $vitrine_origin;', 'add_header Vary Origin;'];
}

/** Requests outside the API with a parameter that matters. */
const withParameters = Object.entries(PARAMETERS)
  .map(([address, names]) => {
    const path = address.replace('.', '\\.').replace(':variant', '[a-z]').replace(':username', '[^/?]+');
    return `${path}\\?(?:.*&)?(?:${names.join('|')})=[^&]`;
  })
  .join('|');

/**
 * The maps from a request target to what Vitrine is asked, which is also the cache key. Only `user` and `post` matter to
 * lookups, and only where a variant has them in the query. All other parameters are dropped, so that they cannot fill the
 * cache with copies. Parts of the list of people, pages of older items, and oEmbed keep their queries: of these, shared
 * caches store a few pages only.
 */
export function targetMaps({ queryBases }: Pick<PrintInput, 'queryBases'>): string {
  const paths = queryBases.map((path) => `${path.replace(/[^\w/~-]/g, hexEscape)}/api/?`).join('|');
  if (paths === '')
    return `${TARGET_COMMENT}map $request_uri $vitrine_target {
    default $request_uri;
    "~^(?!${withParameters})([^?]*)\\?" $1;
}
`;
  return `# A query that nginx does not understand is passed on as it is, and its response is not stored: an escape in a name, a name
# without a value, or one that is repeated.
map $request_uri $vitrine_odd_query {
    default "";
    "~^(?:${paths})\\?(?:.*&)?(?:[^=&]*%|(?:user|post)(?:&|$)|(user|post)=.*&\\1(?:[=&]|$))" 1;
}
map $request_uri $vitrine_user {
    default "";
    "~^[^?]*\\?(?:.*&)?(user=[^&]*)" $1;
}
map $request_uri $vitrine_post {
    default "";
    "~^[^?]*\\?(?:.*&)?(post=[^&]*)" &$1;
}

${TARGET_COMMENT}map $vitrine_odd_query$request_uri $vitrine_target {
    default $request_uri;
    "~^(?<vitrine_path>${paths})\\?" $vitrine_path?$vitrine_user$vitrine_post;
    "~^(?!${withParameters})(?<vitrine_path>/[^?]*)\\?" $vitrine_path;
}
`;
}

const TARGET_COMMENT = `# The request target that is sent to Vitrine and used as cache key. Only \`user\` and \`post\` matter. All other parameters
# are dropped, so that they cannot fill the cache with copies.
`;

const hexEscape = (character: string) => `\\x${character.charCodeAt(0).toString(16)}`;
