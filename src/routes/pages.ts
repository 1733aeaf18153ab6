// The explorer, the embeddable card, the files of the pages, and the sample pictures.
import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import type { Config } from '../config/config.ts';
import { pictureOriginsOf } from '../config/media.ts';
import { RequestError } from '../http/errors.ts';
import type { Headers } from '../http/headers.ts';
import { createAsset, sendAsset } from '../http/replies.ts';
import { samplePicture } from '../samples/pictures.ts';
import type { Awaitable } from '../stores/reader.ts';
import { STYLES as LOOKUPS, VARIANT_NAMES, VARIANTS } from '../variants.ts';
import type { ExplorerPage } from '../views/explorer-page.ts';
import { readScript, readStyles, readWeb, withoutComments } from '../views/web-files.ts';
import { type ExampleUsers, forUsers } from './example-users.ts';
import {
  CROSS_ORIGIN,
  EACH_TIME,
  fileRoute,
  GUARD,
  HTML,
  once,
  SAME_ORIGIN,
  SCRIPT,
  STYLE,
  SVG,
  serveFile,
  typed,
} from './web-file.ts';

const AN_HOUR = 'public, max-age=3600, stale-while-revalidate=86400';
const A_DAY = 'public, max-age=86400';

export const INERT = { 'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox" };

export const INERT_WITH_PICTURE = {
  'content-security-policy': `${INERT['content-security-policy']}; img-src data:`,
};

const Picture = Type.Object({ picture: Type.String() });

export interface PagesOptions {
  readonly config: Config;
  /** Undefined when the explorer is off. */
  readonly explorerPage: ExplorerPage | undefined;
  readonly exampleUsers: () => Awaitable<ExampleUsers>;
}

export const pages: FastifyPluginCallbackTypebox<PagesOptions> = (
  app,
  { config, explorerPage, exampleUsers },
  done,
) => {
  const readable = readableHeaders(config);
  serveFile(app, '/embed.js', () => cardScript(config), { ...readable, ...typed(SCRIPT, AN_HOUR) });
  if (explorerPage !== undefined) {
    const explorer = forUsers((users) => createAsset(explorerPage(users), explorerHeaders(config)));
    app.get('/', fileRoute, async (_request, reply) => sendAsset(reply, explorer(await exampleUsers())));
    const file = (url: string, content: () => string, type: string) =>
      serveFile(app, url, content, { ...SAME_ORIGIN, ...typed(type, EACH_TIME) });
    file('/explorer.js', () => readScript('explorer.js'), SCRIPT);
    file('/explorer.css', () => readStyles(...STYLES), STYLE);
  }
  if (config.explorer || config.docs)
    serveFile(app, '/icon.svg', () => readWeb('icon.svg'), { ...SAME_ORIGIN, ...typed(SVG, EACH_TIME) });
  if (config.databaseUrl === undefined) {
    const headers = { ...GUARD, ...INERT, ...readable, ...typed(SVG, A_DAY) };
    const picture = once((name) => createAsset(pictureOf(name), headers));
    const schema = { ...fileRoute.schema, params: Picture };
    app.get('/samples/:picture', { ...fileRoute, schema }, (request, reply) => {
      sendAsset(reply, picture(request.params.picture));
    });
  }
  done();
};

const STYLES = ['theme.css', 'explorer.css', 'explorer/profile.css', 'explorer/request-panel.css'];

function pictureOf(name: string): Buffer {
  const picture = samplePicture(name);
  if (picture === undefined) throw new RequestError('ROUTE_NOT_FOUND');
  return picture;
}

/** The card's script with the table of variants in it, and whether there are pages of people to link to. */
function cardScript({ explorer }: Config): string {
  const rows = VARIANT_NAMES.map((variant) => {
    const { style, family, collection } = VARIANTS[variant];
    const [item, total] = family === 'microblog' ? ['post', 'totalPost'] : ['shot', 'totalShots'];
    return [variant, { ...LOOKUPS[style], list: collection, item, total }];
  });
  const table = JSON.stringify(Object.fromEntries(rows));
  return withoutComments(readWeb('embed.js'))
    .replace('const VARIANTS = {};', () => `const VARIANTS = ${table};`)
    .replace('const PAGES = true;', `const PAGES = ${explorer};`);
}

/** For what other pages use: scripts are loaded as modules, which needs CORS, wherever the answers may be read. */
export const readableHeaders = ({ corsOrigin }: Config): Headers => ({
  ...(corsOrigin === '*' && { 'access-control-allow-origin': '*' }),
  ...CROSS_ORIGIN,
});

export const explorerHeaders = (config: Config): Headers => ({
  ...GUARD,
  ...typed(HTML, EACH_TIME),
  'content-security-policy': policy(config),
  'cross-origin-opener-policy': 'same-origin',
});

/** Scripts and requests: this server only. Pictures: this server, IMAGE_HOSTS and MEDIA_URL. */
function policy(config: Config): string {
  const pictures = ["'self'", 'data:', ...pictureOriginsOf(config)];
  const rules = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    `img-src ${pictures.join(' ')}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  return rules.join('; ');
}
