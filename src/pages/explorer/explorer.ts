// The explorer, the embeddable card, the files of the pages, and the sample pictures.

import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import { createAsset, memoize, sendAsset } from '../../api/http/assets.ts';
import { RequestError } from '../../api/http/errors.ts';
import { INERT } from '../../api/http/headers.ts';
import { type ExampleUsers, forUsers } from '../../api/openapi/example-users.ts';
import { findSamplesUrl } from '../../config/addresses.ts';
import { servesSamples } from '../../config/database-url.ts';
import type { Config } from '../../config/settings.ts';
import type { Awaitable, Reader } from '../../stores/reader.ts';
import { STYLES as LOOKUPS, VARIANT_NAMES, VARIANTS } from '../../variants.ts';
import { hasNoData } from '../error-pages.ts';
import { findLanguage } from '../languages/language.ts';
import { createLook } from '../look.ts';
import { addPageFiles } from '../page-files.ts';
import {
  EACH_TIME,
  explorerHeaders,
  fileRoute,
  readableHeaders,
  SCRIPT,
  SVG,
  serveFile,
  TEXT,
  typed,
} from '../page-headers.ts';
import { SITE_PICTURE } from '../people/page-head.ts';
import { addIndexes } from '../people/person-pages.ts';
import { readScript, readWeb, readWebBytes } from '../web-files.ts';
import { createExplorerPage } from './explorer-page.ts';
import { drawPicture, samplePicture } from './sample-pictures.ts';

const AN_HOUR = 'public, max-age=3600, stale-while-revalidate=86400';
const A_DAY = 'public, max-age=86400';

const Picture = Type.Object({ picture: Type.String() });

interface ExplorerOptions {
  readonly config: Config;
  readonly store: Reader;
  readonly exampleUsers: () => Awaitable<ExampleUsers>;
}

export const explorer: FastifyPluginCallbackTypebox<ExplorerOptions> = (
  app,
  { config, store, exampleUsers },
  done,
) => {
  const readable = readableHeaders(config);
  const { paint } = createLook(config);
  serveFile(app, '/embed.js', () => paint(cardScript(config)), { ...readable, ...typed(SCRIPT, AN_HOUR) });
  for (const name of ['embed.d.ts', 'types.d.ts'])
    serveFile(app, `/${name}`, () => readWeb(name), { ...readable, ...typed(TEXT, AN_HOUR) });
  const file = (url: string, content: () => string | Buffer, type: string) =>
    serveFile(app, url, content, typed(type, EACH_TIME));
  if (config.explorer) {
    const render = createExplorerPage(config);
    let faults: readonly string[] | undefined;
    const create = () =>
      forUsers((users) => createAsset(render(users, hasNoData(store)), explorerHeaders(config)));
    let pageFor = create();
    /** Kept until the data changes, or a save of a served file is refused. */
    const page = (users: ExampleUsers) => {
      if (faults !== config.filesState?.faults) pageFor = create();
      faults = config.filesState?.faults;
      return pageFor(users);
    };
    for (const url of config.directory ? ['/explore'] : ['/', '/explore'])
      app.get(url, fileRoute, async (_request, reply) => sendAsset(reply, page(await exampleUsers())));
    addPageFiles(app, config);
    if (!config.directory) addIndexes(app, config, exampleUsers);
    const { siteLogo } = config;
    // Browsers ask for /favicon.ico where they show JSON or a picture.
    for (const url of ['/icon.svg', '/favicon.ico']) file(url, () => paint(readWeb('icon.svg')), SVG);
    // icon.svg with square corners, drawn with 180 pixels.
    file('/apple-touch-icon.png', () => readWebBytes('apple-touch-icon.png'), 'image/png');
    const preview = { ...readable, ...typed('image/png', A_DAY) };
    serveFile(app, `/${SITE_PICTURE}`, () => readWebBytes(SITE_PICTURE), preview);
    if (siteLogo !== undefined && 'bytes' in siteLogo)
      serveFile(app, '/logo', () => siteLogo.bytes, {
        ...INERT,
        ...typed(siteLogo.type, EACH_TIME),
      });
  }
  if (servesSamples(config) || config.files !== undefined) {
    const headers = { ...INERT, ...readable, ...typed(SVG, A_DAY) };
    const picture = memoize((name: string) => createAsset(readSample(name), headers));
    const schema = { ...fileRoute.schema, params: Picture };
    app.get('/samples/:picture', { ...fileRoute, schema }, (request, reply) => {
      const { picture: name } = request.params;
      const drawing = drawPicture(name);
      sendAsset(reply, drawing === undefined ? picture(name) : createAsset(drawing, headers));
    });
  }
  done();
};

function readSample(name: string): Buffer {
  const picture = samplePicture(name);
  if (picture === undefined) throw new RequestError('ROUTE_NOT_FOUND');
  return picture;
}

/** The card's script with the table of variants in it, and whether there are pages of people to link to. */
function cardScript(config: Config): string {
  // A space never matches: no address counts as that of a sample.
  const samples = servesSamples(config) ? findSamplesUrl(config) : ' ';
  const rows = VARIANT_NAMES.map((variant) => {
    const { style, family, collection } = VARIANTS[variant];
    const [item, total] = family === 'microblog' ? ['post', 'totalPost'] : ['shot', 'totalShots'];
    return [variant, { ...LOOKUPS[style], list: collection, item, total }];
  });
  const table = JSON.stringify(Object.fromEntries(rows));
  return readScript('embed.js')
    .replace('const VARIANTS = {};', () => `const VARIANTS = ${table};`)
    .replace('const WORDS = {};', () => `const WORDS = ${JSON.stringify(cardWords(config))};`)
    .replace('const PAGES = true;', `const PAGES = ${config.explorer};`)
    .replace("const SAMPLES = ' ';", () => `const SAMPLES = ${JSON.stringify(samples)};`);
}

/** What the card says in the language of the site. */
function cardWords(config: Config) {
  const { verified, none, all, latest, counts, untitled, kinds } = findLanguage(config).words;
  return { verified, none, all, latest, counts, untitled, kinds };
}
