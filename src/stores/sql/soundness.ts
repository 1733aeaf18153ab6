// Whether a database holds what it should: every list as its items give it, every ETag its text's, nothing misfiled.
import { computeEtag } from '../../records/etag.ts';
import { FAMILIES, type Family } from '../../records/kinds.ts';
import { searchTags } from '../../records/search-words.ts';
import type { StepListener } from '../steps.ts';
import { repairCounts, WRONG_COUNTS } from './counts.ts';
import { type DeriveOptions, deriveEverything, wrongRows } from './derive.ts';
import { wrongNames } from './media-names.ts';
import { listWithWords } from './merge-statements.ts';
import { readBody } from './packing.ts';
import { countRows, type Rows, type SqlAdapter, type TextRow } from './sql-adapter.ts';
import { findWrongWords } from './word-statements.ts';
import { findWrongRecords } from './wrong-records.ts';

const OWNERLESS = `
  SELECT family, CAST(id AS text) FROM items
  WHERE NOT EXISTS (SELECT 1 FROM profiles WHERE profiles.family = items.family AND profiles.id = items.owner)`;

const NAMES_SHOWN = 5;
const REPAIR = 'run `vitrine check --repair`';
/** Not an export of this database, which lacks the fields as well. */
const REIMPORT = 'import them from their source again';

/** `wrongRows` of both families. */
async function selectWrong(db: Rows) {
  const wrong = await Array.fromAsync(FAMILIES, (family) => wrongRows(db, family));
  const union = (kind: keyof (typeof wrong)[number]) =>
    wrong.map((queries) => queries[kind]).join(' UNION ALL ');
  return { profiles: union('profiles'), lists: union('lists'), words: union('words') };
}

/** What is wrong, a sentence each. */
export async function findFaults(db: Rows, onStep: StepListener): Promise<string[]> {
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
  const wrong = await selectWrong(db);
  const misnamed = await wrongNames(db);
  const names = misnamed === undefined ? [] : db.rows(misnamed);
  return [
    await describe(
      'profiles',
      db.rows(wrong.profiles),
      'profiles do not match their record or have the ETag of another text',
      REPAIR,
    ),
    await describe('lists', db.rows(wrong.lists), 'lists do not match the items', REPAIR),
    await describe(
      'compressed answers',
      findWrongBodies(db, onStep),
      'answers do not match their compressed form or search words',
      REPAIR,
    ),
    await describe('counts', db.rows(WRONG_COUNTS), 'counts are not those of the records', REPAIR),
    await describe(
      'names',
      findUnsearchable(db, db.rows(wrong.words)),
      'users are not found by all their words',
      REPAIR,
    ),
    await describe('pictures', names, 'records name other pictures than is noted of them', REPAIR),
    records.withOtherFields,
  ].filter((fault) => fault !== undefined);
}

const STEP_ROWS = 1000;

/** The family and name of the user; of a list that only has other words than those of its tags also its name and the right words. */
type WrongList =
  | [family: string, key: string]
  | [family: string, key: string, collection: string, words: string | null];

/** Lists with another body than that of their ETag, or with other words. */
async function* findWrongBodies(db: Rows, onStep: StepListener): AsyncGenerator<WrongList> {
  const total = await countRows(db, 'SELECT count(*) FROM lists');
  let read = 0;
  type List = [
    family: Family,
    key: string,
    body: string,
    collection: string,
    etag: string,
    words: string | null,
  ];
  const lists = `SELECT family, user_key, ${db.hex('body')}, collection, etag, words FROM lists`;
  for await (const [family, key, body, collection, etag, words] of db.rows<List>(lists)) {
    if (++read % STEP_ROWS === 0) onStep('compressed answers', read / total);
    const text = readBody(Buffer.from(body, 'hex')) ?? '';
    const start = `{"${collection}":`;
    const list = text.slice(start.length, -1);
    const wanted = collection === listWithWords(family) ? searchTags(list) : null;
    if (!text.startsWith(start) || !text.endsWith('}') || computeEtag(list) !== etag) yield [family, key];
    else if (words !== wanted) yield [family, key, collection, wanted];
  }
}

/** The family and id of users that a search misses. `misplaced` are those with other words in the table than in their profile and lists. */
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

/**
 * Takes the ETags from what is wrong, and derives everything anew; how much was wrong. What is derived then differs from it, also
 * under the same ETag, so that the users are noted as changed.
 */
export async function repairAll(db: SqlAdapter, options: DeriveOptions = {}): Promise<number> {
  const onStep: StepListener = (name, share) => options.onStep?.(`comparing ${name}`, share);
  const wrong = await selectWrong(db);
  onStep('profiles');
  const profiles = await db.run(
    `UPDATE profiles SET etag = '' WHERE (family, user_key) IN (${wrong.profiles})`,
  );
  onStep('lists');
  const lists = await unmarkLists(db, wrong.lists, onStep);
  onStep('names');
  const users = await correctWords(db, wrong.words);
  const misnamed = await wrongNames(db);
  const records =
    misnamed === undefined ? 0 : await countRows(db, `SELECT count(*) FROM (${misnamed}) AS wrong`);
  await deriveEverything(db, options);
  return profiles + lists + users + records + (await repairCounts(db));
}

/** Of how many users. All lists of one have one ETag. Words are no part of an answer, so that where only these are wrong, they are corrected. */
async function unmarkLists(db: SqlAdapter, wrong: string, onStep: StepListener): Promise<number> {
  const found = new Set<string>();
  const lists: WrongList[] = await Array.fromAsync(db.rows<[string, string]>(wrong));
  onStep('compressed answers');
  for await (const list of findWrongBodies(db, onStep)) lists.push(list);
  for (const [family, key, collection, words] of lists) {
    found.add(`${family} ${key}`);
    const isList = 'WHERE family = $1 AND user_key = $2';
    if (collection === undefined) await db.run(`UPDATE lists SET etag = '' ${isList}`, [family, key]);
    else
      await db.run(`UPDATE lists SET words = nullif($4, '') ${isList} AND collection = $3`, [
        family,
        key,
        collection,
        words ?? '',
      ]);
  }
  return found.size;
}

/** Of how many users. Where only the table is wrong, it is derived anew. */
async function correctWords(db: SqlAdapter, misplaced: string): Promise<number> {
  const found = new Set<string>();
  for await (const [family, id] of db.rows(misplaced)) found.add(`${family} ${id}`);
  for (const { family, id, words } of await Array.fromAsync(findWrongWords(db))) {
    found.add(`${family} ${id}`);
    await db.run('UPDATE profiles SET words = $1 WHERE family = $2 AND id = $3', [words, family, id]);
  }
  return found.size;
}
