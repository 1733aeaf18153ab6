// `--map`: a module of the operator makes records of objects of any shape.
import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as turn } from 'node:timers/promises';
import { trimLists } from '../formats/csv.ts';
import { readRecords } from '../formats/detect.ts';
import { type Entry, FormatError, problemAt } from '../formats/entry.ts';
import { describeType, isObject, writeJson } from '../formats/json-text.ts';
import type { RawRecord } from '../records/recognise.ts';
import { isWrittenNumber } from '../records/scalar.ts';
import { kit, type MapTools } from './map-kit.ts';
import { loadModule } from './map-module.ts';

const BATCH_ENTRIES = 1000;
const WANTED = 'a map returns a record, an array of records, or nothing';

/** Listens to errors that nothing caught, and to promises whose rejection nothing handled; returns how to stop it. */
export type OnUncaught = (listener: (error: unknown) => void) => () => void;

/** Where in the input the object is for which the map was called; also known to what the call leaves behind. */
const origin = new AsyncLocalStorage<Place>();

interface Place {
  readonly file: string;
  readonly line: number;
}

export type RecordMap = Awaited<ReturnType<typeof loadMap>>;

/** What the operator says of an export. */
export interface ExportFacts {
  /** Where its files are published. */
  readonly filesUrl?: string | undefined;
  /** Whose it is. */
  readonly exportUser?: string | undefined;
}

export async function loadMap(path: string, onUncaught?: OnUncaught, facts: ExportFacts = {}) {
  const { map, end, lists, files, version, describe } = await loadModule(path);
  let place: Place = { file: path, line: 1 };
  let unpublished = 0;
  const tools: MapTools = {
    ...kit,
    file: () => (origin.getStore() ?? place).file,
    line: () => (origin.getStore() ?? place).line,
    media(path) {
      if (typeof path !== 'string' || path === '') return undefined;
      if (facts.filesUrl !== undefined)
        return kit.url(path.replace(/^\//, ''), facts.filesUrl.replace(/\/?$/, '/'));
      unpublished++;
      return undefined;
    },
    user: () => facts.exportUser,
  };
  const errors = watchErrors(() => place, describe, onUncaught);

  async function* checked(entries: Entry[]): AsyncGenerator<Entry[]> {
    yield entries;
    errors.throwFirst();
  }

  /** The records that the map makes of an object. `source` is its text: the map may change it. */
  async function apply(object: RawRecord, source: string, place: Place): Promise<Entry[]> {
    try {
      const returned = origin.run(place, map, withPlainNumbers(object), tools);
      return buildEntries(isPromise(returned) ? await returned : returned, place.line, source);
    } catch (error) {
      return [problemAt(place.line, `the map threw: ${describe(error)}`, source)];
    }
  }

  return {
    /** The records that the map makes of a file. */
    async *read(chunks: AsyncIterable<Buffer>, file: string, encoding?: string): AsyncGenerator<Entry[]> {
      for await (const batch of readRecords(chunks, { lists, encoding })) {
        let mapped: Entry[] = [];
        for (const entry of batch) {
          place = { file, line: entry.line };
          for (const record of 'problem' in entry ? [entry] : await apply(entry.value, entry.text(), place))
            mapped.push(record);
          if (mapped.length < BATCH_ENTRIES) continue;
          yield mapped;
          mapped = [];
        }
        yield* checked(mapped);
      }
    },
    /** The records that it makes after the last file. */
    async *end(): AsyncGenerator<Entry[]> {
      let last: Entry[] = [];
      try {
        if (end !== undefined) last = buildEntries(await origin.run(place, end, tools), place.line, '');
      } catch (error) {
        throw new FormatError(`the end function of the map threw: ${describe(error)}`);
      }
      // Node reports a rejection once all promises have had their turn.
      await turn();
      yield* checked(last);
    },
    apply,
    lists,
    /** Whether it makes records after the last file. */
    hasEnd: end !== undefined,
    version,
    /** The files that it reads of a folder. */
    files,
    /** How many files of the export have no address. */
    unpublished: () => unpublished,
    /** Later errors are not the map's any more. */
    close: errors.stop,
  };
}

/** Errors that calls of the map leave behind, in a timer or a promise. */
function watchErrors(
  currentPlace: () => Place,
  describe: (error: unknown) => string,
  onUncaught: OnUncaught | undefined,
) {
  let first: string | undefined;
  let stopListening = onUncaught?.((error) => {
    const { file, line } = origin.getStore() ?? currentPlace();
    first ??= `${file}:${line}: an error that the map did not catch: ${describe(error)}`;
  });
  return {
    throwFirst(): void {
      if (first !== undefined) throw new Error(first);
    },
    stop(): void {
      stopListening?.();
      stopListening = undefined;
    },
  };
}

function buildEntries(returned: unknown, line: number, source: string): Entry[] {
  if (returned === undefined || returned === null) return [];
  const records: unknown[] = Array.isArray(returned) ? returned : [returned];
  return records.map((value) => {
    if (!isObject(value))
      return problemAt(line, `${WANTED}, and this one returned ${describeType(value)}`, source);
    const trimmed = trimLists(value);
    return { line, value: trimmed, text: () => writeJson(trimmed), isMapped: true };
  });
}

const isPromise = (value: unknown): value is Promise<unknown> =>
  typeof (value as Promise<unknown> | undefined)?.then === 'function';

/** Numbers whose digits JavaScript would change become texts: 9.90, and ids beyond 2^53. */
function withPlainNumbers(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (isWrittenNumber(value)) {
    const number = Number(value.rawJSON);
    return String(number) === value.rawJSON ? number : value.rawJSON;
  }
  const members = value as Record<string, unknown>;
  for (const [name, member] of Object.entries(members)) {
    const plain = withPlainNumbers(member);
    if (plain !== member) members[name] = plain;
  }
  return value;
}
