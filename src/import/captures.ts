// The answers of archives: the newest whole capture of each lookup becomes records when all files are read. They wait in a
// scratch file, because archives may be larger than memory.
import { type Capture, type Entry, FormatError, problemAt } from '../formats/entry.ts';
import { findList, isObject, readBody, writeJson } from '../formats/json-text.ts';
import { type Family, findKind } from '../records/kinds.ts';
import { resolveAddresses } from '../records/mending.ts';
import type { RawRecord } from '../records/recognise.ts';
import { userKey } from '../records/user-name.ts';
import { openScratch } from '../stores/sqlite/connect.ts';
import { COLLECTIONS, readLookup, VARIANT_NAMES, VARIANTS } from '../variants.ts';
import { encodePlace } from './faults.ts';
import type { Warnings } from './report.ts';

const TABLE = `
  CREATE TABLE captures (
    n INTEGER PRIMARY KEY, family TEXT, user_key TEXT, is_profile INTEGER,
    time REAL, file INTEGER, line INTEGER, url TEXT, problem TEXT, body BLOB
  )`;

/**
 * `place` is 1 for the newest capture of a lookup whose body can be read, or else for its newest. Profiles come before their
 * items.
 */
const CAPTURES = `
  WITH placed AS (
    SELECT n, row_number() OVER (
      PARTITION BY family, user_key, is_profile ORDER BY problem IS NOT NULL, time DESC, n DESC
    ) AS place
    FROM captures
  )
  SELECT n, place, family, is_profile AS isProfile, file, line, url, problem FROM placed JOIN captures USING (n)
  WHERE place = 1 OR problem IS NOT NULL ORDER BY family, user_key, is_profile DESC, n`;

const NO_ANSWERS =
  'the archives hold no answers of this API: no address ends like /api/username/NAME or /api/?user=NAME';
const REPLACED = 'bodies that cannot be used, in whose place are others of the same address';

interface KeptCapture {
  readonly n: number;
  readonly place: number;
  readonly family: Family;
  readonly isProfile: number;
  readonly file: number;
  readonly line: number;
  readonly url: string;
  readonly problem: string | null;
}

export function openCaptures(warnings: Warnings) {
  const db = openScratch();
  db.exec(TABLE);
  const keep = db.prepare('INSERT INTO captures VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
  const findBody = db.prepare('SELECT body FROM captures WHERE n = ?').pluck();

  return {
    /** Keeps an answer of this API, and passes over anything else. */
    add({ line, url, time, body }: Capture, file: number): void {
      const parsed = URL.parse(url);
      const lookup = parsed === null ? undefined : readLookup(parsed);
      if (lookup === undefined) return;
      const isProfile = lookup.lookup === 'profile';
      const read = readBody(body);
      const isList = typeof read !== 'string' && findList(read, COLLECTIONS) !== undefined;
      const problem =
        typeof read === 'string' ? read : isProfile || isList ? null : 'it has no list of items';
      const variant = VARIANT_NAMES.find((name) => VARIANTS[name].style === lookup.style);
      const { family } = VARIANTS[variant ?? 'a'];
      keep.run(family, userKey(lookup.user), Number(isProfile), time, file, line, url, problem, body);
    },

    /** The records of the newest captures, each capture with the number of its file. */
    *entries(): Generator<{ readonly file: number; readonly batch: Entry[] }> {
      let isEmpty = true;
      for (const capture of db.prepare(CAPTURES).iterate() as Iterable<KeptCapture>) {
        isEmpty = false;
        const { n, place, file, line, url, problem } = capture;
        if (place > 1) warnings.warn(REPLACED, encodePlace(file, line), () => `${url}: ${problem}`);
        else if (problem === null)
          yield { file, batch: readCapture(capture, readBody(findBody.get(n) as Buffer) as RawRecord) };
        else yield { file, batch: [problemAt(line, `the body of ${url} cannot be used: ${problem}`)] };
      }
      if (isEmpty) throw new FormatError(NO_ANSWERS);
    },

    [Symbol.dispose]: () => db[Symbol.dispose](),
  };
}

function readCapture({ family, isProfile, line, url }: KeptCapture, body: RawRecord): Entry[] {
  const kind = findKind(family, isProfile ? 'profile' : 'item');
  const base = readLookup(new URL(url))?.base ?? new URL(url);
  return (isProfile ? [body] : (findList(body, COLLECTIONS) ?? [])).map((raw) => {
    if (!isObject(raw)) return problemAt(line, `an item of ${url} is no JSON object`, writeJson(raw));
    const value = resolveAddresses(raw, kind, base);
    return { line, value, kind, text: () => writeJson(value) };
  });
}
