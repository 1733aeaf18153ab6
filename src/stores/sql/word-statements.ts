// What users are found by: `profiles.words`, `lists.words`, and the table `words`, which derive.ts keeps. In SQL that
// SQLite and PostgreSQL both understand.
import { MOST_WORDS_OF_USER, searchWords } from '../../records/search-words.ts';
import type { Rows } from './sql-adapter.ts';
import { parseRecord } from './wrong-records.ts';

/** Ends the last of all words that begin alike. */
export const LAST = '\u{10ffff}';

/** A page of the directory, and one user more. */
const MOST_USERS = 51;
/** The words that a search reads: all of one user may begin alike. */
const MOST_FOUND = MOST_USERS * MOST_WORDS_OF_USER;

/** Users by the first of their words between two; parameters: family, first, last, limit. */
export const selectFound = ([family, first, last, limit]: readonly [string, string, string, string]) => `
  SELECT id, min(word) AS word FROM (
    SELECT word, id FROM words WHERE family = ${family} AND word >= ${first} AND word < ${last}
    ORDER BY word, id LIMIT ${MOST_FOUND}) AS alike
  GROUP BY id ORDER BY 2, 1 LIMIT ${limit}`;

type Profile = [family: string, id: string, words: string, record: string];

/** The profiles with other words than those of their records, and the right ones. */
export async function* findWrongWords(db: Rows) {
  const profiles = 'SELECT family, CAST(id AS text), words, record FROM profiles';
  for await (const [family, id, stored, record] of db.rows<Profile>(profiles)) {
    const words = searchWords(parseRecord(record));
    if (words !== stored) yield { family, id, words };
  }
}
