// Whether a database holds what it should: every list as its items give it, every ETag its text's, nothing misfiled.
import { computeEtag } from '../../records/etag.ts';
import { FAMILIES, type Family } from '../../records/kinds.ts';
import { repairCounts, WRONG_COUNTS } from './counts.ts';
import { deriveEverything, wrongRows } from './derive.ts';
import { wrongNames } from './media-names.ts';
import { readBody } from './packing.ts';
import { countRows, type Rows, type SqlAdapter, type TextRow } from './sql-adapter.ts';
import { findWrongWords } from './word-statements.ts';
import { findWrongRecords } from './wrong-records.ts';

const OWNERLESS = `
  SELECT family, CAST(id AS text) FROM items
  WHERE NOT EXISTS (SELECT 1 FROM profiles WHERE profiles.family = items.family AND profiles.id = items.owner)`;

const NAMES_SHOWN = 5;
const REPAIR = 'run `vitrine check --repair`';
const REIMPORT = 'import the file of `vitrine export` again';

type WrongRows = Awaited<ReturnType<typeof wrongRows>>;

/** What is wrong, a sentence each. */
export async function findFaults(db: Rows, onStep: (name: string) => void): Promise<string[]> {
  const describe = (step: string, ...found: Parameters<typeof describeRows>) => {
    onStep(step);
    return describeRows(...found);
  };
  const ownerless = await describe('owners', db.rows(OWNERLESS), 'items have no owner');
  onStep('records');
  const records = await describeRecords(db);
  const misplaced = [ownerless, records.misfiled].filter((fault) => fault !== undefined);
  // What lists are made of must be right before they can be compared.
  if (misplaced.length > 0) return misplaced;
  const wrong: WrongRows[] = [];
  for (const family of FAMILIES) wrong.push(await wrongRows(db, family));
  const all = (kind: keyof WrongRows) => db.rows(wrong.map((queries) => queries[kind]).join(' UNION ALL '));
  const misnamed = await wrongNames(db);
  const names = misnamed === undefined ? [] : db.rows(misnamed);
  return [
    await describe(
      'profiles',
      all('profiles'),
      'profiles do not match their record or have the ETag of another text',
      REPAIR,
    ),
    await describe('lists', all('lists'), 'lists do not match the items', REPAIR),
    await describe(
      'compressed answers',
      findAllWrongBodies(db),
      'answers do not match their compressed form',
      REPAIR,
    ),
    await describe('counts', db.rows(WRONG_COUNTS), 'counts are not those of the records', REPAIR),
    await describe('names', findUnsearchable(db, all('words')), 'users are not found by their names', REPAIR),
    await describe('pictures', names, 'records name other pictures than is noted of them', REPAIR),
    records.withOtherFields,
  ].filter((fault) => fault !== undefined);
}

/** The lists with another body than that of their ETag: family, name and id of the user, and the list. */
async function* findWrongBodies(db: Rows, family: Family): AsyncGenerator<[string, string, string, string]> {
  const lists = `SELECT CAST(owner AS text), user_key, ${db.hex('body')}, collection, etag FROM lists
    WHERE family = '${family}'`;
  for await (const [id, key, body, collection, etag] of db.rows<[string, string, string, string, string]>(
    lists,
  )) {
    const text = readBody(Buffer.from(body, 'hex')) ?? '';
    const start = `{"${collection}":`;
    if (!text.startsWith(start) || !text.endsWith('}') || computeEtag(text.slice(start.length, -1)) !== etag)
      yield [family, key, id, collection];
  }
}

/** The family and id of users that a search misses. `misplaced` are those of whom the table has other words than their profile. */
async function* findUnsearchable(
  db: Rows,
  misplaced: ReturnType<Rows['rows']>,
): AsyncGenerator<[string, string]> {
  const found = new Set<string>();
  for await (const { family, id } of findWrongWords(db)) {
    found.add(`${family} ${id}`);
    yield [family, id];
  }
  for await (const [family = '', id = ''] of misplaced)
    if (!found.has(`${family} ${id}`)) yield [family ?? '', id ?? ''];
}

async function* findAllWrongBodies(db: Rows) {
  for (const family of FAMILIES) yield* findWrongBodies(db, family);
}

async function describeRecords(db: Rows) {
  const misfiled = createFault('records are filed under values they do not hold');
  const withOtherFields = createFault('records do not have the fields of this version', REIMPORT);
  for await (const { family, name, fault } of findWrongRecords(db))
    (fault === 'misfiled' ? misfiled : withOtherFields).add(family, name);
  return { misfiled: misfiled.describe(), withOtherFields: withOtherFields.describe() };
}

async function describeRows(
  rows: Iterable<TextRow> | AsyncIterable<TextRow>,
  problem: string,
  remedy?: string,
): Promise<string | undefined> {
  const fault = createFault(problem, remedy);
  for await (const [family = null, name = null] of rows) fault.add(family, name);
  return fault.describe();
}

/** How many rows there are, with the first of them by family and name. */
function createFault(problem: string, remedy?: string) {
  const names: string[] = [];
  let found = 0;
  return {
    add(family: string | null, name: string | null): void {
      if (found++ < NAMES_SHOWN) names.push(`${family} ${JSON.stringify(name)}`);
    },
    describe(): string | undefined {
      if (found === 0) return undefined;
      const more = found > NAMES_SHOWN ? ', …' : '';
      return `${found} ${problem} (${names.join(', ')}${more})${remedy === undefined ? '' : `: ${remedy}`}`;
    },
  };
}

/** Takes out what is damaged, and derives everything anew; how much was wrong. */
export async function repairAll(db: SqlAdapter): Promise<number> {
  let repaired = 0;
  for (const family of FAMILIES) {
    const wrong = await wrongRows(db, family);
    repaired += await countRows(db, `SELECT count(*) FROM (${wrong.profiles}) AS wrong`);
    const unsearchable = new Set((await Array.fromAsync(db.rows(wrong.words))).map(([, id]) => id));
    const listless = new Set((await Array.fromAsync(db.rows(wrong.lists))).map(([, key]) => key));
    const damaged = await Array.fromAsync(findWrongBodies(db, family));
    for (const [, key, id, collection] of damaged) {
      listless.add(key);
      await db.run('DELETE FROM lists WHERE family = $1 AND owner = $2 AND collection = $3', [
        family,
        id,
        collection,
      ]);
    }
    for (const { id, words } of (await Array.fromAsync(findWrongWords(db))).filter(
      (one) => one.family === family,
    )) {
      unsearchable.add(id);
      await db.run('UPDATE profiles SET words = $1 WHERE family = $2 AND id = $3', [words, family, id]);
    }
    repaired += listless.size + unsearchable.size;
  }
  const misnamed = await wrongNames(db);
  if (misnamed !== undefined) repaired += await countRows(db, `SELECT count(*) FROM (${misnamed}) AS wrong`);
  await deriveEverything(db);
  return repaired + (await repairCounts(db));
}
