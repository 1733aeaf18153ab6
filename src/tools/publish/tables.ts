// What the configurations of all platforms are made from.

import { type ErrorCode, FAILURES } from '../../api/http/errors.ts';
import { METHODS, NOT_FOUND_CACHING } from '../../api/http/headers.ts';
import { type Config, listMounts } from '../../config/settings.ts';
import type { HeaderTables } from './answers.ts';
import type { Target } from './targets.ts';

export interface ConfigInput {
  readonly config: Config;
  /** The absolute path of the folder that is published to. */
  readonly folder: string;
  readonly targets: readonly Target[];
  readonly headers: HeaderTables;
}

/** Whether targets tell hosts apart. */
export const hasHosts = ({ config }: Pick<ConfigInput, 'config'>) =>
  new Set(listMounts(config).map(({ base }) => base.host)).size > 1;

/** The pattern of a target, from its start to its end; with the Host header before it where several hosts are served. */
export function wholePattern({ host, pattern }: Target, withHost: boolean): string {
  if (!withHost) return `^${pattern}$`;
  if (host === undefined) return `^[^/]*${pattern}$`;
  const [, name = '', port = '(?::[0-9]+)?'] = /^(.*?)(:[0-9]+)?$/.exec(host) ?? [];
  return `^(?i:${name.replace(/[.[\]]/g, '\\$&')})\\.?${port}${pattern}$`;
}

/** The errors that targets lead to, and others, with the status and the body that the server sends. */
export function listErrors({ targets }: Pick<ConfigInput, 'targets'>, others: readonly ErrorCode[] = []) {
  const codes = new Set<ErrorCode>([...targets.map(({ error }) => error), 'ROUTE_NOT_FOUND', ...others]);
  return [...codes].map((code) => {
    const { status, body } = FAILURES[code];
    return { code, status, body: body.toString(), caching: status === 404 ? NOT_FOUND_CACHING : 'no-store' };
  });
}

const SPELLINGS =
  'No user has this name. Write it as the user does, or in lower case: other letter case is not found here.';

/** The same where a name is found in two spellings only. */
export const listFileErrors = (input: Pick<ConfigInput, 'targets'>) =>
  listErrors(input).map((error) =>
    error.code === 'USER_NOT_FOUND'
      ? { ...error, body: JSON.stringify({ ...JSON.parse(error.body), message: SPELLINGS }) }
      : error,
  );

/** The headers that all errors have, besides how long they are kept. */
export const errorHeaders = ({ headers }: Pick<ConfigInput, 'headers'>) =>
  Object.entries(headers.errors).filter(([name]) => name !== 'cache-control');

/** What browsers learn before they ask, besides the headers of errors. */
export const PREFLIGHT_HEADERS = [
  ['Allow', METHODS],
  ['Access-Control-Allow-Methods', METHODS],
  ['Access-Control-Allow-Headers', '*'],
  ['Access-Control-Max-Age', '86400'],
] as const;
