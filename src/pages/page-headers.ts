// What pages, their files and what other pages show have in common: headers with their Content-Security-Policies, and the
// route of a file.
import { createHash } from 'node:crypto';
import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { createAsset, memoize, sendAsset } from '../api/http/assets.ts';
import { errorResponses } from '../api/http/errors.ts';
import { NotModified } from '../api/http/fresh.ts';
import { type Headers, INERT } from '../api/http/headers.ts';
import { PAGE } from '../api/http/observations.ts';
import { listPictureOrigins } from '../config/media.ts';
import type { Config } from '../config/settings.ts';

export const HTML = 'text/html; charset=utf-8';
export const SCRIPT = 'text/javascript; charset=utf-8';
export const STYLE = 'text/css; charset=utf-8';
export const MARKDOWN = 'text/markdown; charset=utf-8';
export const TEXT = 'text/plain; charset=utf-8';
export const SVG = 'image/svg+xml';

/** Browsers revalidate each time, so a new version shows at once. */
export const EACH_TIME = 'no-cache';

export const typed = (type: string, caching: string): Headers => ({
  'content-type': type,
  'cache-control': caching,
});

/** Of whatever is for this site's own pages, unless it says otherwise. */
export const PAGE_HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
};

export const INERT_WITH_PICTURE = {
  'content-security-policy': `${INERT['content-security-policy']}; img-src data:`,
};

/** For what other pages use: scripts are loaded as modules, which needs CORS, wherever the answers may be read. */
export const readableHeaders = ({ corsOrigin }: Config): Headers => ({
  ...(corsOrigin === '*' && { 'access-control-allow-origin': '*' }),
  'cross-origin-resource-policy': 'cross-origin',
});

export const explorerHeaders = (config: Config): Headers => ({
  ...typed(HTML, EACH_TIME),
  ...policy(config, "script-src 'self'", "connect-src 'self'"),
  'cross-origin-opener-policy': 'same-origin',
});

/** For pages without scripts. Tools that judge a page, such as Lighthouse, ask for robots.txt from within it. */
export const pageHeaders = (config: Config): Headers => ({
  'content-type': HTML,
  ...policy(config, "connect-src 'self'"),
  'cross-origin-opener-policy': 'same-origin',
});

/** For the page that explains feeds, whose script copies their addresses. */
export const followHeaders = (config: Config): Headers => ({
  ...pageHeaders(config),
  ...policy(config, "script-src 'self'", "connect-src 'self'"),
});

/** From page to page. Chromium ends a transition with an error in its console if a file says so that comes late. */
export const TRANSITION =
  '@media (prefers-reduced-motion: no-preference) { @view-transition { navigation: auto } }';

/** The explorer reads pages of people, and its policy counts for what is in them. */
const TRANSITION_HASH = createHash('sha256').update(TRANSITION).digest('base64');

/** Scripts and requests: this server only. Pictures: this server, IMAGE_HOSTS, MEDIA_URL and SITE_LOGO. */
function policy(config: Config, ...scripts: readonly string[]): Headers {
  const rules = [
    "default-src 'none'",
    ...scripts,
    `style-src 'self' 'sha256-${TRANSITION_HASH}'`,
    `img-src ${["'self'", 'data:', ...listPictureOrigins(config), ...logoOrigins(config)].join(' ')}`,
    "base-uri 'none'",
    `form-action ${config.directory ? "'self'" : "'none'"}`,
    "frame-ancestors 'none'",
  ];
  return { 'content-security-policy': rules.join('; ') };
}

/** Where a logo is that is not served here. */
export const logoOrigins = ({ siteLogo }: Config): string[] =>
  siteLogo !== undefined && 'url' in siteLogo ? [new URL(siteLogo.url).origin] : [];

/** The options of a route that sends a file. */
export const fileRoute = {
  config: { operation: PAGE },
  schema: {
    hide: true,
    response: { 200: Type.String(), 304: NotModified, ...errorResponses('ROUTE_NOT_FOUND') },
  },
};

/** Serves one file. No start waits for its content. */
export function serveFile(
  app: FastifyInstance,
  url: string,
  content: () => Buffer | string,
  headers: Headers,
): void {
  const asset = memoize(() => createAsset(content(), headers));
  app.get(url, fileRoute, (_request, reply) => void sendAsset(reply, asset(url)));
}
