// The explorer, the embeddable card and the sample pictures: files that are read once, on first use.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import { type Config, sitesOf } from '../config/config.ts';
import { errorResponses, RequestError } from '../http/errors.ts';
import type { Headers } from '../http/headers.ts';
import { PAGE } from '../http/operations.ts';
import { createAsset, sendAsset } from '../http/replies.ts';
import { SAMPLE_PEOPLE } from '../samples/people.ts';
import { samplePicture } from '../samples/pictures.ts';
import type { Awaitable } from '../stores/store.ts';
import { VARIANT_NAMES, VARIANTS } from '../variants.ts';
import { once } from './docs.ts';
import { type ExampleUsers, forUsers } from './example-users.ts';
import { NotModified } from './lookup.ts';

const WEB = join(import.meta.dirname, '../web');
const HTML = 'text/html; charset=utf-8';
const SCRIPT = 'text/javascript; charset=utf-8';
const STYLE = 'text/css; charset=utf-8';
const SVG = 'image/svg+xml';

/** The files of the explorer page. */
const PARTS = [
  { file: 'theme.css', type: STYLE },
  { file: 'explorer.css', type: STYLE },
  { file: 'explorer.js', type: SCRIPT },
  { file: 'explorer/profile.css', type: STYLE },
  { file: 'explorer/request-panel.css', type: STYLE },
  { file: 'explorer/api.js', type: SCRIPT },
  { file: 'explorer/card-section.js', type: SCRIPT },
  { file: 'explorer/dom.js', type: SCRIPT },
  { file: 'explorer/items.js', type: SCRIPT },
  { file: 'explorer/json.js', type: SCRIPT },
  { file: 'explorer/notices.js', type: SCRIPT },
  { file: 'explorer/people.js', type: SCRIPT },
  { file: 'explorer/pictures.js', type: SCRIPT },
  { file: 'explorer/profile.js', type: SCRIPT },
  { file: 'explorer/recent.js', type: SCRIPT },
  { file: 'explorer/request-panel.js', type: SCRIPT },
  { file: 'explorer/state.js', type: SCRIPT },
  { file: 'icon.svg', type: SVG },
];

// Browsers revalidate each time, so a new version shows at once.
const EACH_TIME = 'no-cache';
const AN_HOUR = 'public, max-age=3600, stale-while-revalidate=86400';
const A_DAY = 'public, max-age=86400';

const GUARD = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' };
const INERT = { 'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox" };
const SAME_ORIGIN = { 'cross-origin-resource-policy': 'same-origin' };
const CROSS_ORIGIN = { 'cross-origin-resource-policy': 'cross-origin' };

const options = {
  config: { operation: PAGE },
  schema: {
    hide: true,
    response: { 200: Type.String(), 304: NotModified, ...errorResponses('ROUTE_NOT_FOUND') },
  },
};
const Picture = Type.Object({ picture: Type.String() });

export interface PagesOptions {
  readonly config: Config;
  readonly exampleUsers: () => Awaitable<ExampleUsers>;
}

export const pages: FastifyPluginCallbackTypebox<PagesOptions> = (app, { config, exampleUsers }, done) => {
  // Scripts are loaded as modules, which needs CORS: the card may run wherever the answers may be read.
  const readable: Headers = config.corsOrigin === '*' ? { 'access-control-allow-origin': '*' } : {};
  const samples = config.databaseUrl === undefined;

  const page = (url: string, content: () => Buffer | string, headers: Headers) => {
    const asset = once(() => createAsset(content(), { ...GUARD, ...headers }));
    app.get(url, options, (_request, reply) => void sendAsset(reply, asset(url)));
  };

  page('/embed.js', cardScript, {
    ...readable,
    ...CROSS_ORIGIN,
    ...typed(SCRIPT, AN_HOUR),
  });
  if (config.explorer) {
    const headers = {
      ...GUARD,
      ...typed(HTML, EACH_TIME),
      'content-security-policy': policy(config),
      'cross-origin-opener-policy': 'same-origin',
    };
    const explorer = forUsers((users) => createAsset(explorerPage(config, users), headers));
    app.get('/', options, async (_request, reply) => sendAsset(reply, explorer(await exampleUsers())));
    for (const { file, type } of PARTS)
      page(`/${file}`, () => read(file), { ...SAME_ORIGIN, ...typed(type, EACH_TIME) });
  }
  if (samples) {
    const picture = once((name) =>
      createAsset(pictureOf(name), {
        ...GUARD,
        ...INERT,
        ...readable,
        ...CROSS_ORIGIN,
        ...typed(SVG, A_DAY),
      }),
    );
    app.get(
      '/samples/:picture',
      { ...options, schema: { ...options.schema, params: Picture } },
      (request, reply) => {
        sendAsset(reply, picture(request.params.picture));
      },
    );
  }
  done();
};

const typed = (type: string, caching: string): Headers => ({
  'content-type': type,
  'cache-control': caching,
});

function pictureOf(name: string): Buffer {
  const picture = samplePicture(name);
  if (picture === undefined) throw new RequestError('ROUTE_NOT_FOUND');
  return picture;
}

const read = (file: string) => readFileSync(join(WEB, file));

/** The card's script with the table of variants in it. */
function cardScript(): string {
  const rows = VARIANT_NAMES.map((variant) => {
    const { style, family, collection } = VARIANTS[variant];
    const [item, total] = family === 'microblog' ? ['post', 'totalPost'] : ['shot', 'totalShots'];
    return [variant, { query: style === 'query', list: collection, item, total }];
  });
  const table = JSON.stringify(Object.fromEntries(rows));
  return read('embed.js')
    .toString()
    .replace('const VARIANTS = {};', () => `const VARIANTS = ${table};`);
}

/** The page with its configuration, which the script reads from a data block. */
function explorerPage(config: Config, users: ExampleUsers): string {
  const samples = config.databaseUrl === undefined;
  const people = (names: readonly string[]) =>
    names.map((name) => ({ name, avatar: (samples && SAMPLE_PEOPLE.get(name)) || '' }));
  const configuration = JSON.stringify({
    variants: sitesOf(config).map(({ variant: name, base: { path, origin = null } }) => {
      const { style, family, collection } = VARIANTS[name];
      return { name, path, origin, style, family, collection };
    }),
    samples,
    people: { microblog: people(users.microblog), portfolio: people(users.portfolio) },
    imageHosts: config.imageHosts,
    docs: config.docs,
  });
  const block = /(<script id="configuration"[^>]*>)\s*null\s*(?=<\/script>)/;
  return read('explorer.html')
    .toString()
    .replace(block, (_, opening) => opening + configuration.replaceAll('<', '\\u003c'));
}

/** Scripts and requests: this server only. Pictures: this server and IMAGE_HOSTS. */
function policy({ imageHosts }: Config): string {
  const pictures = ["'self'", 'data:', ...(imageHosts === '*' ? ['*'] : imageHosts)];
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
