// `vitrine print nginx`
import { MEDIA_TYPES } from '../records/media-types.ts';
import { type Deployment, lines, proxyKeepAlive } from './deployment.ts';
import { lookupQuery, UNAVAILABLE_HEADERS, unavailableBody } from './proxy.ts';

export function nginx(deployment: Deployment): string {
  const { socket, host, port, names, corsOrigin } = deployment;
  const query = lookupQuery(deployment);
  const headers = Object.entries(UNAVAILABLE_HEADERS).map(
    ([name, value]) => `add_header ${name} ${value} always;`,
  );
  return `# nginx for Vitrine: compression and a cache that outlives restarts. Save it as /etc/nginx/conf.d/vitrine.conf, and start
# Vitrine with TRUST_PROXY=loopback, or with the address from which nginx connects.

proxy_cache_path /var/cache/nginx/vitrine levels=1:2 keys_zone=vitrine:20m max_size=1g inactive=1d use_temp_path=off;

upstream vitrine {
    # One line for each server. After a failed request nginx would leave a server out for ten seconds, which is longer
    # than a restart takes; max_fails=0 keeps it. A failed request is repeated on the next server in either case.
    server ${socket === undefined ? `${host}:${port}` : `unix:${socket}`} max_fails=0;
    keepalive 32;
    keepalive_timeout ${proxyKeepAlive(deployment)}s;  # less than KEEP_ALIVE_TIMEOUT
}

# The request target that is sent to Vitrine and used as cache key. Only the \`user\` and \`post\`
# of lookups by query matter. All other parameters are dropped, so that they cannot fill the cache with copies.
map $request_uri $vitrine_target {
    default $request_uri;
    "~${query.repeated}" $request_uri;  # for Vitrine to reject
    "~${query.userAndPost}" $1?user$2&post$3;
    "~${query.user}" $1?user$2;
    "~${query.none}" $1;
}
${originMap(corsOrigin)}
server {
    listen 80;
    # listen 443 ssl http2;
    # ssl_certificate     /etc/ssl/${names[0]}.pem;
    # ssl_certificate_key /etc/ssl/${names[0]}.key;
    server_name ${names.join(' ')};

    gzip on;
    gzip_types application/json;
    gzip_proxied any;
    gzip_vary on;

${mediaLocation(deployment)}    location / {
        proxy_pass http://vitrine$vitrine_target;
        proxy_http_version 1.1;
        proxy_set_header Connection "";
        proxy_set_header Host $http_host;
        proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
        proxy_set_header X-Forwarded-Proto $scheme;
        proxy_set_header X-Request-Id $request_id;

        proxy_cache vitrine;
        proxy_cache_key $http_host$vitrine_target;
        proxy_cache_revalidate on;
        proxy_cache_background_update on;
${staleLine(deployment)}        add_header X-Cache-Status $upstream_cache_status always;

        # Errors of nginx itself. Vitrine's own errors are passed on as they are.
        error_page 502 504 =503 @unavailable;
    }

    # No server answers and nothing is cached: an error in Vitrine's format that pages of other origins can read.
    location @unavailable {
        types { }
        default_type "application/json; charset=utf-8";
${lines([...originHeader(corsOrigin), ...headers], '        ')}        return 503 '${unavailableBody(503)}';
    }
}
`;
}

/** Copies of pictures, with the headers that Vitrine sends. What nginx cannot answer, Vitrine does. */
function mediaLocation({ mediaDir, corsOrigin }: Deployment): string {
  // No path with a dollar sign can be written.
  if (mediaDir === undefined || mediaDir.includes('$')) return '';
  const types = Object.entries(MEDIA_TYPES).map(([extension, type]) => `${type} ${extension};`);
  const headers = {
    'Cache-Control': '"public, max-age=31536000, immutable"',
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': `"default-src 'none'; style-src 'unsafe-inline'; sandbox"`,
    'Cross-Origin-Resource-Policy': 'cross-origin',
    'Referrer-Policy': 'no-referrer',
  };
  const added = Object.entries(headers).map(([name, value]) => `add_header ${name} ${value};`);
  return `    # Copies of pictures, straight from MEDIA_DIR if nginx can read it. What it cannot answer is for Vitrine.
    location ~ "^/media/(?<vitrine_copy>(?<vitrine_shard>[0-9a-f]{2})[0-9a-f]{62}\\.(?:${Object.keys(MEDIA_TYPES).join('|')}))$" {
        if ($request_method !~ "^(GET|HEAD)$") {
            rewrite ^ /from-vitrine last;
        }
        root "${mediaDir.replace(/["\\]/g, '\\$&')}";
        try_files /$vitrine_shard/$vitrine_copy /from-vitrine;
        error_page 403 = /from-vitrine;
        sendfile on;
        types {
${lines(types, '            ')}        }
${lines([...originHeader(corsOrigin, ''), ...added], '        ')}    }

`;
}

const staleLine = ({ mayBeStale }: Deployment) =>
  mayBeStale
    ? '        proxy_cache_use_stale error timeout invalid_header http_502 http_503 http_504;\n'
    : '        # CACHE_CONTROL forbids stale responses, so there is no proxy_cache_use_stale.\n';

/** The allowed origin, by the origin that asks; an empty header is not sent. */
const originMap = (corsOrigin: Deployment['corsOrigin']) =>
  corsOrigin === '*' || corsOrigin.length === 0
    ? ''
    : `
map $http_origin $vitrine_origin {
    default "";
${lines(
  corsOrigin.map((origin) => `"${origin}" "${origin}";`),
  '    ',
)}}
`;

function originHeader(corsOrigin: Deployment['corsOrigin'], always = ' always'): string[] {
  if (corsOrigin === '*') return [`add_header Access-Control-Allow-Origin *${always};`];
  if (corsOrigin.length === 0) return [];
  return [
    `add_header Access-Control-Allow-Origin $vitrine_origin${always};`,
    `add_header Vary Origin${always};`,
  ];
}
