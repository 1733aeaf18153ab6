// Errors of PostgreSQL, the driver and the network as messages for the operator.
import { errorCode, errorMessage } from '../../records/thrown.ts';
import { StoreError, UnavailableError } from '../errors.ts';

/** The code of a first query that had to wait: a pooler lets clients in, and their queries when it has a connection to spare. */
export const NO_TURN = 'NO_TURN';

/** By SQLSTATE or system code. */
const BY_CODE: Record<string, string> = {
  ECONNREFUSED: 'refuses connections',
  ECONNRESET: 'closed the connection',
  ENOTFOUND: 'has an unknown host name',
  EAI_AGAIN: 'has a host name that cannot be looked up now',
  ETIMEDOUT: 'does not answer',
  [NO_TURN]: 'lets no query in: all connections of its pooler, such as PgBouncer, may be in use',
  CERT_HAS_EXPIRED: 'has an expired certificate',
  ERR_TLS_CERT_ALTNAME_INVALID: 'has a certificate for another host name',
  '28000': 'does not let this user in',
  '28P01': 'does not accept the user or the password',
  '3D000': 'does not exist on this server',
  '42501': 'does not allow this role to do that',
  '42P07': 'has tables of another program: give Vitrine a database of its own',
  '53100': 'has no room left on its disk',
  '53300': 'has no connection to spare',
  '55P03':
    'is locked by another session, such as an import (pg_locks shows which); try again when it is done',
  '57014': 'took too long to answer',
  '57P01': 'closed the connection',
};

/** What pg.Pool says after a query waited in vain for the queries before it, which a lock may hold up. */
const NO_FREE_CONNECTION = /^timeout exceeded when trying to connect/;

/** Errors of the driver, which have no code, and of certificates, which have many. */
const BY_MESSAGE: readonly [pattern: RegExp, words: string][] = [
  [NO_FREE_CONNECTION, 'took too long to answer'],
  [/timeout/i, 'does not answer'],
  [/unsupported startup parameter/i, 'is behind a PgBouncer that needs ignore_startup_parameters = options'],
  [/terminated|not queryable|was closed/i, 'closed the connection'],
  [/alert/, 'does not accept the certificate of this client: its authority must be known there (sslcert)'],
  [/certificate/, 'has a certificate that is not trusted: name its authority by sslrootcert'],
  [/SSL/, 'does not offer encryption: give it a certificate, or leave sslmode out'],
  [/password/i, 'asks for a password: put it into DATABASE_URL or PGPASSWORD'],
];

function describe(error: unknown): string {
  const code = errorCode(error);
  const message = errorMessage(error);
  if (code === '42P01') return describeMissingTable(message);
  const words = BY_CODE[code] ?? BY_MESSAGE.find(([pattern]) => pattern.test(message))?.[1];
  return words ?? `reports: ${message}${code === '' ? '' : ` (${code})`}`;
}

/** The name of the table is the one part of the message that is not translated. */
function describeMissingTable(message: string): string {
  const [table] = /\b(vitrine|profiles|items|lists)\b/.exec(message) ?? ['one or more'];
  if (table === 'vitrine')
    return 'has no tables of Vitrine: wait if it is being restored; otherwise run `vitrine import`, or `vitrine migrate` to make them empty';
  return `has lost tables (${table}): wait if it is being restored; otherwise restore a backup and repeat the takedowns since, or make a new database by \`vitrine takedown --from\` this one and an import of everything`;
}

/** Whether the settings are wrong, so that waiting does not help. */
export const isLasting = (error: unknown) =>
  ['28000', '28P01', '3D000', 'ENOTFOUND'].includes(errorCode(error));

/** The code of a query that its server has cancelled. */
export const CANCELLED = '57014';

/** Whether a lookup took too long: the server has cancelled it, or it waited in vain for others that take long. */
export const isSlow = (error: unknown) =>
  errorCode(error) === CANCELLED || NO_FREE_CONNECTION.test(errorMessage(error));

/** Whether only the query failed, by a conflict on a standby for example, or no connection could be had for it. */
export const isQueryError = (error: unknown) =>
  NO_FREE_CONNECTION.test(errorMessage(error)) || /^(22|40|42|53300|57014|XX)/.test(errorCode(error));

/** Whether what is stored is at fault: a value, a file, or a page. */
const isDamage = (error: unknown) => /^(22|58|XX|42P01)/.test(errorCode(error));

export function toStoreError(name: string, error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const Kind = isDamage(error) ? StoreError : UnavailableError;
  return new Kind(`The database at ${name} ${describe(error)}.`, { cause: error });
}

export async function describeErrors<T>(name: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw toStoreError(name, error);
  }
}
