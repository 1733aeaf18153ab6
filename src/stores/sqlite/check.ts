// `vitrine check`: reads a whole file and says what in it is wrong.
import { LIST_OF_PROFILE } from '../merge.ts';
import type { CheckResult } from '../store.ts';
import { addFunctions, type Connection, openForReading, withSentences } from './connect.ts';
import { countRecords } from './read.ts';

/** Profiles whose ETag is not their record's. */
export const WRONG_ETAGS = 'SELECT n, family, user_key FROM profiles WHERE etag <> etag_of(record)';

/** Users whose list is missing, is not what their items give, or has another text's ETag; and lists of nobody. */
export const WRONG_LISTS = `
  SELECT profiles.family, profiles.user_key, profiles.id AS owner FROM profiles
  LEFT JOIN lists ON lists.family = profiles.family AND lists.owner = profiles.id
  WHERE lists.user_key IS NOT profiles.user_key OR lists.items IS NOT ${LIST_OF_PROFILE}
    OR lists.etag IS NOT etag_of(lists.items)
  UNION ALL
  SELECT family, user_key, owner FROM lists
  WHERE NOT EXISTS (SELECT 1 FROM profiles WHERE profiles.family = lists.family AND profiles.id = lists.owner)`;

const OWNERLESS = `
  SELECT family, CAST(id AS text) FROM items
  WHERE NOT EXISTS (SELECT 1 FROM profiles WHERE profiles.family = items.family AND profiles.id = items.owner)`;

/** Records whose columns say something else than their text. */
const MISFILED = `
  SELECT family, CAST(id AS text) FROM items WHERE NOT json_valid(record) OR CAST(id AS text) <> record ->> 'id'
    OR date <> record ->> 'date' OR CAST(owner AS text) <> coalesce(record ->> 'user', record ->> 'user_id')
  UNION ALL
  SELECT family, user_key FROM profiles WHERE NOT json_valid(record) OR CAST(id AS text) <> record ->> 'id'`;

const NAMES_SHOWN = 5;

export function check(path: string): CheckResult {
  return withSentences(path, () => {
    const db = openForReading(path, path);
    try {
      addFunctions(db);
      const damage = structuralFaults(db);
      if (damage.length > 0) return { faults: damage, counts: undefined };
      return { faults: contentFaults(db), counts: countRecords(db) };
    } finally {
      db.close();
    }
  });
}

function structuralFaults(db: Connection): string[] {
  return (db.pragma('integrity_check(20)') as { integrity_check: string }[])
    .map((row) => row.integrity_check)
    .filter((line) => line !== 'ok');
}

function contentFaults(db: Connection): string[] {
  const faults = [
    named(db, OWNERLESS, 'items have no owner'),
    named(db, MISFILED, 'records are filed under values they do not hold'),
  ].filter((fault) => fault !== undefined);
  // What lists are made of must be right before they can be compared.
  if (faults.length > 0) return faults;
  return [
    named(db, WRONG_ETAGS.replace('n, ', ''), 'profiles have the ETag of another text', REPAIR),
    named(db, WRONG_LISTS, 'lists do not match the items', REPAIR),
  ].filter((fault) => fault !== undefined);
}

const REPAIR = 'run `vitrine check --repair`';

/** How many rows a query finds, with the first of them by family and name. */
function named(db: Connection, query: string, problem: string, remedy?: string): string | undefined {
  const rows = db.prepare(query).raw();
  const names: string[] = [];
  let found = 0;
  for (const [family, name] of rows.iterate() as Iterable<[string, string]>)
    if (found++ < NAMES_SHOWN) names.push(`${family} ${JSON.stringify(name)}`);
  if (found === 0) return undefined;
  const more = found > NAMES_SHOWN ? ', …' : '';
  return `${found} ${problem} (${names.join(', ')}${more})${remedy === undefined ? '' : `: ${remedy}`}`;
}
