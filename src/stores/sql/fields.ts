// The fields of stored records: each record has all fields of its kind, and the columns of a view name them. A field that is
// added to the schemas later gets its default in all records and lists when a database is opened for writing, as by
// `vitrine migrate`.

import { KIND_NAMES, KINDS, type KindName } from '../../records/kinds.ts';
import { MEMBERS } from '../../records/schemas.ts';
import { NoDataError, StoreError } from '../errors.ts';
import type { Awaitable } from '../reader.ts';
import { type MemberSql, servedRecord, tableName } from './media-statements.ts';
import { listStatements, PACKED } from './merge-statements.ts';
import type { SqlAdapter } from './sql-adapter.ts';

/** A kind with fields that stored records lack. */
export interface LackingFields {
  readonly kind: KindName;
  readonly view: string;
  /** The fields that they have. */
  readonly stored: readonly string[];
  readonly names: readonly string[];
}

const viewOf = (kind: KindName) => KINDS[kind].plural.replaceAll(' ', '_');
/** The views, which each store asks for their columns, as `view column`. */
export const VIEWS = KIND_NAMES.map(viewOf);

const storedFields = (kind: KindName, columns: readonly string[]) =>
  columns
    .map((column) => column.split(' '))
    .flatMap(([view, name = '']) => (view === viewOf(kind) ? name : []));

export function findLackingFields(columns: readonly string[]): LackingFields[] {
  return KIND_NAMES.map((kind) => {
    const stored = storedFields(kind, columns);
    return {
      kind,
      view: viewOf(kind),
      stored,
      names: Object.keys(MEMBERS[kind]).filter((name) => !stored.includes(name)),
    };
    // A view that was lost tells nothing of the records.
  }).filter(({ stored, names }) => stored.length > 0 && names.length > 0);
}

/** A server waits until the records have them: every response has all fields. */
export function refuseLackingFields(database: string, columns: readonly string[]): void {
  const [lacking] = findLackingFields(columns);
  if (lacking === undefined) return;
  const { plural } = KINDS[lacking.kind];
  throw new NoDataError(
    `${database} has ${plural} without the field ${lacking.names[0]}, which is new: run \`vitrine migrate\`.`,
  );
}

/** A program that does not know a field would serve it, and take it from each record that it imports again. */
export function refuseUnknownFields(database: string, columns: readonly string[]): void {
  for (const kind of KIND_NAMES) {
    const unknown = storedFields(kind, columns).find((name) => !(name in MEMBERS[kind]));
    if (unknown !== undefined)
      throw new StoreError(
        `${database} was made by a newer version of Vitrine (its ${KINDS[kind].plural} have the field ${unknown}).`,
      );
  }
}

/** A record with new fields, each before the one that follows it. Quotes within a text are escaped, so no text passes for a member. */
function withFields(kind: KindName, names: readonly string[]): string {
  const members = Object.entries(MEMBERS[kind]);
  // From the last on: the field that follows is there when one is put before it.
  return members.reduceRight((record, [name, { default: standard }], index) => {
    if (!names.includes(name)) return record;
    if (standard === undefined) throw new Error(`${name} needs a default, which stored records get`);
    const member = `"${name}":"${standard}"`;
    const next = members[index + 1]?.[0];
    if (next === undefined) return `substr(${record}, 1, length(${record}) - 1) || ',${member}}'`;
    if (index === 0) return `'{${member},' || substr(${record}, 2)`;
    return `replace(${record}, ',"${next}":"', ',${member},"${next}":"')`;
  }, 'record');
}

/** The columns of a view keep their order, which PostgreSQL asks for, and new ones come last. */
export function selectView({ kind, stored, names }: LackingFields, member: MemberSql): string {
  const columns = [...stored, ...names].map((name) => `${member(name)} AS "${name}"`);
  return `SELECT ${columns.join()} FROM ${tableName(kind)} WHERE family = '${KINDS[kind].family}'`;
}

/**
 * Gives the records of a kind all fields, and makes what is served of them anew, in steps: each must be done before the next.
 * `touched` is a work table of an import.
 */
export function* completeRecords(
  { kind, stored, names }: LackingFields,
  hasCopies: boolean,
  db: SqlAdapter,
): Generator<Awaitable<unknown>> {
  const { family, role } = KINDS[kind];
  const served = hasCopies ? servedRecord(kind, db.member) : 'record';
  const ofFamily = `WHERE family = '${family}'`;
  // Any other record is damaged, stays as it is, and is named by `vitrine check`.
  const before = Object.keys(MEMBERS[kind]).filter((name) => stored.includes(name));
  yield db.run(`
    UPDATE ${tableName(kind)} SET record = ${withFields(kind, names)}
    ${ofFamily} AND CASE WHEN json_valid(record) THEN ${db.memberNames} = '${before}' ELSE false END`);
  if (role === 'profile')
    return yield db.run(
      `UPDATE profiles SET (served, etag, packed) = (
         SELECT nullif(text, record), etag_of(text), ${PACKED} FROM (SELECT ${served} AS text) AS built) ${ofFamily}`,
    );
  const lists = listStatements(family);
  yield db.run('DELETE FROM touched');
  yield db.run(`INSERT INTO touched SELECT id FROM profiles ${ofFamily}`);
  yield db.run(lists.before);
  yield db.storeLists(family, served);
  for (const statement of lists.after) yield db.run(statement);
}
