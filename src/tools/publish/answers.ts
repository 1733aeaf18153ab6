// The app in this process: what it answers, and with which headers.
import { extname } from 'node:path';
import { gzipSync } from 'node:zlib';
import { sendFresh } from '../../api/http/fresh.ts';
import { isWorthCompressing, JSON_TYPE, jsonHeaders } from '../../api/http/headers.ts';
import { PUBLISHED } from '../../config/addresses.ts';
import type { Config } from '../../config/settings.ts';
import { listFileAddresses } from '../../pages/page-files.ts';
import { MEDIA_TYPES } from '../../records/copy-files.ts';
import { computeEtag } from '../../records/etag.ts';
import { buildApp } from '../../server/app.ts';
import { createLog } from '../../server/telemetry/log.ts';
import { createTelemetry } from '../../server/telemetry/telemetry.ts';
import { OutputError } from '../../stores/output.ts';
import type { Awaitable, Reader } from '../../stores/reader.ts';
import { kindOf, type SampleEntry } from './manifest.ts';

export interface Content {
  readonly etag: string;
  readonly type: string;
  readonly body: Buffer | { readonly file: string; readonly sha256: string };
  /** The compressed body, where that is worth a file. */
  readonly pack?: () => Awaitable<Buffer | null | undefined>;
}

export type AnswerHeaders = Readonly<Record<string, string>>;

export interface HeaderTables {
  /** By folder, and for each file that is there once by its path. */
  readonly folders: ReadonlyMap<string, AnswerHeaders>;
  /** Those of an address where there is nothing. */
  readonly errors: AnswerHeaders;
  /** Content types by extension. */
  readonly types: ReadonlyMap<string, string>;
  /** Says which sample was not answered as it should be. */
  readonly fault?: string;
}

/** Asks for a file; `unchanged` if the ETag is still this one, undefined where there is nothing. */
export type Ask = (
  address: string,
  host: string | undefined,
  known?: string,
) => Promise<Content | 'unchanged' | undefined>;

export type Answers = Awaited<ReturnType<typeof openAnswers>>;

type App = ReturnType<typeof buildApp>['app'];

interface AnswersOptions {
  readonly config: Config;
  readonly platform: string;
}

/** The app that serves, without what protects a server from its clients. */
export async function openAnswers({ config, platform }: AnswersOptions, store: Reader) {
  // Without tags: files of many users share their headers.
  const quiet = { ...config, rateLimit: undefined, maxLoopDelay: 0, accessLog: false, purge: [] };
  const telemetry = createTelemetry(quiet, createLog({ logLevel: 'silent' }, { write() {} }));
  // A server shows pages without the names that they begin with while these cannot be read. A published page would stay so.
  let unread: { readonly error: unknown } | undefined;
  const firstUsers: Reader['firstUsers'] = async (...args) => {
    try {
      return await store.firstUsers(...args);
    } catch (error) {
      unread = { error };
      throw error;
    }
  };
  const { app } = buildApp({ config: quiet, store: { ...store, firstUsers }, telemetry });
  const addresses: string[] = listFileAddresses(quiet);
  app.addHook('onRoute', ({ method, url }) => {
    if (method === 'GET' && !/:|^\/(?:healthz|readyz)$/.test(url)) addresses.push(url);
  });
  addPlatformAddress(app, config, platform);
  const askWhole: Ask = async (...request) => {
    const content = await ask(app, ...request);
    if (unread !== undefined) throw unread.error;
    return content;
  };
  await app.ready();
  return {
    ask: askWhole,
    /** The headers of each kind, and the type of each extension, as one file of it has them. */
    readHeaders: (samples: readonly SampleEntry[]) => readHeaders(app, samples),
    siteFiles: await listSiteFiles(askWhole, addresses),
    [Symbol.asyncDispose]: async () => app.close(),
  };
}

/** Where a published site says that it is one, and on which platform. */
function addPlatformAddress(app: App, { corsOrigin }: Config, platform: string): void {
  const body = Buffer.from(JSON.stringify({ published: platform }));
  const headers = { ...jsonHeaders(corsOrigin), 'content-type': JSON_TYPE, etag: computeEtag(body) };
  app.get(PUBLISHED, (_request, reply) => sendFresh(reply, headers, { plain: () => body }));
}

const request = (app: App, url: string, host: string | null | undefined, headers = {}) =>
  app.inject({ url, headers: { host: host ?? 'localhost', ...headers } });

async function ask(app: App, address: string, host: string | undefined, known?: string) {
  const condition = known === undefined ? {} : { 'if-none-match': known };
  const { statusCode, headers, rawPayload } = await request(app, address, host, condition);
  if (statusCode === 304) return 'unchanged';
  if (statusCode >= 500) throw new OutputError(`${address} was answered with ${statusCode}: publish again`);
  if (statusCode !== 200) return undefined;
  const type = String(headers['content-type']);
  return { etag: String(headers.etag), type, body: rawPayload, pack: () => packText(type, rawPayload) };
}

const packText = (type: string, body: Buffer) =>
  isWorthCompressing(body, type) ? gzipSync(body, { chunkSize: body.length }) : undefined;

async function readHeaders(app: App, samples: readonly SampleEntry[]): Promise<HeaderTables> {
  const folders = new Map<string, AnswerHeaders>();
  const types = new Map<string, string>(Object.entries(MEDIA_TYPES));
  const faults: string[] = [];
  for (const sample of samples) {
    const { path, address, host } = sample;
    const { statusCode, headers } = await request(app, address, host);
    if (statusCode !== 200) faults.push(`${address} was answered with ${statusCode}: publish again`);
    folders.set(kindOf(sample), commonHeaders(headers));
    types.set(extname(path).slice(1), String(headers['content-type']));
  }
  // A server lets caches keep few of the pages of older items, because any number may stand in their address.
  const pages = folders.get('pages');
  if (pages !== undefined && folders.has('older')) folders.set('older', pages);
  const { headers } = await request(app, '/-', undefined);
  const [fault] = faults;
  return { folders, errors: commonHeaders(headers), types, ...(fault !== undefined && { fault }) };
}

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

const commonHeaders = (headers: object): AnswerHeaders =>
  Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => !OWN_HEADERS.includes(name))
      .map(([name, value]) => [name, String(value)]),
  );

const EXTENSIONS: Readonly<Record<string, string>> = {
  'text/html': '.html',
  'image/svg+xml': '.svg',
  'image/png': '.png',
  'image/jpeg': '.jpg',
  'image/webp': '.webp',
};

/** The files that are there once, the same for every host, with their addresses: all without parameters that are answered with 200. */
async function listSiteFiles(ask: Ask, addresses: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  for (const address of addresses) {
    const content = await ask(address, undefined);
    if (typeof content !== 'object') continue;
    const name = address === '/' ? '/index' : address;
    const type = content.type.split(';', 1)[0] ?? '';
    const extension = /\.[a-z]+$/.test(name) ? '' : (EXTENSIONS[type] ?? '');
    files.set(`site${name}${extension}`, address);
  }
  return files;
}
