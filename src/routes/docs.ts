// For front-end developers: the OpenAPI document, and the page that shows it and tries it out.
import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import { type Config, listMounts } from '../config/config.ts';
import { findSamplesUrl } from '../config/media.ts';
import { NotModified } from '../http/answer.ts';
import { errorResponses } from '../http/errors.ts';
import { caching, JSON_TYPE } from '../http/headers.ts';
import { PAGE } from '../http/observations.ts';
import { FIXTURE_PICTURES } from '../samples/people.ts';
import type { Awaitable } from '../stores/reader.ts';
import { createLook } from '../views/look.ts';
import { createReferencePage } from '../views/reference-page.ts';
import { GUIDES, llmsText, referenceText } from '../views/reference-text.ts';
import { readScript, readStyles } from '../views/web-files.ts';
import { type ExampleUsers, forUsers } from './example-users.ts';
import {
  type Asset,
  createAsset,
  EACH_TIME,
  fileRoute,
  HTML,
  logoOrigins,
  MARKDOWN,
  SCRIPT,
  STYLE,
  sendAsset,
  serveFile,
  TEXT,
  typed,
} from './web-file.ts';

interface DocsOptions {
  readonly config: Config;
  readonly exampleUsers: () => Awaitable<ExampleUsers>;
  /** The OpenAPI document. */
  readonly describe: (users: ExampleUsers) => object;
}

/** The OpenAPI document. */
export const openapi: FastifyPluginCallbackTypebox<DocsOptions> = (app, options, done) => {
  const { config, exampleUsers } = options;
  const headers = { 'content-type': JSON_TYPE, ...caching(config) };
  const document = forUsers((users) => createAsset(textFor(users, options), headers));
  app.get(
    '/openapi.json',
    {
      config: { operation: PAGE },
      schema: { hide: true, response: { 200: Type.Object({}), 304: NotModified, ...errorResponses() } },
    },
    async (_request, reply) => sendAsset(reply, document(await exampleUsers())),
  );
  done();
};

/** The reference and the guides, as pages. */
export const docs: FastifyPluginCallbackTypebox<DocsOptions> = (app, options, done) => {
  const { config, exampleUsers } = options;
  const mounts = listMounts(config);
  const render = createReferencePage(config);
  const origins = mounts.flatMap(({ base }) => base.origin ?? []);
  const headers = { ...policyFor(config, origins), ...typed(HTML, EACH_TIME) };
  const pages = [
    ['/docs', render, headers],
    ['/docs.md', (document: object) => referenceText(config, document), typed(MARKDOWN, EACH_TIME)],
    ['/llms.txt', (document: object) => llmsText(config, document), typed(TEXT, EACH_TIME)],
  ] as const;
  for (const [url, create, headers] of pages) {
    const page = forUsers((users) => createAsset(create(JSON.parse(textFor(users, options))), headers));
    app.get(url, fileRoute, async (_request, reply) => sendAsset(reply, page(await exampleUsers())));
  }

  // The renderer of Markdown is loaded when it is first needed.
  for (const guide of GUIDES) {
    let asset: Asset | undefined;
    app.get(`/docs/${guide}`, fileRoute, async (_request, reply) => {
      const { guidePage } = await import('../views/guide-page.ts');
      return sendAsset(reply, (asset ??= createAsset(guidePage(config, guide), headers)));
    });
  }

  const file = (url: string, content: () => string, type: string) =>
    serveFile(app, url, content, typed(type, EACH_TIME));
  file('/docs.js', () => readScript('docs/docs.js'), SCRIPT);
  const { paint } = createLook(config);
  file('/docs.css', () => paint(readStyles('theme.css', 'docs/docs.css')), STYLE);
  done();
};

const textFor = (users: ExampleUsers, { config, describe }: DocsOptions) =>
  withPictures(JSON.stringify(describe(users)), config);

/** The examples are sample users; their pictures are here if they are served. */
const withPictures = (document: string, config: Config) =>
  config.databaseUrl === undefined ? document.replaceAll(FIXTURE_PICTURES, findSamplesUrl(config)) : document;

/** The page connects to this server only, and to the hosts of the variants that have one of their own. */
const policyFor = (config: Config, origins: readonly string[]) => ({
  'content-security-policy': [
    "default-src 'none'; script-src 'self'; style-src 'self'",
    ["img-src 'self'", ...logoOrigins(config)].join(' '),
    ["connect-src 'self'", ...origins].join(' '),
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  ].join('; '),
});
