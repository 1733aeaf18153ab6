// The app in this process: what it answers, and with which headers. Lookups are asked of the store, which is faster.
import { extname } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Config } from '../config/config.ts';
import { JSON_TYPE, jsonHeaders, matches, sendNotModified } from '../http/answer.ts';
import { PUBLISHED } from '../http/observations.ts';
import { computeEtag } from '../records/etag.ts';
import { MEDIA_TYPES } from '../records/media-types.ts';
import { buildApp } from '../server/app.ts';
import type { Answer, Awaitable, Reader } from '../stores/reader.ts';
import { createLog } from '../telemetry/log.ts';
import { createTelemetry } from '../telemetry/telemetry.ts';
import type { Entry } from './manifest.ts';
import { listHosts, type SiteFile, siteFolder } from './targets.ts';

type App = ReturnType<typeof buildApp>['app'];

export interface Site {
  readonly app: App;
  readonly ask: Ask;
  readonly files: ReadonlyMap<string, SiteFile>;
}

/** Files of many users share their headers. */
const NO_TAGS = { cacheTagHeader: undefined, purge: [] };

/** The app that serves, without what protects a server from its clients. */
export async function createSite(config: Config, host: string, store: Reader): Promise<Site> {
  const quiet = { ...config, rateLimit: undefined, maxLoopDelay: 0, accessLog: false, ...NO_TAGS };
  const telemetry = createTelemetry(quiet, createLog({ logLevel: 'silent' }, { write() {} }));
  const { app } = buildApp({ config: quiet, store, telemetry });
  const addresses: string[] = [];
  app.addHook('onRoute', ({ method, url }) => {
    if (method === 'GET' && !/:|^\/(?:healthz|readyz)$/.test(url)) addresses.push(url);
  });
  const published = JSON.stringify({ published: host });
  const headers = { ...jsonHeaders(config.corsOrigin), etag: computeEtag(published) };
  app.get(PUBLISHED, (request, reply) =>
    matches(request.headers['if-none-match'], headers.etag)
      ? sendNotModified(reply, headers)
      : reply.headers(headers).type(JSON_TYPE).send(published),
  );
  await app.ready();
  return { app, ask: createAsk(app), files: await listSiteFiles(app, addresses, listHosts(config)) };
}

export interface Content {
  readonly etag: string;
  readonly type: string;
  readonly body: Buffer | { readonly file: string; readonly sha256: string };
  /** The compressed body, where that is worth a file. */
  readonly pack?: () => Awaitable<Buffer | null | undefined>;
}

/** What the store found, as a file; `same` for a client that has it. */
export function toContent(
  answer: Answer | undefined,
  pack: Content['pack'] & {},
): Content | 'same' | undefined {
  if (answer === undefined) return undefined;
  const { etag, body } = answer;
  return body === null ? 'same' : { etag, type: JSON_TYPE, body, pack };
}

const WORTH_COMPRESSING = 1024;

/** The server compresses some of these itself, and leaves others to a proxy. */
const packText = (type: string, body: Buffer) => () =>
  body.length > WORTH_COMPRESSING && !/^image\/(?!svg)/.test(type) ? gzipSync(body) : undefined;

/** Not what a folder of files has in common. */
const OWN_HEADERS = [
  'content-type',
  'etag',
  'content-length',
  'content-encoding',
  'date',
  'connection',
  'keep-alive',
  'vary',
  'link',
];

export type Headers = Readonly<Record<string, string>>;

export interface HeaderTables {
  /** By folder, and for each file that is there once by its path. */
  readonly folders: ReadonlyMap<string, Headers>;
  /** Content types by extension. */
  readonly types: ReadonlyMap<string, string>;
}

const askApp = (app: App, url: string, host: string | null | undefined, headers = {}) =>
  app.inject({ url, headers: { host: host ?? 'localhost', ...headers } });

export type Ask = ReturnType<typeof createAsk>;

/** Asks for a file; `same` if the ETag is still this one, undefined where there is nothing. */
export const createAsk =
  (app: App) =>
  async (
    address: string,
    host: string | undefined,
    known?: string,
  ): Promise<Content | 'same' | undefined> => {
    const condition = known === undefined ? {} : { 'if-none-match': known };
    const { statusCode, headers, rawPayload } = await askApp(app, address, host, condition);
    if (statusCode === 304) return 'same';
    if (statusCode >= 500) throw new Error(`${address} was answered with ${statusCode}`);
    if (statusCode !== 200) return undefined;
    const type = String(headers['content-type']);
    return { etag: String(headers.etag), type, body: rawPayload, pack: packText(type, rawPayload) };
  };

/** The headers of each kind, and the type of each extension, as one file of it has them. */
export async function readHeaders(app: App, samples: readonly Entry[]): Promise<HeaderTables> {
  const folders = new Map<string, Headers>();
  const types = new Map<string, string>(Object.entries(MEDIA_TYPES));
  const unknown = { kind: 'errors', path: '', address: '/-', host: null };
  for (const { kind, path, address, host } of [...samples, unknown]) {
    const { headers } = await askApp(app, address as string, host);
    const kept = Object.entries(headers).filter(([name]) => !OWN_HEADERS.includes(name));
    folders.set(kind, Object.fromEntries(kept.map(([name, value]) => [name, String(value)])));
    types.set(extname(path).slice(1), String(headers['content-type']));
  }
  return { folders, types };
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  'text/html': '.html',
  'image/svg+xml': '.svg',
  'image/png': '.png',
  'image/jpeg': '.jpg',
  'image/webp': '.webp',
};

/** The files that are there once: whatever addresses without parameters answer with 200. */
async function listSiteFiles(app: App, addresses: readonly string[], hosts: readonly (string | undefined)[]) {
  const files = new Map<string, SiteFile>();
  for (const host of hosts)
    for (const address of addresses) {
      const { statusCode, headers } = await askApp(app, address, host);
      if (statusCode !== 200) continue;
      const name = address === '/' ? '/index' : address;
      const type = String(headers['content-type']).split(';')[0] as string;
      const extension = /\.[a-z]+$/.test(name) ? '' : (EXTENSIONS[type] ?? '');
      files.set(siteFolder(host) + name + extension, { host, address });
    }
  return files;
}
