// `--map`: a module of the operator makes records of objects of any shape.
import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as turn } from 'node:timers/promises';
import { readRecords } from '../formats/detect.ts';
import { type Entry, FormatError, problemAt } from '../formats/entry.ts';
import { describeType, isObject } from '../formats/json-text.ts';
import { isWrittenNumber } from '../records/scalar.ts';
import { kit } from './map-kit.ts';
import { loadModule, type MapModule } from './map-module.ts';
import { settled } from './settled.ts';

const BATCH_ENTRIES = 1000;
const LONGEST_WAIT_MS = 60_000;
const WANTED = 'a map returns a record, an array of records, or nothing';

export interface RecordMap {
  /** The records that the map makes of a file. */
  read(chunks: AsyncIterable<Buffer>, file?: string): AsyncGenerator<Entry[]>;
  /** The records that it makes after the last file. */
  end(): AsyncGenerator<Entry[]>;
}

export interface MapOptions {
  readonly longestWait?: number;
  readonly onUncaught?: OnUncaught;
  /** Called with what came too late to end the import. */
  readonly onLateError?: (sentence: string) => void;
}

/** Registers a listener for errors that nothing caught, and for promises whose rejection nothing handled. */
export type OnUncaught = (listener: (error: unknown) => void) => void;

export async function loadMap(
  path: string,
  { longestWait = LONGEST_WAIT_MS, onUncaught, onLateError }: MapOptions = {},
): Promise<RecordMap> {
  const module = await loadModule(path, longestWait);
  const uncaught: string[] = [];
  let place = { file: path, line: 1 };
  let isOver = false;

  onUncaught?.((error) => {
    const { file, line } = origin.getStore() ?? place;
    const sentence = `${file}:${line}: an error that the map did not catch: ${module.describe(error)}`;
    if (isOver) onLateError?.(sentence);
    else uncaught.push(sentence);
  });

  function throwUncaught(): void {
    if (uncaught[0] !== undefined) throw new Error(uncaught[0]);
  }

  return {
    async *read(chunks, file = path) {
      for await (const batch of readRecords(chunks, module)) {
        let mapped: Entry[] = [];
        for (const entry of batch) {
          place = { file, line: entry.line };
          for (const record of 'problem' in entry ? [entry] : await apply(module, entry, place, longestWait))
            mapped.push(record);
          if (mapped.length < BATCH_ENTRIES) continue;
          yield mapped;
          mapped = [];
        }
        yield mapped;
        throwUncaught();
      }
    },
    async *end() {
      if (module.end !== undefined) yield await atEnd(module, module.end, place, longestWait);
      // Node reports a rejection once all promises have had their turn.
      await turn();
      isOver = true;
      throwUncaught();
    },
  };
}

interface Place {
  readonly file: string;
  readonly line: number;
}

/** Where in the input the object is for which the map was called; also known to what the call leaves behind. */
const origin = new AsyncLocalStorage<Place>();

async function atEnd(
  module: MapModule,
  end: NonNullable<MapModule['end']>,
  place: Place,
  longestWait: number,
): Promise<Entry[]> {
  try {
    return entriesOf(await settled(origin.run(place, end, kit), longestWait), place.line, '');
  } catch (error) {
    throw new FormatError(`the end function of the map threw: ${module.describe(error)}`);
  }
}

type Readable = Extract<Entry, { readonly value: unknown }>;

async function apply(
  module: MapModule,
  entry: Readable,
  place: Place,
  longestWait: number,
): Promise<Entry[]> {
  const { line, value, text } = entry;
  try {
    const returned = origin.run(place, module.map, withPlainNumbers(value), kit);
    return entriesOf(isPromise(returned) ? await settled(returned, longestWait) : returned, line, text());
  } catch (error) {
    return [problemAt(line, `the map threw: ${module.describe(error)}`, text())];
  }
}

function entriesOf(returned: unknown, line: number, source: string): Entry[] {
  if (returned === undefined || returned === null) return [];
  const records: unknown[] = Array.isArray(returned) ? returned : [returned];
  return records.map((value) => {
    if (!isObject(value))
      return problemAt(line, `${WANTED}, and this one returned ${describeType(value)}`, source);
    return { line, value, text: () => jsonOf(value), isMapped: true };
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

/** What JSON.stringify cannot write, such as a cycle, has no place in a record anyway. */
function jsonOf(record: object): string {
  try {
    return JSON.stringify(record, (_member, value) => (typeof value === 'bigint' ? String(value) : value));
  } catch {
    return JSON.stringify({ record: 'cannot be written as JSON' });
  }
}
