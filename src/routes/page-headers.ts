// The headers of pages and of what other pages show, with their Content-Security-Policies.
import type { Config } from '../config/config.ts';
import { listPictureOrigins } from '../config/media.ts';
import { type Headers, INERT } from '../http/answer.ts';
import { CROSS_ORIGIN, EACH_TIME, GUARD, HTML, SAME_ORIGIN, typed } from './web-file.ts';

/** Of whatever is for this site's own pages, unless it says otherwise. */
export const PAGE_HEADERS = { ...GUARD, ...SAME_ORIGIN };

export const INERT_WITH_PICTURE = {
  'content-security-policy': `${INERT['content-security-policy']}; img-src data:`,
};

/** For what other pages use: scripts are loaded as modules, which needs CORS, wherever the answers may be read. */
export const readableHeaders = ({ corsOrigin }: Config): Headers => ({
  ...(corsOrigin === '*' && { 'access-control-allow-origin': '*' }),
  ...CROSS_ORIGIN,
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

/** Scripts and requests: this server only. Pictures: this server, IMAGE_HOSTS, MEDIA_URL and SITE_LOGO. */
function policy(config: Config, ...scripts: readonly string[]): Headers {
  const rules = [
    "default-src 'none'",
    ...scripts,
    "style-src 'self'",
    `img-src ${["'self'", 'data:', ...listPictureOrigins(config), ...logoOrigins(config)].join(' ')}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  return { 'content-security-policy': rules.join('; ') };
}

/** Where a logo is that is not served here. */
export const logoOrigins = ({ siteLogo }: Config): string[] =>
  siteLogo !== undefined && 'url' in siteLogo ? [new URL(siteLogo.url).origin] : [];
