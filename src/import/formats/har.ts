// HAR files, which browsers write: the answers of this API among what a browser fetched become records.
import { findKind } from '../../records/kinds.ts';
import { resolveAddresses } from '../../records/mending.ts';
import type { RawRecord } from '../../records/normalise.ts';
import { COLLECTIONS, readLookup, VARIANT_NAMES, VARIANTS } from '../../variants.ts';
import { type Entry, NoRecordsError, problemAt, type RecordReader } from './entry.ts';
import { JsonReader } from './json.ts';
import { findList, isObject, readBody, writeJson } from './json-text.ts';

/** Fifteen records of 64 KiB, each byte written as an escape of six. Longer entries are pictures or films, and passed over. */
const LONGEST_ANSWER = 8 * 1024 * 1024;

const NO_ANSWERS =
  'it holds no answers of this API: no address ends like /api/username/NAME or /api/?user=NAME';

export class HarReader implements RecordReader {
  readonly #json: JsonReader;
  #hasAnswers = false;

  constructor(firstLine: number) {
    this.#json = new JsonReader(firstLine, ['log.entries'], LONGEST_ANSWER);
  }

  read(piece: Buffer): Entry[] {
    return this.#json.read(piece).flatMap((entry) => this.#readEntry(entry));
  }

  end(): Entry[] {
    const entries = this.#json.end().flatMap((entry) => this.#readEntry(entry));
    if (!this.#hasAnswers && entries.length === 0) throw new NoRecordsError(NO_ANSWERS);
    return entries;
  }

  #readEntry(entry: Entry): Entry[] {
    if ('problem' in entry) return entry.isTooLong ? [] : [entry];
    const answer = readAnswer(entry.value, entry.line);
    this.#hasAnswers ||= answer !== undefined;
    return answer ?? [];
  }
}

/** The records of an answer with status 200; undefined for anything else. */
function readAnswer({ request, response }: RawRecord, line: number): Entry[] | undefined {
  if (!isObject(request) || !isObject(response) || request.method !== 'GET' || response.status !== 200)
    return undefined;
  const address = URL.parse(String(request.url));
  const lookup = address === null ? undefined : readLookup(address);
  if (lookup === undefined) return undefined;
  const { text = '', encoding } = isObject(response.content) ? response.content : {};
  const body = readBody(Buffer.from(String(text), encoding === 'base64' ? 'base64' : 'utf8'));
  const refuse = (problem: string) => [
    problemAt(line, `the body of ${request.url} cannot be used: ${problem}`),
  ];
  if (typeof body === 'string') return refuse(body);
  const isProfile = lookup.lookup === 'profile';
  const records = isProfile ? [body] : findList(body, COLLECTIONS);
  if (records === undefined) return refuse('it has no list of items');
  const variant = VARIANT_NAMES.find((name) => VARIANTS[name].style === lookup.style) ?? 'a';
  const kind = findKind(VARIANTS[variant].family, isProfile ? 'profile' : 'item');
  return records.map((raw) => {
    if (!isObject(raw)) return problemAt(line, `an item of ${request.url} is no JSON object`, writeJson(raw));
    const value = resolveAddresses(raw, kind, lookup.base);
    return { line, value, kind, text: () => writeJson(value) };
  });
}
