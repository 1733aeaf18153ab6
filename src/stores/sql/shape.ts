// The shape of the data: which fields each kind of record has, and what the lists of each family are called. A field or a variant
// that a later program adds is added to all records and lists when a database is opened for writing, as by `vitrine migrate`.

import { FAMILIES, KIND_NAMES, KINDS, type KindName, perKind } from '../../records/kinds.ts';
import { MEMBERS } from '../../records/schemas.ts';
import { collectionsOf } from '../../variants.ts';
import { NoDataError, StoreError } from '../errors.ts';
import type { Awaitable } from '../reader.ts';
import { type MemberSql, tableName } from './media-statements.ts';
import type { SqlAdapter } from './sql-adapter.ts';
import { parseRecord } from './wrong-records.ts';

interface Shape {
  readonly fields: Readonly<Record<KindName, readonly string[]>>;
  readonly lists: readonly string[];
}

/** That of this program, as `vitrine.shape` has it. */
const describeShape = () =>
  JSON.stringify({
    fields: perKind((kind) => Object.keys(MEMBERS[kind])),
    lists: FAMILIES.flatMap(collectionsOf),
  } satisfies Shape);

export const SHAPE = 'SELECT shape FROM vitrine';
/** For a new database. */
export const setShape = () => `UPDATE vitrine SET shape = '${describeShape()}'`;

export const isShapeDue = (stored: string) => stored !== describeShape();

/** A program that does not know a field would serve it, and take it from each record that it imports again. */
export function refuseNewerShape(database: string, stored: string): void {
  const { fields }: Shape = JSON.parse(stored);
  for (const kind of KIND_NAMES) {
    const unknown = fields[kind].find((name) => !(name in MEMBERS[kind]));
    if (unknown !== undefined)
      throw new StoreError(
        `${database} was made by a newer version of Vitrine (its ${KINDS[kind].plural} have the field ${unknown}).`,
      );
  }
}

/** A server waits until all records and lists have what it serves. */
export function refuseOtherShape(database: string, stored: string): void {
  refuseNewerShape(database, stored);
  if (isShapeDue(stored))
    throw new NoDataError(
      `${database} lacks fields or lists that this version serves: run \`vitrine migrate\`.`,
    );
}

/** A record with all fields. One that lacks others is damaged, stays as it is, and is named by `vitrine check`. */
export function completeRecord(record: string, kind: KindName, before: readonly string[]): string {
  const members = parseRecord(record);
  const fields = Object.entries(MEMBERS[kind]);
  const wanted = fields.filter(([name]) => before.includes(name)).map(([name]) => name);
  if (Object.keys(members).join() !== wanted.join()) return record;
  return JSON.stringify(
    Object.fromEntries(fields.map(([name, schema]) => [name, members[name] ?? schema.default])),
  );
}

export const NEW_GENERATION = 'UPDATE vitrine SET generation = generation + 1 WHERE generation > 0';

interface Reshaping {
  /** Gives the records of a kind all fields. */
  readonly complete: (kind: KindName, before: readonly string[]) => Awaitable<unknown>;
  readonly replaceView: (view: string, query: string) => Awaitable<unknown>;
}

/** Gives records and views the shape of this program, in steps: each must be done before the next. What follows is derived then. */
export function* reshape(
  db: SqlAdapter,
  stored: string,
  { complete, replaceView }: Reshaping,
): Generator<Awaitable<unknown>> {
  const { fields }: Shape = JSON.parse(stored);
  for (const kind of KIND_NAMES) {
    const before = fields[kind];
    const added = Object.keys(MEMBERS[kind]).filter((name) => !before.includes(name));
    if (added.length > 0) yield complete(kind, before);
    // Columns keep their order, which PostgreSQL asks for, and new ones come last.
    const view = KINDS[kind].plural.replaceAll(' ', '_');
    yield replaceView(view, selectView(kind, [...before, ...added], db.member));
  }
  yield db.run(setShape());
}

const selectView = (kind: KindName, names: readonly string[], member: MemberSql) =>
  `SELECT ${names.map((name) => `${member(name)} AS "${name}"`)} FROM ${tableName(kind)} WHERE family = '${KINDS[kind].family}'`;
