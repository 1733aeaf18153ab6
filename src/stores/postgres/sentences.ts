// What PostgreSQL, the driver and the network report, as sentences for the operator.
import { StoreError } from '../errors.ts';

/** By SQLSTATE or system code. */
const BY_CODE: Record<string, string> = {
  ECONNREFUSED: 'refuses connections',
  ECONNRESET: 'closed the connection',
  EPIPE: 'closed the connection',
  ENOTFOUND: 'has an unknown host name',
  EAI_AGAIN: 'has a host name that cannot be looked up now',
  ETIMEDOUT: 'does not answer',
  EHOSTUNREACH: 'cannot be reached',
  ENETUNREACH: 'cannot be reached',
  CERT_HAS_EXPIRED: 'has an expired certificate',
  ERR_TLS_CERT_ALTNAME_INVALID: 'has a certificate for another host name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'has a certificate that is not trusted: name its authority by sslrootcert',
  SELF_SIGNED_CERT_IN_CHAIN: 'has a certificate that is not trusted: name its authority by sslrootcert',
  UNABLE_TO_GET_ISSUER_CERT: 'has a certificate that is not trusted: name its authority by sslrootcert',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    'has a certificate that is not trusted: name its authority by sslrootcert',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'has a certificate that is not trusted: name its authority by sslrootcert',
  '25006': 'is read-only',
  '28000': 'does not let this user in',
  '28P01': 'does not accept the user or the password',
  '3D000': 'does not exist on this server',
  '3F000': 'has no schema to hold tables',
  '42501': 'does not allow this role to do that',
  '42710': 'has objects of another program: give Vitrine a database of its own',
  '42723': 'has functions of another program: give Vitrine a database of its own',
  '42P07': 'has tables of another program: give Vitrine a database of its own',
  '53100': 'has no room left on its disk',
  '53200': 'is out of memory',
  '53300': 'has no connection to spare',
  '55P03': 'is being written by another process; try again when it is done',
  '57014': 'took too long to answer',
  '57P01': 'is shutting down',
  '57P02': 'is shutting down',
  '57P03': 'is starting up',
};

/** Errors of the driver, which have no code. */
const BY_MESSAGE: readonly [pattern: RegExp, words: string][] = [
  [/timeout/i, 'does not answer'],
  [/unsupported startup parameter/i, 'is behind a PgBouncer that needs ignore_startup_parameters = options'],
  [/terminated|not queryable|was closed/i, 'closed the connection'],
  [/SSL/, 'does not offer encryption: give it a certificate, or leave sslmode out'],
  [/password/i, 'asks for a password: put it into DATABASE_URL or PGPASSWORD'],
];

export const NO_TABLES =
  'has no tables of Vitrine yet: run `vitrine import`, or `vitrine migrate` to make them empty';

export const lacks = (tables: string) =>
  `has lost tables (${tables}): restore it from a backup, or import everything into a new database`;

/** The SQLSTATE or system code of an error; empty when it has none. */
export const codeOf = (error: unknown): string =>
  String((error as { code?: unknown } | undefined)?.code ?? '');

/** What is wrong with a host, as a sentence that begins with its name. */
export function sentence(name: string, error: unknown): string {
  if (error instanceof StoreError) return error.message;
  return `The database at ${name} ${predicate(error)}.`;
}

function predicate(error: unknown): string {
  if (error === undefined) return 'does not answer';
  const code = codeOf(error);
  const { message } = error as Error;
  if (code === '42P01') return missingTable(message);
  const words = BY_CODE[code] ?? BY_MESSAGE.find(([pattern]) => pattern.test(message))?.[1];
  return words ?? `reports: ${message}${code === '' ? '' : ` (${code})`}`;
}

/** The name of the table is the one part of the message that is in no human language. */
function missingTable(message: string): string {
  if (/\bvitrine\b/.test(message)) return NO_TABLES;
  return lacks(/\b(profiles|items|lists|takedown_salts|takedowns)\b/.exec(message)?.[0] ?? 'one or more');
}

/** Whether the settings are at fault, so that waiting would not help. */
export const isLasting = (error: unknown) => ['28000', '28P01', '3D000', 'ENOTFOUND'].includes(codeOf(error));

/** Whether a query failed by itself and its connection is as good as before: a conflict on a standby, say. */
export const isOfTheQuery = (error: unknown) => /^(22|40|42|57014|XX)/.test(codeOf(error));

export const asStoreError = (name: string, error: unknown): StoreError =>
  error instanceof StoreError ? error : new StoreError(sentence(name, error), { cause: error });

/** Runs what talks to a host; the driver's errors become sentences about it. */
export async function withSentences<T>(name: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw asStoreError(name, error);
  }
}
