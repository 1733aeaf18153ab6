// Staged rows -> the tables: profiles, then items, whose owners are known by then.
import { type Family, KIND_NAMES, KINDS, type KindName } from '../../records/kinds.ts';
import type { LoadOptions, Misfit, Tallies, Tally } from '../store.ts';
import { type Client, rowsOf } from './connect.ts';

interface MergeOptions extends LoadOptions {
  readonly families: ReadonlySet<Family>;
}

/** Inside the caller's transaction; undefined when misfits forbid the import, and the transaction is to be undone. */
export async function merge(client: Client, options: MergeOptions): Promise<Tallies | undefined> {
  const { replace, skipInvalid, onMisfit } = options;
  const replaced = replace ? [...options.families] : [];
  const mayGoOn = (misfits: number) => misfits === 0 || skipInvalid;

  await client.query(INDEXES);
  await client.query('ANALYZE staged');
  await client.query(DROP_REPEATS);
  // A profile that is left out keeps its old name, which may have been meant for another: hence again.
  for (let clashes = 1; clashes > 0; ) {
    clashes = await takeOut(client, nameTaken(replaced), NAME_TAKEN_WORDS, onMisfit);
    if (!mayGoOn(clashes)) return undefined;
  }
  const profiles = await moveOver(client, PROFILES, replaced);
  if (!mayGoOn(await takeOut(client, NO_OWNER, NO_OWNER_WORDS, onMisfit))) return undefined;
  const items = await moveOver(client, ITEMS, replaced);
  const none: Tally = { new: 0, changed: 0, unchanged: 0, removed: 0 };
  const tally = (kind: KindName) =>
    ('owner' in KINDS[kind] ? items : profiles).get(KINDS[kind].family) ?? none;
  const tallies = Object.fromEntries(KIND_NAMES.map((kind) => [kind, tally(kind)])) as Tallies;
  if (Object.values(tallies).some((of) => of.new + of.changed + of.removed > WORTH_ANALYSING))
    await client.query('ANALYZE profiles, items');
  return tallies;
}

/** After a change of so many rows the planner should look at the tables anew, and not only when it next gets to it. */
const WORTH_ANALYSING = 1000;

const INDEXES = `
  CREATE INDEX ON staged (family, id) WHERE owner IS NULL;
  CREATE INDEX ON staged (family, user_key) WHERE owner IS NULL;
  CREATE INDEX ON staged (family, id) WHERE owner IS NOT NULL`;

/** Of rows with one id only the last stays. */
const DROP_REPEATS = `
  DELETE FROM staged USING (
    SELECT family, id, owner IS NULL AS is_profile, max(place) AS last FROM staged
    GROUP BY family, id, owner IS NULL HAVING count(*) > 1
  ) AS repeated
  WHERE staged.family = repeated.family AND staged.id = repeated.id AND (owner IS NULL) = is_profile AND place < last`;

interface Table {
  readonly name: 'profiles' | 'items';
  /** Which of the staged rows are this table's. */
  readonly staged: string;
  readonly columns: readonly string[];
  /** The order in which rows are to lie. */
  readonly order: string;
}

const PROFILES: Table = {
  name: 'profiles',
  staged: 'staged.owner IS NULL',
  columns: ['user_key', 'record'],
  order: 'family, user_key',
};
const ITEMS: Table = {
  name: 'items',
  staged: 'staged.owner IS NOT NULL',
  columns: ['owner', 'date', 'record'],
  order: 'family, owner, date DESC, id DESC',
};

/** Puts the staged rows where they belong, in the place of those with the same id. */
async function moveOver(
  client: Client,
  table: Table,
  replaced: readonly Family[],
): Promise<Map<Family, Tally>> {
  const { name, staged, columns, order } = table;
  const list = columns.join(', ');
  const of = (owner: string) => columns.map((column) => `${owner}.${column}`).join(', ');
  const same = `staged.family = ${name}.family AND staged.id = ${name}.id AND ${staged}`;

  const landed = await counted(client, `SELECT family FROM staged WHERE ${staged}`);
  const removed = await counted(
    client,
    `DELETE FROM ${name} WHERE family = ANY ($1) AND NOT EXISTS (SELECT FROM staged WHERE ${same}) RETURNING family`,
    [replaced],
  );
  const changed = await counted(
    client,
    `UPDATE ${name} SET ${columns.map((column) => `${column} = staged.${column}`).join(', ')} FROM staged
     WHERE ${same} AND (${of(name)}) IS DISTINCT FROM (${of('staged')}) RETURNING ${name}.family`,
  );
  const added = await counted(
    client,
    `INSERT INTO ${name} (family, id, ${list}) SELECT family, id, ${list} FROM staged
     WHERE ${staged} AND NOT EXISTS (SELECT FROM ${name} WHERE ${same}) ORDER BY ${order} RETURNING family`,
  );
  const families = new Set([...landed.keys(), ...removed.keys()]);
  return new Map(
    [...families].map((family) => {
      const [all, fresh, altered] = [landed, added, changed].map((counts) => counts.get(family) ?? 0) as [
        number,
        number,
        number,
      ];
      return [
        family,
        { new: fresh, changed: altered, unchanged: all - fresh - altered, removed: removed.get(family) ?? 0 },
      ];
    }),
  );
}

/** How many rows of each family a statement gives. */
async function counted(client: Client, sql: string, values: unknown[] = []): Promise<Map<Family, number>> {
  const text = `WITH touched AS (${sql}) SELECT family, count(*) FROM touched GROUP BY family`;
  const { rows } = await client.query<[Family, string]>({ text, values, rowMode: 'array' });
  return new Map(rows.map(([family, count]) => [family, Number(count)]));
}

/** A name belongs to whoever has it, unless this import renames them; between two newcomers, to the first. */
const nameTaken = (replaced: readonly Family[]) => `
  WITH named AS (
    SELECT staged.family, staged.id, staged.user_key, staged.record, staged.place,
      CASE WHEN profiles.user_key = staged.user_key THEN -1 ELSE staged.place END AS rank
    FROM staged LEFT JOIN profiles ON profiles.family = staged.family AND profiles.id = staged.id
    WHERE staged.owner IS NULL
  ), held AS (
    SELECT family, id, user_key, rank FROM named
    UNION ALL SELECT family, id, user_key, -1 FROM profiles AS kept
    WHERE family <> ALL ('{${replaced.join(',')}}')
      AND NOT EXISTS (SELECT FROM staged WHERE staged.family = kept.family AND staged.id = kept.id AND staged.owner IS NULL)
  )
  SELECT DISTINCT ON (place) place, named.family, named.id, held.id AS other, record
  FROM named JOIN held USING (family, user_key)
  WHERE held.id <> named.id AND held.rank < named.rank
  ORDER BY place, held.rank`;

const NAME_TAKEN_WORDS = ({ place, id, other, record }: Found): Misfit => ({
  place,
  member: 'username',
  reason: `is already the name of id ${other}, so id ${id} cannot have it`,
  got: JSON.parse(record).username,
  record,
});

const NO_OWNER = `
  SELECT place, family, id, owner AS other, record FROM staged
  WHERE owner IS NOT NULL
    AND NOT EXISTS (SELECT FROM profiles WHERE profiles.family = staged.family AND profiles.id = staged.owner)`;

const NO_OWNER_WORDS = ({ place, family, id, other, record }: Found): Misfit => ({
  place,
  member: family === 'microblog' ? 'user' : 'user_id',
  reason: `is nobody: no ${family} profile has this id, so item ${id} has no owner`,
  got: other,
  record,
});

interface Found {
  readonly place: number;
  readonly family: Family;
  readonly id: string;
  readonly other: string;
  readonly record: string;
}

/** Reports the rows that break a rule and takes them out of the stage; how many there were. */
async function takeOut(
  client: Client,
  query: string,
  words: (found: Found) => Misfit,
  onMisfit: LoadOptions['onMisfit'],
): Promise<number> {
  const { rowCount } = await client.query(`CREATE TEMP TABLE misfits ON COMMIT DROP AS ${query}`);
  if (rowCount !== 0) {
    for await (const [place, family, id, other, record] of rowsOf(
      client,
      'SELECT * FROM misfits ORDER BY place',
    ))
      onMisfit(words({ place: Number(place), family, id, other, record } as Found));
    await client.query('DELETE FROM staged USING misfits WHERE staged.place = misfits.place');
  }
  await client.query('DROP TABLE misfits');
  return rowCount ?? 0;
}
