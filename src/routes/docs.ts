// For those who build front-ends: the OpenAPI document, and the page that shows it and lets one try it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyPluginCallback, FastifyRequest } from 'fastify';
import { type Config, sitesOf } from '../config/config.ts';
import { hostKey } from '../config/setting-values.ts';
import { type Answer, answerOf } from '../http/answer-cache.ts';
import type { Responder } from '../http/respond.ts';
import type { OpenApi } from '../openapi/document.ts';
import { readOnlyRoute } from '../server/router.ts';
import type { Awaitable } from '../stores/store.ts';
import { PAGE } from '../telemetry/operations.ts';

export interface DocsOptions {
  readonly config: Config;
  readonly respond: Responder;
  /** Works out the OpenAPI document of the routes. */
  readonly describe: () => Promise<OpenApi>;
}

const WEB = join(import.meta.dirname, '../web');
const SCRIPT = 'text/javascript; charset=utf-8';
const TYPES: Record<string, string> = {
  'docs.html': 'text/html; charset=utf-8',
  'docs/docs.css': 'text/css; charset=utf-8',
  'docs/docs.js': SCRIPT,
  'docs/document.js': SCRIPT,
  'docs/prose.js': SCRIPT,
  'docs/tables.js': SCRIPT,
  'docs/try-it.js': SCRIPT,
  'explorer/dom.js': SCRIPT,
  'explorer/json.js': SCRIPT,
  'icon.svg': 'image/svg+xml',
};
const EXPLORER_LINK = /\s*<a href="\.\/">Explorer<\/a>/;

export const docs: FastifyPluginCallback<DocsOptions> = (app, { config, respond, describe }, done) => {
  const sites = sitesOf(config);
  const more = pageHeaders(sites.flatMap(({ base }) => base.origin ?? []));
  const made = new Map<string, Answer>();

  /** Each answer is made when it is first asked for: no start waits for it. */
  const route = (
    url: string,
    nameOf: (request: FastifyRequest) => string | undefined,
    make: (name: string) => Awaitable<Answer>,
  ) =>
    readOnlyRoute(app, respond, {
      ...{ url, host: undefined, operation: PAGE },
      async handler(request, reply) {
        const name = nameOf(request);
        const answer = name === undefined ? undefined : (made.get(name) ?? (await make(name)));
        reply.hijack();
        if (name === undefined || answer === undefined)
          return respond.failure(request.raw, reply.raw, PAGE, 'ROUTE_NOT_FOUND');
        made.set(name, answer);
        respond.answer(request.raw, reply.raw, PAGE, answer);
      },
    });

  const hostOf = ({ headers }: FastifyRequest) => {
    const asked = hostKey(headers.host ?? '');
    return sites.some(({ base }) => base.host === asked) ? asked : '';
  };
  const openapi = async (host: string) => {
    const { documentFor } = await import('../openapi/document.ts');
    const document = documentFor(host, await describe(), config);
    return answerOf(Buffer.from(JSON.stringify(document)), respond.headersOf);
  };
  route(
    '/openapi.json',
    (request) => `@${hostOf(request)}`,
    (name) => openapi(name.slice(1)),
  );
  if (!config.docs) return done();

  const file = (name: string) => {
    const text = readFileSync(join(WEB, name), 'utf8');
    const shown = config.explorer ? text : text.replace(EXPLORER_LINK, '');
    return answerOf(Buffer.from(shown), (body, etag) =>
      respond.headersOf(body, etag, { type: TYPES[name] as string, caching: 'no-cache', more }),
    );
  };
  const within = (folder: string) => (request: FastifyRequest) => {
    const name = `${folder}/${(request.params as { file: string }).file}`;
    return Object.hasOwn(TYPES, name) ? name : undefined;
  };
  route('/docs', () => 'docs.html', file);
  route('/docs/:file', within('docs'), file);
  // The explorer's parts that the page uses as well, when there is no explorer to bring them.
  if (!config.explorer) {
    route('/explorer/:file', within('explorer'), file);
    route('/icon.svg', () => 'icon.svg', file);
  }
  done();
};

/** The page talks to nobody but this server, and to the hosts of the variants that have one of their own. */
const pageHeaders = (origins: readonly string[]) => [
  ...['x-content-type-options', 'nosniff', 'referrer-policy', 'no-referrer'],
  'content-security-policy',
  [
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'",
    ["connect-src 'self'", ...origins].join(' '),
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  ].join('; '),
];
