// Paths and URLs of databases and folders. A postgres:// URL is shown without its password.
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Mistake } from './setting-values.ts';

/** The path of a SQLite file, or a PostgreSQL URL unchanged. */
export function databaseUrl(text: string): string {
  if (isPostgresUrl(text)) parsePostgresUrl(text);
  else if (/^file:/i.test(text)) return filePath(text);
  // A URL without its colon, or with a login, is a typing mistake and would become the name of a file.
  else if (/^[a-z][a-z0-9+.-]+:|^[a-z]+\/\/|:[^/]*@/i.test(text))
    throw new Mistake('must be the path or file: URL of a SQLite file, or a postgres:// URL');
  return text;
}

/** The path of a folder, without a slash at its end. */
export function folder(text: string): string {
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(text) && !/^file:/i.test(text))
    throw new Mistake('must be the path or file: URL of a folder');
  return (/^file:/i.test(text) ? filePath(text) : text).replace(/(?<=.)\/+$/, '');
}

/** The path in a file: URL, which may also be relative to the working folder. */
function filePath(text: string): string {
  const url = URL.parse(text, pathToFileURL('./').href);
  try {
    if (url !== null && !/[?#]|%00|^file:\/*$/i.test(text)) return fileURLToPath(url);
  } catch {}
  throw new Mistake(
    'must be a path, or a URL such as file:site.db or file:///data/site.db, where %25 is a percent sign',
  );
}

export interface HostAddress {
  readonly host: string;
  readonly port: number;
}

export interface PostgresAddress {
  readonly hosts: readonly HostAddress[];
  readonly user: string | undefined;
  /** If undefined, the driver uses PGPASSWORD or ~/.pgpass. */
  readonly password: string | undefined;
  readonly database: string | undefined;
  readonly sslmode: SslMode;
  /** A file with the certificates to trust; if undefined, those that Node trusts. */
  readonly sslrootcert: string | undefined;
  /** Files with the certificate of this client and its key: both or none. */
  readonly sslcert: string | undefined;
  readonly sslkey: string | undefined;
  /** Milliseconds. */
  readonly connectTimeout: number;
}

const SSL_MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const;
type SslMode = (typeof SSL_MODES)[number];

const STANDARD_PORT = 5432;
const PARAMETERS = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'connect_timeout'];
/** Seconds, as in PostgreSQL's own URLs. */
const CONNECT_TIMEOUT = '5';

export const isPostgresUrl = (text: string) => /^postgres(ql)?:/i.test(text);

export function parsePostgresUrl(text: string): PostgresAddress {
  const match = /^postgres(?:ql)?:\/\/(?:([^/?#]*)@)?([^/?#@]+)(?:\/([^/?#]*))?(?:\?([^#]*))?$/i.exec(text);
  if (match === null)
    throw new Mistake('must look like postgres://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE');
  const [, login = '', hosts = '', database = '', query = ''] = match;
  const colon = login.indexOf(':');
  const parameters = new URLSearchParams(query);
  for (const name of parameters.keys())
    if (!PARAMETERS.includes(name)) throw new Mistake(`must have no parameters but ${PARAMETERS.join(', ')}`);
  const sslmode = SSL_MODES.find((mode) => mode === (parameters.get('sslmode') ?? 'disable'));
  if (sslmode === undefined) throw new Mistake(`must have an sslmode of ${SSL_MODES.join(', ')}`);
  const [sslrootcert, sslcert, sslkey] = ['sslrootcert', 'sslcert', 'sslkey'].map(
    (name) => parameters.get(name) ?? undefined,
  );
  if ((sslcert === undefined) !== (sslkey === undefined))
    throw new Mistake('must have both sslcert and sslkey');
  if (sslmode === 'disable' && sslcert !== undefined)
    throw new Mistake('must have an sslmode other than disable, because it has an sslcert');
  const connectTimeout = parameters.get('connect_timeout') ?? CONNECT_TIMEOUT;
  if (!/^[1-9]\d{0,2}$/.test(connectTimeout))
    throw new Mistake('must have a connect_timeout of 1 to 999 seconds');
  return {
    hosts: hosts.split(',').map(hostAddress),
    user: decoded(colon < 0 ? login : login.slice(0, colon)),
    password: colon < 0 ? undefined : decoded(login.slice(colon + 1)),
    database: decoded(database),
    sslmode,
    sslrootcert,
    sslcert,
    sslkey,
    connectTimeout: Number(connectTimeout) * 1000,
  };
}

function hostAddress(text: string): HostAddress {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/i.exec(text);
  const port = Number(match?.[3] ?? STANDARD_PORT);
  const host = decoded(match?.[1] ?? match?.[2] ?? '');
  if (host === undefined || port < 1 || port > 65535)
    throw new Mistake('must name each host as HOST or HOST:PORT');
  return { host, port };
}

function decoded(text: string): string | undefined {
  if (text === '') return undefined;
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Mistake('must write a percent sign as %25, and @ : / in a password as %40 %3A %2F');
  }
}

/** A valid DATABASE_URL without its login. */
export const shownDatabase = (url: string) =>
  isPostgresUrl(url) ? url.replace(/\/\/[^/?#]*@/, '//…@') : url;

/** What became of the files that are served themselves; it changes as they are saved. */
export interface FilesState {
  /** When what is served was saved, in milliseconds since 1970. */
  savedAt: number;
  /** What is wrong with what was saved since, as lines; empty if that is what is served. */
  faults: readonly string[];
}

export type ServedFiles = {
  /** Files that are served themselves: the database was made of them. */
  readonly files?: readonly string[];
  readonly filesState?: FilesState;
  /** Their folder, if relative pictures of records are served from it. */
  readonly filesFolder?: string | undefined;
};

interface ServedData extends ServedFiles {
  readonly databaseUrl: string | undefined;
}

/** Without a database, the sample users are served. */
export const servesSamples = ({ databaseUrl }: Pick<ServedData, 'databaseUrl'>) => databaseUrl === undefined;

export function describeData({ files, databaseUrl }: ServedData): string {
  if (files !== undefined) return files.join(', ');
  return databaseUrl === undefined ? 'the sample users' : shownDatabase(databaseUrl);
}
