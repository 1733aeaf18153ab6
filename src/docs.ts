// For those who build front-ends: the OpenAPI document, and the page that shows it and lets one try it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyPluginCallback } from 'fastify';
import { type Answer, answerOf } from './answers.ts';
import { type Config, hostKey } from './config.ts';
import { basesOf, documentFor, type OpenApi } from './openapi.ts';
import { PAGE } from './operations.ts';
import type { Responder } from './respond.ts';
import { readOnlyRoute } from './router.ts';

export interface DocsOptions {
  readonly config: Config;
  readonly respond: Responder;
}

const WEB = join(import.meta.dirname, 'web');
const SCRIPT = 'text/javascript; charset=utf-8';
const PAGE_FILES = {
  '/docs': ['docs.html', 'text/html; charset=utf-8'],
  '/docs.css': ['docs.css', 'text/css; charset=utf-8'],
  '/docs.js': ['docs.js', SCRIPT],
  '/docs/document.js': ['docs/document.js', SCRIPT],
  '/docs/prose.js': ['docs/prose.js', SCRIPT],
  '/docs/tables.js': ['docs/tables.js', SCRIPT],
  '/docs/try-it.js': ['docs/try-it.js', SCRIPT],
} as const;
/** The explorer's parts that the page uses as well: served from here when there is no explorer. */
const SHARED_FILES = {
  '/explorer/dom.js': ['explorer/dom.js', SCRIPT],
  '/explorer/json.js': ['explorer/json.js', SCRIPT],
  '/icon.svg': ['icon.svg', 'image/svg+xml'],
} as const;
const EXPLORER_LINK = /\s*<a href="\.\/">Explorer<\/a>/;

export const docs: FastifyPluginCallback<DocsOptions> = (app, { config, respond }, done) => {
  const bases = basesOf(config);
  const more = pageHeaders(bases.flatMap(({ base }) => base.origin ?? []));

  const route = (url: string, make: (host: string) => Answer) => {
    const made = new Map<string, Answer>();
    readOnlyRoute(app, respond, {
      url,
      host: undefined,
      operation: PAGE,
      handler(request, reply) {
        const asked = hostKey(request.headers.host ?? '');
        const host = bases.some(({ base }) => base.host === asked) ? asked : '';
        const answer = made.get(host) ?? make(host);
        made.set(host, answer);
        reply.hijack();
        respond.answer(request.raw, reply.raw, PAGE, answer);
      },
    });
  };

  // Made when it is first asked for: no start waits for it.
  route('/openapi.json', (host) => {
    const document = documentFor(host, app.swagger() as OpenApi, config);
    return answerOf(Buffer.from(JSON.stringify(document)), respond.headersOf);
  });
  if (!config.docs) return done();
  const files = config.explorer ? PAGE_FILES : { ...PAGE_FILES, ...SHARED_FILES };
  for (const [url, [file, type]] of Object.entries(files))
    route(url, () => {
      const text = readFileSync(join(WEB, file), 'utf8');
      const shown = config.explorer ? text : text.replace(EXPLORER_LINK, '');
      return answerOf(Buffer.from(shown), (body, etag) =>
        respond.headersOf(body, etag, { type, caching: 'no-cache', more }),
      );
    });
  done();
};

/** The page talks to nobody but this server, and to the hosts of the variants that have one of their own. */
const pageHeaders = (origins: readonly string[]) => [
  ...['x-content-type-options', 'nosniff', 'referrer-policy', 'no-referrer'],
  'content-security-policy',
  [
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:",
    ["connect-src 'self'", ...origins].join(' '),
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  ].join('; '),
];
