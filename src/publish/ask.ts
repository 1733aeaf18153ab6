// Asks the app for answers in its process, and the store for the lookups, which are most of them.
import { extname } from 'node:path';
import { gzipSync } from 'node:zlib';
import { JSON_TYPE } from '../http/answer.ts';
import { MEDIA_TYPES } from '../records/media-types.ts';
import type { buildApp } from '../server/app.ts';
import type { Answer, Awaitable } from '../stores/reader.ts';
import { type SiteFile, siteFolder } from './targets.ts';

type App = Pick<ReturnType<typeof buildApp>['app'], 'inject'>;

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

export type Asker = ReturnType<typeof createAsker>;

export function createAsker(app: App) {
  const addresses = new Map<
    string,
    { folder: string; path: string; address: string; host: string | undefined }
  >();

  async function inject(address: string, host: string | undefined, known?: string) {
    const headers = { host: host ?? 'localhost', ...(known !== undefined && { 'if-none-match': known }) };
    return await app.inject({ url: address, headers });
  }

  return {
    async ask(
      address: string,
      host: string | undefined,
      known?: string,
    ): Promise<Content | 'same' | undefined> {
      const { statusCode, headers, rawPayload } = await inject(address, host, known);
      if (statusCode === 304) return 'same';
      if (statusCode >= 500) throw new Error(`${address} was answered with ${statusCode}`);
      if (statusCode !== 200) return undefined;
      const type = String(headers['content-type']);
      return { etag: String(headers.etag), type, body: rawPayload, pack: packText(type, rawPayload) };
    },

    /** Whether no address is noted for the folder and the extension of this file. */
    isNew: (path: string) => !addresses.has(`${path.slice(0, path.indexOf('/'))} ${extname(path)}`),

    /** An address whose answer has the headers of a folder, and the type of an extension. */
    note(folder: string, path: string, address: string, host: string | undefined): void {
      const key = `${folder} ${extname(path)}`;
      if (!addresses.has(key)) addresses.set(key, { folder, path, address, host });
    },

    async readHeaders(): Promise<HeaderTables> {
      const folders = new Map<string, Headers>();
      const types = new Map<string, string>(Object.entries(MEDIA_TYPES));
      const unknown = { folder: 'errors', path: '', address: '/-', host: undefined };
      for (const { folder, path, address, host } of [...addresses.values(), unknown]) {
        const { headers } = await inject(address, host);
        const kept = Object.entries(headers).filter(([name]) => !OWN_HEADERS.includes(name));
        folders.set(folder, Object.fromEntries(kept.map(([name, value]) => [name, String(value)])));
        types.set(extname(path).slice(1), String(headers['content-type']));
      }
      return { folders, types };
    },
  };
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  'text/html': '.html',
  'image/svg+xml': '.svg',
  'image/png': '.png',
  'image/jpeg': '.jpg',
  'image/webp': '.webp',
};

/** The files that are there once: whatever addresses without parameters answer with 200. */
export async function listSiteFiles(
  app: App,
  addresses: readonly string[],
  hosts: readonly (string | undefined)[],
) {
  const files = new Map<string, SiteFile>();
  for (const host of hosts)
    for (const address of addresses) {
      const { statusCode, headers } = await app.inject({
        url: address,
        headers: { host: host ?? 'localhost' },
      });
      if (statusCode !== 200) continue;
      const name = address === '/' ? '/index' : address;
      const type = String(headers['content-type']).split(';')[0] as string;
      const extension = /\.[a-z]+$/.test(name) ? '' : (EXTENSIONS[type] ?? '');
      files.set(siteFolder(host) + name + extension, { host, address });
    }
  return new Map([...files].sort(([one], [other]) => Buffer.compare(Buffer.from(one), Buffer.from(other))));
}
