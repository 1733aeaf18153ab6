// For front-end developers: the OpenAPI document, and the page that shows it and tries it out.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import { type Config, sitesOf } from '../config/config.ts';
import { hostKey } from '../config/setting-values.ts';
import { errorResponses, RequestError } from '../http/errors.ts';
import { JSON_TYPE, jsonHeaders } from '../http/headers.ts';
import { PAGE } from '../http/operations.ts';
import { type Asset, createAsset, sendAsset } from '../http/replies.ts';
import type { Awaitable } from '../stores/store.ts';
import { type ExampleUsers, forUsers } from './example-users.ts';
import { NotModified } from './lookup.ts';

const WEB = join(import.meta.dirname, '../web');
const SCRIPT = 'text/javascript; charset=utf-8';
const TYPES: Record<string, string> = {
  'docs.html': 'text/html; charset=utf-8',
  'docs/docs.css': 'text/css; charset=utf-8',
  'docs/docs.js': SCRIPT,
  'docs/markdown.js': SCRIPT,
  'docs/openapi.js': SCRIPT,
  'docs/tables.js': SCRIPT,
  'docs/try-it.js': SCRIPT,
  'explorer/dom.js': SCRIPT,
  'explorer/json.js': SCRIPT,
  'theme.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
};
const EXPLORER_LINK = /\s*<a href="\.\/">Explorer<\/a>/;
const REVALIDATED = 'no-cache';

const Page = { config: { operation: PAGE } };
const File = Type.Object({ file: Type.String() });
const pageSchema = {
  hide: true,
  response: { 200: Type.String(), 304: NotModified, ...errorResponses('ROUTE_NOT_FOUND') },
};

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
  const sites = sitesOf(config);
  const openapi = forUsers((users) =>
    once((host) =>
      createAsset(JSON.stringify(describe(host, users)), {
        ...jsonHeaders(config.corsOrigin),
        'content-type': JSON_TYPE,
        'cache-control': config.cacheControl,
      }),
    ),
  );
  app.get(
    '/openapi.json',
    {
      ...Page,
      schema: { hide: true, response: { 200: Type.Object({}), 304: NotModified, ...errorResponses() } },
    },
    async (request, reply) => {
      const document = openapi(await exampleUsers());
      const asked = hostKey(request.headers.host ?? '');
      return sendAsset(reply, document(sites.some(({ base }) => base.host === asked) ? asked : ''));
    },
  );
  if (!config.docs) return done();

  const headers = pageHeaders(sites.flatMap(({ base }) => base.origin ?? []));
  const file = once((name) => {
    const type = Object.hasOwn(TYPES, name) ? TYPES[name] : undefined;
    if (type === undefined) throw new RequestError('ROUTE_NOT_FOUND');
    const text = readFileSync(join(WEB, name), 'utf8');
    return createAsset(config.explorer ? text : text.replace(EXPLORER_LINK, ''), {
      ...headers,
      'content-type': type,
      'cache-control': REVALIDATED,
    });
  });
  const folder = (name: string) =>
    app.get(`/${name}/:file`, { ...Page, schema: { ...pageSchema, params: File } }, (request, reply) => {
      sendAsset(reply, file(`${name}/${request.params.file}`));
    });
  app.get(
    '/docs',
    { ...Page, schema: pageSchema },
    (_request, reply) => void sendAsset(reply, file('docs.html')),
  );
  folder('docs');
  // Files that the page shares with the explorer, when the explorer does not serve them.
  if (!config.explorer) {
    folder('explorer');
    for (const name of ['icon.svg', 'theme.css'])
      app.get(
        `/${name}`,
        { ...Page, schema: pageSchema },
        (_request, reply) => void sendAsset(reply, file(name)),
      );
  }
  done();
};

/** Creates each asset when it is first asked for, so that no start waits for it, and only once. */
export function once(create: (name: string) => Asset): (name: string) => Asset {
  const created = new Map<string, Asset>();
  return (name) => {
    const known = created.get(name);
    if (known !== undefined) return known;
    const asset = create(name);
    created.set(name, asset);
    return asset;
  };
}

/** The page connects to this server only, and to the hosts of the variants that have one of their own. */
const pageHeaders = (origins: readonly string[]) => ({
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': [
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'",
    ["connect-src 'self'", ...origins].join(' '),
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  ].join('; '),
});
