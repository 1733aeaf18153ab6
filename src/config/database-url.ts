// Parses a postgres:// DATABASE_URL, and hides what is secret in any DATABASE_URL.

export interface HostAddress {
  readonly host: string;
  readonly port: number;
}

/** A parsed `postgres://` URL. */
export interface PostgresAddress {
  readonly hosts: readonly HostAddress[];
  readonly user: string | undefined;
  /** If undefined, the driver uses PGPASSWORD or ~/.pgpass. */
  readonly password: string | undefined;
  readonly database: string | undefined;
  readonly sslmode: SslMode;
  /** A file with the certificates to trust; if undefined, those that Node trusts. */
  readonly sslrootcert: string | undefined;
  /** Milliseconds. */
  readonly connectTimeout: number;
}

const SSL_MODES = ['disable', 'require', 'verify-full'] as const;
type SslMode = (typeof SSL_MODES)[number];

const STANDARD_PORT = 5432;
const PARAMETERS = ['sslmode', 'sslrootcert', 'connect_timeout'];
/** Seconds, as in PostgreSQL's own URLs. */
const CONNECT_TIMEOUT = '5';

export const isPostgresUrl = (text: string) => /^postgres(ql)?:/i.test(text);

/** Throws an Error whose message continues a sentence after "must". */
export function parsePostgresUrl(text: string): PostgresAddress {
  const match = /^postgres(?:ql)?:\/\/(?:([^/?#]*)@)?([^/?#@]+)(?:\/([^/?#]*))?(?:\?([^#]*))?$/i.exec(text);
  if (match === null) throw new Error('look like postgres://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE');
  const [, login = '', hosts = '', database = '', query = ''] = match;
  const colon = login.indexOf(':');
  const parameters = new URLSearchParams(query);
  for (const name of parameters.keys())
    if (!PARAMETERS.includes(name)) throw new Error(`have no parameters but ${PARAMETERS.join(', ')}`);
  const sslmode = SSL_MODES.find((mode) => mode === (parameters.get('sslmode') ?? 'disable'));
  if (sslmode === undefined) throw new Error(`have an sslmode of ${SSL_MODES.join(', ')}`);
  const connectTimeout = parameters.get('connect_timeout') ?? CONNECT_TIMEOUT;
  if (!/^[1-9]\d{0,2}$/.test(connectTimeout)) throw new Error('have a connect_timeout of 1 to 999 seconds');
  return {
    hosts: hosts.split(',').map(hostAddress),
    user: decoded(colon < 0 ? login : login.slice(0, colon)),
    password: colon < 0 ? undefined : decoded(login.slice(colon + 1)),
    database: decoded(database),
    sslmode,
    sslrootcert: parameters.get('sslrootcert') ?? undefined,
    connectTimeout: Number(connectTimeout) * 1000,
  };
}

function hostAddress(text: string): HostAddress {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/i.exec(text);
  const port = Number(match?.[3] ?? STANDARD_PORT);
  const host = decoded(match?.[1] ?? match?.[2] ?? '');
  if (host === undefined || port < 1 || port > 65535) throw new Error('name each host as HOST or HOST:PORT');
  return { host, port };
}

function decoded(text: string): string | undefined {
  if (text === '') return undefined;
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error('write a percent sign as %25, and @ : / in a password as %40 %3A %2F');
  }
}

/**
 * A DATABASE_URL without its secrets. Where the password is in a malformed one cannot be known: of that nothing is shown
 * but the scheme, unless it holds only what a host and a path are made of.
 */
export function shownDatabase(url: string): string {
  const isPath = !/^[a-z][a-z0-9+.-]+:|^[a-z]+\/\/|:[^/]*@/i.test(url) || /^file:/i.test(url);
  if (isPath || /^[\w.+-]+:\/\/[\w./-]*$/.test(url)) return url;
  const [scheme = ''] = /^[a-z][a-z0-9+.-]*:\/*/i.exec(url) ?? [];
  try {
    parsePostgresUrl(url);
    return url.replace(/^([a-z]+:\/\/)[^/?#]*@/i, (_, start: string) => `${start}…@`);
  } catch {
    return `${scheme}…`;
  }
}

export type ServedFiles = {
  /** Files that are served themselves: the database was made of them. */
  readonly files?: readonly string[];
};

interface ServedData extends ServedFiles {
  readonly databaseUrl: string | undefined;
}

/** What is served, without secrets. */
export function describeData({ files, databaseUrl }: ServedData): string {
  if (files !== undefined) return files.join(', ');
  return databaseUrl === undefined ? 'the sample users' : shownDatabase(databaseUrl);
}
