// Tables of this program, such as those of kinds, variants and errors: objects with a fixed set of names. For TypeScript any
// object may have more names than its type says, so Object.keys and Object.fromEntries forget them. A table has no others,
// so the casts of this file are safe, and tables need none.

export const keysOf = <Name extends string>(table: Readonly<Record<Name, unknown>>) =>
  Object.keys(table) as Name[];

export const hasKey = <Table extends object>(table: Table, name: string): name is keyof Table & string =>
  Object.hasOwn(table, name);

/** A table with a row for each name. */
export const createTable = <Name extends string, Row>(
  names: readonly Name[],
  createRow: (name: Name) => Row,
) => Object.fromEntries(names.map((name) => [name, createRow(name)])) as Record<Name, Row>;
