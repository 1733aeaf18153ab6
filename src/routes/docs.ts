// For front-end developers: the OpenAPI document, and the page that shows it and tries it out.
import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import { type Config, listMounts } from '../config/config.ts';
import { samplesUrlOf } from '../config/media.ts';
import { hostKey } from '../config/setting-values.ts';
import { JSON_TYPE, jsonHeaders, NotModified } from '../http/answer.ts';
import { errorResponses } from '../http/errors.ts';
import { PAGE } from '../http/observations.ts';
import { FIXTURE_PICTURES } from '../samples/people.ts';
import type { Awaitable } from '../stores/reader.ts';
import { createLook } from '../views/look.ts';
import { fill, markup } from '../views/markup.ts';
import { readScript, readStyles, readWeb } from '../views/web-files.ts';
import { type ExampleUsers, forUsers } from './example-users.ts';
import { logoOrigins } from './page-headers.ts';
import {
  createAsset,
  EACH_TIME,
  HTML,
  memoize,
  SAME_ORIGIN,
  SCRIPT,
  STYLE,
  sendAsset,
  serveFile,
  typed,
} from './web-file.ts';

const EXPLORER_LINK = /\s*<a href="\.\/">Explorer<\/a>/;

export interface DocsOptions {
  readonly config: Config;
  readonly exampleUsers: () => Awaitable<ExampleUsers>;
  /** The OpenAPI document as it is for one host. */
  readonly describe: (host: string, users: ExampleUsers) => object;
}

export const docs: FastifyPluginCallbackTypebox<DocsOptions> = (
  app,
  { config, exampleUsers, describe },
  done,
) => {
  const mounts = listMounts(config);
  const openapi = forUsers((users) =>
    memoize((host) =>
      createAsset(withPictures(JSON.stringify(describe(host, users)), config), {
        ...jsonHeaders(config.corsOrigin),
        'content-type': JSON_TYPE,
        'cache-control': config.cacheControl,
      }),
    ),
  );
  app.get(
    '/openapi.json',
    {
      config: { operation: PAGE },
      schema: { hide: true, response: { 200: Type.Object({}), 304: NotModified, ...errorResponses() } },
    },
    async (request, reply) => {
      const document = openapi(await exampleUsers());
      const asked = hostKey(request.headers.host ?? '');
      return sendAsset(reply, document(mounts.some(({ base }) => base.host === asked) ? asked : ''));
    },
  );
  if (!config.docs) return done();

  const look = createLook(config);
  const page = () =>
    fill(readWeb('docs.html').replace(config.explorer ? '' : EXPLORER_LINK, ''), {
      title: markup`<title>API reference · ${look.name}</title>`,
      icon: look.icon(''),
      brand: look.brand(
        '',
        'docs',
        markup`<h1 class="brand-name">${look.name} <span>API reference</span></h1>`,
      ),
      footer: look.footer(),
    });
  const policy = policyFor(
    config,
    mounts.flatMap(({ base }) => base.origin ?? []),
  );
  serveFile(app, '/docs', page, { ...policy, ...typed(HTML, EACH_TIME) });
  const file = (url: string, content: () => string, type: string) =>
    serveFile(app, url, content, { ...SAME_ORIGIN, ...typed(type, EACH_TIME) });
  file('/docs.js', () => readScript('docs/docs.js'), SCRIPT);
  file('/docs.css', () => look.paint(readStyles('theme.css', 'docs/docs.css')), STYLE);
  done();
};

/** The examples are sample users, whose pictures are here if they are served. */
const withPictures = (document: string, config: Config) =>
  config.databaseUrl === undefined ? document.replaceAll(FIXTURE_PICTURES, samplesUrlOf(config)) : document;

/** The page connects to this server only, and to the hosts of the variants that have one of their own. */
const policyFor = (config: Config, origins: readonly string[]) => ({
  'content-security-policy': [
    "default-src 'none'; script-src 'self'; style-src 'self'",
    ["img-src 'self'", ...logoOrigins(config)].join(' '),
    ["connect-src 'self'", ...origins].join(' '),
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  ].join('; '),
});
