// The scripts and styles of pages. Their addresses have a hash of what is in them, so browsers keep them for a year.

import { extname } from 'node:path';
import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { type Asset, createAsset, memoize, sendAsset } from '../api/http/assets.ts';
import { A_YEAR } from '../api/http/headers.ts';
import type { Config } from '../config/settings.ts';
import { hasKey, keysOf } from '../records/tables.ts';
import { createLook } from './look.ts';
import { EACH_TIME, fileRoute, SCRIPT, STYLE, typed } from './page-headers.ts';
import { ratioStyles } from './ratios.ts';
import { hueStyles, readScript, readStyles } from './web-files.ts';

const personStyles = (...names: string[]) =>
  readStyles('theme.css', 'person.css', ...names) + hueStyles() + ratioStyles();

const FILES = {
  'person.css': () => personStyles(),
  'explorer.css': () => personStyles('explorer.css', 'explorer/request-panel.css'),
  'docs.css': () => readStyles('theme.css', 'docs/docs.css'),
  'explorer.js': () => readScript('explorer.js'),
  'rehearsal.js': () => readScript('rehearsal.js'),
  'docs.js': () => readScript('docs/docs.js'),
  'follow.js': () => readScript('follow.js'),
};
export type PageFile = keyof typeof FILES;
const NAMES = keysOf(FILES);

const findType = (name: PageFile) => (name.endsWith('.css') ? STYLE : SCRIPT);

const created = new WeakMap<Config, (name: PageFile) => Asset>();

/** A file is read when the first page with it is made: no start waits for it. */
function load(config: Config, name: PageFile): Asset {
  let find = created.get(config);
  if (find === undefined) {
    const { paint } = createLook(config);
    find = memoize((name: PageFile) => createAsset(paint(FILES[name]()), typed(findType(name), A_YEAR)));
    created.set(config, find);
  }
  return find(name);
}

const HASH_LENGTH = 12;

/** The address of a file below the server's root. */
export function fileAddress(config: Config, name: PageFile): string {
  const hash = Buffer.from(load(config, name).headers.etag, 'base64url')
    .toString('hex')
    .slice(0, HASH_LENGTH);
  const type = extname(name);
  return `${name.slice(0, -type.length)}.${hash}${type}`;
}

/** A template with the addresses of the files in place of their names. */
export const withAddresses = (config: Config, template: string): string =>
  template.replace(/(?<= (?:href|src)=")[a-z]+\.(?:css|js)(?=")/g, (name) =>
    hasKey(FILES, name) ? fileAddress(config, name) : name,
  );

const listPageFiles = ({ rehearsal }: Config) =>
  NAMES.filter((name) => name !== 'rehearsal.js' || rehearsal !== undefined);

/** The addresses of all files. */
export const listFileAddresses = (config: Config): string[] =>
  config.explorer ? listPageFiles(config).map((name) => `/${fileAddress(config, name)}`) : [];

const Params = Type.Object({ hash: Type.Optional(Type.String()) });

/** A page that a cache has kept may name the file by another hash, or by none: it gets what there is now. */
export function addPageFiles(app: FastifyInstance, config: Config): void {
  const route = { ...fileRoute, schema: { ...fileRoute.schema, params: Params } };
  for (const name of listPageFiles(config)) {
    const type = extname(name);
    const stem = name.slice(0, -type.length);
    for (const url of [`/${name}`, `/${stem}.:hash([0-9a-f]{${HASH_LENGTH}})${type}`])
      app.get(url, route, (request, reply) => {
        const { headers, ...asset } = load(config, name);
        const isCurrent = request.url.startsWith(`/${fileAddress(config, name)}`);
        sendAsset(reply, {
          ...asset,
          headers: isCurrent ? headers : { ...headers, 'cache-control': EACH_TIME },
        });
      });
  }
}
