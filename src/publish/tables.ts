// What the configurations of all hosts are made from.
import type { Config } from '../config/config.ts';
import { METHODS } from '../http/answer.ts';
import { type ErrorCode, FAILURES } from '../http/errors.ts';
import type { Headers, HeaderTables } from './ask.ts';
import { listHosts, type Target } from './targets.ts';

export interface Site {
  readonly config: Config;
  /** The absolute path of the folder that is published to. */
  readonly folder: string;
  readonly targets: readonly Target[];
  readonly headers: HeaderTables;
}

/** Whether targets tell hosts apart. */
export const hasHosts = ({ config }: Pick<Site, 'config'>) => listHosts(config).length > 1;

/** The pattern of a target, from its start to its end; with the host before it where several are served. */
export function wholePattern({ host, pattern }: Target, withHost: boolean): string {
  if (!withHost) return `^${pattern}$`;
  return `^${host === undefined ? '[^/]*' : host.replace(/[.[\]]/g, '\\$&')}${pattern}$`;
}

/** The errors that targets lead to, with the status and the body that the server sends. */
export function listErrors({ targets }: Pick<Site, 'targets'>) {
  const codes = new Set<ErrorCode>([...targets.map(({ error }) => error), 'ROUTE_NOT_FOUND']);
  return [...codes].map((code) => {
    const { status, body } = FAILURES[code];
    return { code, status, body: body.toString(), caching: status === 404 ? 'max-age=5' : 'no-store' };
  });
}

/** The headers that all errors have, besides how long they are kept. */
export const errorHeaders = ({ headers: { folders } }: Pick<Site, 'headers'>) =>
  Object.entries(folders.get('errors') ?? {}).filter(([name]) => name !== 'cache-control');

/** What browsers are told before they ask, besides the headers of errors. */
export const PREFLIGHT = [
  ['Allow', METHODS],
  ['Access-Control-Allow-Methods', METHODS],
  ['Access-Control-Allow-Headers', '*'],
  ['Access-Control-Max-Age', '86400'],
] as const;

/** The values of a header: by folder, or by the path of a file that is there once. */
export function headerValues({ headers: { folders } }: Site): Map<string, Map<string, string>> {
  const found = new Map<string, Map<string, string>>();
  for (const [folder, headers] of folders)
    if (folder !== 'errors')
      for (const [name, value] of Object.entries(headers))
        found.set(name, (found.get(name) ?? new Map()).set(folder, value));
  return found;
}

/** Files in a folder have the headers of the folder; one that is there once has its own. */
export const findKind = (file: string, folders: ReadonlyMap<string, Headers>) =>
  folders.has(file) ? file : (file.split('/', 1)[0] as string);
