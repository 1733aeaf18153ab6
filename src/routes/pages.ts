// The explorer, the embeddable card and the sample users' pictures: read when first asked for, then answered from memory.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyPluginCallback } from 'fastify';
import { type Config, sitesOf } from '../config/config.ts';
import { type Answer, answerOf } from '../http/answer-cache.ts';
import type { Responder } from '../http/respond.ts';
import { readOnlyRoute } from '../server/router.ts';
import { PAGE } from '../telemetry/operations.ts';

export interface PagesOptions {
  readonly config: Config;
  readonly respond: Responder;
}

const WEB = join(import.meta.dirname, '../web');
const HTML = 'text/html; charset=utf-8';
const SCRIPT = 'text/javascript; charset=utf-8';
const STYLE = 'text/css; charset=utf-8';
const SVG = 'image/svg+xml';

/** What the explorer page is made of, under the names it asks for. */
const PARTS = [
  { file: 'explorer.css', type: STYLE },
  { file: 'explorer.js', type: SCRIPT },
  { file: 'explorer/exhibit.css', type: STYLE },
  { file: 'explorer/label.css', type: STYLE },
  { file: 'explorer/asking.js', type: SCRIPT },
  { file: 'explorer/dom.js', type: SCRIPT },
  { file: 'explorer/exhibit.js', type: SCRIPT },
  { file: 'explorer/json.js', type: SCRIPT },
  { file: 'explorer/label.js', type: SCRIPT },
  { file: 'explorer/memory.js', type: SCRIPT },
  { file: 'explorer/pictures.js', type: SCRIPT },
  { file: 'explorer/trouble.js', type: SCRIPT },
  { file: 'icon.svg', type: SVG },
];

/** Sample users whom the explorer offers. They are in both families. */
const PEOPLE = [
  { name: 'ada', picture: 'avatar-ada' },
  { name: 'Amara', picture: 'avatar-amara' },
  { name: 'yuki.type', picture: 'avatar-yuki-type' },
  { name: 'lucia_r', picture: 'avatar-lucia-r' },
  { name: '林晓', picture: 'avatar-linxiao' },
  { name: 'Zoë', picture: 'avatar-zoe' },
  { name: 'Mo Farouk', picture: 'avatar-mo-farouk' },
  { name: 'elodie', picture: 'avatar-elodie' },
  { name: 'quiet_reader', picture: '' },
];

// A new version shows at once: browsers ask each time, and mostly hear 304.
const EACH_TIME = 'no-cache';
const AN_HOUR = 'public, max-age=3600, stale-while-revalidate=86400';
const A_DAY = 'public, max-age=86400';

const GUARD = ['x-content-type-options', 'nosniff', 'referrer-policy', 'no-referrer'];
const INERT = ['content-security-policy', "default-src 'none'; style-src 'unsafe-inline'; sandbox"];
const OURS_ONLY = ['cross-origin-resource-policy', 'same-origin'];
const ANYBODYS = ['cross-origin-resource-policy', 'cross-origin'];

export const pages: FastifyPluginCallback<PagesOptions> = (app, { config, respond }, done) => {
  // Scripts are loaded as modules, and those need leave: the card may run wherever the answers may be read.
  const readable = config.corsOrigin === '*' ? ['access-control-allow-origin', '*'] : [];
  const samples = config.databaseUrl === undefined;

  const made = (content: Buffer | string, type: string, caching: string, more: readonly string[]) =>
    answerOf(Buffer.from(content), (body, etag) =>
      respond.headersOf(body, etag, { type, caching, more: [...GUARD, ...more] }),
    );

  const page = (
    url: string,
    content: () => Buffer | string,
    type: string,
    caching: string,
    more: readonly string[],
  ) => {
    let answer: Answer | undefined;
    readOnlyRoute(app, respond, {
      ...{ url, host: undefined, operation: PAGE },
      handler(request, reply) {
        answer ??= made(content(), type, caching, more);
        reply.hijack();
        respond.answer(request.raw, reply.raw, PAGE, answer);
      },
    });
  };

  page('/embed.js', () => read('embed.js'), SCRIPT, AN_HOUR, [...readable, ...ANYBODYS]);
  if (config.explorer) {
    page('/', () => explorerPage(config, samples), HTML, EACH_TIME, [
      ...policy(config),
      'cross-origin-opener-policy',
      'same-origin',
    ]);
    for (const { file, type } of PARTS) page(`/${file}`, () => read(file), type, EACH_TIME, OURS_ONLY);
  }
  if (samples)
    readOnlyRoute(app, respond, {
      ...{ url: '/samples/:picture', host: undefined, operation: PAGE },
      async handler(request, reply) {
        reply.hijack();
        const { picture } = request.params as { picture: string };
        const { samplePicture } = await import('../samples/pictures/draw.ts');
        const drawn = picture.endsWith('.svg') ? samplePicture(picture.slice(0, -'.svg'.length)) : undefined;
        if (drawn === undefined) respond.failure(request.raw, reply.raw, PAGE, 'ROUTE_NOT_FOUND');
        else
          respond.answer(
            request.raw,
            reply.raw,
            PAGE,
            made(drawn, SVG, A_DAY, [...INERT, ...readable, ...ANYBODYS]),
          );
      },
    });
  done();
};

const read = (file: string) => readFileSync(join(WEB, file));

/** The page, told in a data block what it cannot find out by itself. */
function explorerPage(config: Config, samples: boolean): string {
  const configuration = JSON.stringify({
    variants: sitesOf(config).map(({ variant: name, base: { path, origin = null } }) => ({
      ...{ name, path, origin },
    })),
    samples,
    people: samples
      ? PEOPLE.map(({ name, picture }) => ({
          name,
          avatar: picture && `https://vitrine.example/samples/${picture}.svg`,
        }))
      : [],
    imageHosts: config.imageHosts,
    docs: config.docs,
  });
  const block = /(<script id="configuration"[^>]*>)\s*null\s*(?=<\/script>)/;
  return read('explorer.html')
    .toString()
    .replace(block, (_, opening) => opening + configuration.replaceAll('<', '\\u003c'));
}

/** The page runs our own files, asks this server, and shows pictures from here and from where the setting allows. */
function policy({ imageHosts }: Config): string[] {
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
  return ['content-security-policy', rules.join('; ')];
}
