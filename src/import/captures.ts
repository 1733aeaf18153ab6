// The answers of archives: the newest whole capture of each lookup becomes records when all files are read. They wait in a
// scratch file, because archives may be larger than memory.
import type { ArchiveSink, Capture } from '../formats/capture.ts';
import { type Entry, FormatError, problemAt } from '../formats/entry.ts';
import { findList, isObject, readBody, writeJson } from '../formats/json-text.ts';
import { type Family, findKind, KINDS, type RecordKind } from '../records/kinds.ts';
import { resolveAddresses } from '../records/mending.ts';
import type { RawRecord } from '../records/recognise.ts';
import { digitsText, scalarText } from '../records/scalar.ts';
import { userKey } from '../records/user-name.ts';
import { openScratch } from '../stores/sqlite/connect.ts';
import { COLLECTIONS, readLookup, VARIANT_NAMES, VARIANTS } from '../variants.ts';
import { encodePlace } from './faults.ts';
import type { Warnings } from './warnings.ts';

const TABLES = `
  CREATE TABLE bodies (digest TEXT PRIMARY KEY, body BLOB NOT NULL);
  CREATE TABLE captures (
    n INTEGER PRIMARY KEY, family TEXT, user_key TEXT, is_profile INTEGER,
    time REAL, file INTEGER, line INTEGER, url TEXT, digest TEXT, problem TEXT
  )`;

/** `place` is 1 for the newest capture of a lookup whose body can be read, or else for its newest. */
const CAPTURES = `
  WITH judged AS (
    SELECT *, coalesce(problem, iif(digest IN (SELECT digest FROM bodies), NULL, 'it is in none of the files')) AS flaw
    FROM captures
  ), placed AS (
    SELECT *, row_number() OVER (
      PARTITION BY family, user_key, is_profile ORDER BY flaw IS NOT NULL, time DESC, n DESC
    ) AS place
    FROM judged
  )
  SELECT family, user_key AS userKey, is_profile AS isProfile, file, line, url, digest, flaw FROM placed`;
/** Profiles come before their items. */
const NEWEST = `${CAPTURES} WHERE place = 1 ORDER BY family, user_key, is_profile DESC`;
const REPLACED = `${CAPTURES} WHERE place > 1 AND flaw IS NOT NULL ORDER BY file, line`;

const NO_ANSWERS =
  'the archives hold no answers of this API: no address ends like /api/username/NAME or /api/?user=NAME';

interface KeptCapture {
  readonly family: Family;
  readonly userKey: string;
  readonly isProfile: number;
  readonly file: number;
  readonly line: number;
  readonly url: string;
  readonly digest: string;
  readonly flaw: string | null;
}

const SKIPPED = 'entries of archives that were passed over';
const REPLACED_BODIES = 'bodies that cannot be used, in whose place are others of the same address';

/** The captures of all archives. The scratch file is made with the first archive. */
export function createCaptures(warnings: Warnings) {
  let kept: ReturnType<typeof openCaptures> | undefined;

  return {
    /** Takes what the archive holds that is the file of this number. */
    sinkFor: (file: number): ArchiveSink => ({
      open() {
        kept ??= openCaptures();
      },
      add: (capture) => kept?.add(capture, file),
      skip: (line) => warnings.warn(SKIPPED, encodePlace(file, line), () => 'too long to be read'),
    }),

    /** The records of the newest captures, each capture with the number of its file. */
    *entries(): Generator<{ readonly file: number; readonly batch: Entry[] }> {
      if (kept === undefined) return;
      yield* kept.entries();
      for (const { file, line, url, flaw } of kept.replaced())
        warnings.warn(REPLACED_BODIES, encodePlace(file, line), () => `${url}: ${flaw}`);
    },

    [Symbol.dispose]: () => kept?.close(),
  };
}

function openCaptures() {
  const db = openScratch();
  db.exec(TABLES);
  const keepBody = db.prepare('INSERT OR IGNORE INTO bodies VALUES (?, ?)');
  const keepCapture = db.prepare('INSERT INTO captures VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
  const findBody = db.prepare('SELECT body FROM bodies WHERE digest = ?').pluck();
  let answers = 0;

  return {
    /** Keeps an answer of this API, and passes over anything else. */
    add({ line, url, time, body, digest, flaw }: Capture, file: number): void {
      const parsed = URL.parse(url);
      const lookup = parsed === null ? undefined : readLookup(parsed);
      if (lookup === undefined) return;
      answers++;
      const whole = body === undefined ? undefined : readBody(body);
      const key = digest ?? `answer ${answers}`;
      const isReadable = typeof whole !== 'string';
      if (body !== undefined && isReadable) keepBody.run(key, body);
      const problem = isReadable ? null : (flaw ?? whole);
      const family = VARIANT_NAMES.map((name) => VARIANTS[name]).find(
        ({ style }) => style === lookup.style,
      )?.family;
      const isProfile = Number(lookup.lookup === 'profile');
      keepCapture.run(family, userKey(lookup.user), isProfile, time, file, line, url, key, problem);
    },

    *entries(): Generator<{ readonly file: number; readonly batch: Entry[] }> {
      if (answers === 0) throw new FormatError(NO_ANSWERS);
      let owner: { readonly id: string; readonly key: string } | undefined;
      for (const capture of db.prepare(NEWEST).iterate() as Iterable<KeptCapture>) {
        const { family, userKey, isProfile, file, line, url, digest, flaw } = capture;
        const key = `${family} ${userKey}`;
        if (flaw !== null) {
          yield { file, batch: [problemAt(line, `the body of ${url} cannot be used: ${flaw}`)] };
          continue;
        }
        const value = readBody(findBody.get(digest) as Buffer) as RawRecord;
        if (isProfile) owner = { id: digitsText(value.id) ?? '', key };
        const batch = isProfile
          ? [readProfile(value, capture)]
          : readItems(value, capture, owner?.key === key ? owner.id : undefined);
        yield { file, batch };
      }
    },

    /** Those that cannot be used, and in whose place another one is. */
    replaced: () => db.prepare(REPLACED).all() as KeptCapture[],

    close: () => void db.close(),
  };
}

function readProfile(value: RawRecord, { family, userKey: wanted, line, url }: KeptCapture): Entry {
  const name = scalarText(value.username);
  if (name !== undefined && userKey(name) !== wanted)
    return problemAt(line, `the profile of ${url} is not the user's who was asked for`, writeJson(value));
  return recordAt(line, value, findKind(family, 'profile'), url);
}

function readItems(value: RawRecord, { family, line, url }: KeptCapture, owner?: string): Entry[] {
  const list = findList(value, COLLECTIONS);
  if (list === undefined)
    return [problemAt(line, `the body of ${url} cannot be used: it has no list of items`)];
  const kind = findKind(family, 'item');
  const member = (KINDS[kind] as RecordKind).owner ?? '';
  return list.map((item) => {
    if (!isObject(item)) return problemAt(line, `an item of ${url} is no JSON object`, writeJson(item));
    if (owner !== undefined && digitsText(item[member]) !== owner)
      return problemAt(line, `an item of ${url} belongs to another user than ${owner}`, writeJson(item));
    return recordAt(line, item, kind, url);
  });
}

function recordAt(line: number, raw: RawRecord, kind: ReturnType<typeof findKind>, url: string): Entry {
  const lookup = readLookup(new URL(url));
  const value = resolveAddresses(raw, kind, lookup?.base ?? new URL(url));
  return { line, value, kind, text: () => writeJson(value) };
}
