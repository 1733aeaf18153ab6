// What users are found by: `profiles.words`, and the table `words`, which triggers fill from it. In SQL that SQLite and
// PostgreSQL both understand.
import { searchWords } from '../../records/search-words.ts';
import type { Rows, SqlAdapter } from './sql-adapter.ts';
import { parseRecord } from './wrong-records.ts';

/** Ends the last of all words that begin alike. */
export const LAST = '\u{10ffff}';

/** The words that a search reads. One user may have nine of them that begin alike. */
const MOST_FOUND = 600;

/** Users by the first of their words between two; parameters: family, first, last, limit. */
export const selectFound = ([family, first, last, limit]: readonly [string, string, string, string]) => `
  SELECT id, min(word) AS word FROM (
    SELECT word, id FROM words WHERE family = ${family} AND word >= ${first} AND word < ${last}
    ORDER BY word, id LIMIT ${MOST_FOUND}) AS alike
  GROUP BY id ORDER BY 2, 1 LIMIT ${limit}`;

/** After a first import, during which triggers leave the words alone: in their order, each page of the index is written once. */
export const FILL_WORDS = `INSERT INTO words SELECT family, word, id FROM words_of_profiles WHERE true
  ORDER BY family, word, id ON CONFLICT DO NOTHING`;

const missingFrom = (other: string) =>
  `WHERE NOT EXISTS (SELECT 1 FROM ${other} AS o WHERE o.family = each.family AND o.word = each.word AND o.id = each.id)`;
const MISPLACED = `
  SELECT family, CAST(id AS text) FROM words_of_profiles AS each ${missingFrom('words')}
  UNION ALL SELECT family, CAST(id AS text) FROM words AS each ${missingFrom('words_of_profiles')}`;

type Profile = [family: string, id: string, words: string, record: string];

/** The profiles with other words than those of their names, and the right ones. */
export async function* findWrongWords(db: Rows) {
  const profiles = 'SELECT family, CAST(id AS text), words, record FROM profiles';
  for await (const [family, id, stored, record] of db.rows<Profile>(profiles)) {
    const { username = '', name = '' } = parseRecord(record);
    const words = searchWords(username, name);
    if (words !== stored) yield { family, id, words };
  }
}

/** The family and id of users that a search misses. */
export async function* findUnsearchable(db: Rows): AsyncGenerator<[string, string]> {
  for await (const { family, id } of findWrongWords(db)) yield [family, id];
  yield* db.rows<[string, string]>(MISPLACED);
}

export async function repairWords(db: SqlAdapter): Promise<number> {
  const wrong = await Array.fromAsync(findWrongWords(db));
  for (const { family, id, words } of wrong)
    await db.run('UPDATE profiles SET words = $1 WHERE family = $2 AND id = $3', [words, family, id]);
  const misplaced = await Array.fromAsync(db.rows(MISPLACED));
  if (misplaced.length > 0) {
    await db.run('DELETE FROM words');
    await db.run(FILL_WORDS);
  }
  return wrong.length + misplaced.length;
}
