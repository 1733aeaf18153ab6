// What the lists of a family are called: each variant has a name, and lists are stored under each. A variant that is added to the
// table later gets lists for all users when a database is opened for writing, as by `vitrine migrate`.

import { FAMILIES, type Family } from '../../records/kinds.ts';
import { collectionsOf } from '../../variants.ts';
import { NoDataError } from '../errors.ts';
import { makeBody, unpackedText } from './packing.ts';

/** Of a name: its family, itself, and a name under which the family has lists. */
export interface LackingName {
  readonly family: Family;
  readonly name: string;
  readonly source: string;
}

/** Names that a database has, as `family name`. */
export const STORED_NAMES = "SELECT family || ' ' || collection FROM list_names";

export function findLacking(stored: readonly string[]): LackingName[] {
  return FAMILIES.flatMap((family) => {
    const [source = ''] = stored.filter((name) => name.startsWith(`${family} `));
    return collectionsOf(family)
      .filter((name) => !stored.includes(`${family} ${name}`))
      .map((name) => ({ family, name, source: source.slice(family.length + 1) }));
  });
}

/** A server waits until the lists are there: every user of the new variant would be unknown. */
export function refuseLacking(database: string, stored: readonly string[]): void {
  const [lacking] = findLacking(stored);
  if (lacking === undefined) return;
  throw new NoDataError(
    `${database} has no lists called ${lacking.name} yet, which a new variant serves: run \`vitrine migrate\`.`,
  );
}

/** The body of a list under another name. */
export function renameBody(body: Buffer, name: string): Buffer {
  const text = unpackedText(body);
  return makeBody(`{"${name}":${text.slice(text.indexOf(':') + 1)}`);
}

/** After what is served of every user was made anew, and nothing else was changed: caches purge everything. */
export const NEW_GENERATION = 'UPDATE vitrine SET generation = generation + 1 WHERE generation > 0';

/** $1: the family; $2: the name. */
export const ADD_NAME = 'INSERT INTO list_names VALUES ($1, $2) ON CONFLICT DO NOTHING';

export const forgetOldNames = (family: Family) =>
  `DELETE FROM list_names WHERE family = '${family}' AND collection NOT IN (${collectionsOf(family)
    .map((name) => `'${name}'`)
    .join()})`;
