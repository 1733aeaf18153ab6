// `--map`: a module of the operator makes records of objects of any shape.

import { existsSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { isPromise, isRegExp } from 'node:util/types';
import { packageFile } from '../config/package-files.ts';
import type { DateOrder } from '../records/dates.ts';
import type { RawRecord } from '../records/normalise.ts';
import { brief } from '../records/printable.ts';
import { isObject, isWrittenNumber } from '../records/scalar.ts';
import { unlessAborted } from '../records/unless-aborted.ts';
import { trimLists } from './formats/csv.ts';
import { readRecords } from './formats/detect.ts';
import { type Entry, FormatError, problemAt } from './formats/entry.ts';
import { describeType, writeJson } from './formats/json-text.ts';
import { kit, type MapTools } from './map-kit.ts';

const MODULE = 'export default (object, kit) => …';
const WANTED = 'a map returns a record, an array of records, or nothing';

let loads = 0;

/** What the operator says of an export. */
export interface ExportFacts {
  /** Where its files are published. */
  readonly filesUrl?: string | undefined;
  /** The owner. */
  readonly exportUser?: string | undefined;
  /** The order of day and month in dates that a spreadsheet wrote. */
  readonly dates?: DateOrder | undefined;
  /** Ends the wait for promises of the map, which may never settle. */
  readonly signal?: AbortSignal | undefined;
}

/** Where in the input an object is. */
interface Place {
  readonly file: string;
  readonly line: number;
  readonly list?: string | undefined;
}

export type RecordMap = Awaited<ReturnType<typeof loadMap>>;

export async function loadMap(path: string, facts: ExportFacts = {}) {
  const { signal } = facts;
  const { map, end, lists, files, describe } = await unlessAborted(loadModule(path), signal);
  const tools = createTools(facts);
  let last: Place = { file: path, line: 1, list: undefined };
  /** The first object, for the warning that no list was found. */
  let firstObject: string | undefined;
  let hasList = false;

  /** The records that the map makes of an object. `source` is its text: the map may change it. */
  async function apply(object: RawRecord, source: string, place: Place): Promise<Entry[]> {
    try {
      const returned = map(withPlainNumbers(object), tools.at(place));
      return buildEntries(await settle(returned, signal), place.line, source);
    } catch (error) {
      signal?.throwIfAborted();
      return [problemAt(place.line, `the map threw: ${describe(error)}`, source)];
    }
  }

  return {
    /** The records that the map makes of a file, those of each object together. */
    async *read(chunks: AsyncIterable<Buffer>, file: string, encoding?: string): AsyncGenerator<Entry[]> {
      for await (const batch of readRecords(chunks, { lists, encoding }))
        for (const entry of batch) {
          last = { file, line: entry.line, list: entry.list };
          hasList ||= entry.list !== undefined;
          if (lists.length > 0 && 'value' in entry) firstObject ??= describeMembers(entry.value, last);
          yield 'problem' in entry ? [entry] : await apply(entry.value, entry.text(), last);
        }
    },
    /** The records that it makes after the last file. */
    async end(): Promise<Entry[]> {
      try {
        if (end === undefined) return [];
        return buildEntries(await settle(end(tools.at(last)), signal), last.line, '');
      } catch (error) {
        signal?.throwIfAborted();
        throw new FormatError(`the end function of the map threw: ${describe(error)}`);
      } finally {
        // A promise of the map that was rejected and not awaited ends the process, before anything is committed.
        await nextTurn();
      }
    },
    /** The files that it reads of a folder. */
    files,
    /** Warnings about likely mistakes. */
    warnings(): string[] {
      const warnings: string[] = [];
      const count = tools.unpublished();
      if (count > 0) warnings.push(`pictures and films left out: ${count}: ${PUBLISH_FILES}`);
      if (!hasList && firstObject !== undefined)
        warnings.push(`none of the lists ${lists.join(', ')} was found: ${firstObject}`);
      return warnings;
    },
  };
}

/** Most maps return at once: to watch the signal for each object would cost more than the map. */
const settle = async <T>(returned: T | Promise<T>, signal: AbortSignal | undefined): Promise<T> =>
  isPromise(returned) ? unlessAborted(returned, signal) : returned;

const PUBLISH_FILES = "publish the export's files, and give their address with --files-url";

const describeMembers = (object: RawRecord, { file, line }: Place) =>
  `the object in ${file}:${line} has ${brief(Object.keys(object).join(', '))}`;

function createTools({ filesUrl, exportUser, dates }: ExportFacts) {
  let unpublished = 0;

  function media(path: unknown): string | undefined {
    if (typeof path !== 'string' || path === '') return undefined;
    if (filesUrl !== undefined) return kit.url(path.replace(/^\//, ''), filesUrl.replace(/\/?$/, '/'));
    unpublished++;
    return undefined;
  }

  return {
    at: ({ file, line, list }: Place): MapTools => ({
      ...kit,
      date: (given, order = dates) => kit.date(given, order),
      media,
      user: () => exportUser,
      file: () => file,
      line: () => line,
      list: () => list,
    }),
    unpublished: () => unpublished,
  };
}

type MapFunction = (...given: unknown[]) => unknown;

/** What a module should export. */
interface MapModule {
  readonly default?: MapFunction;
  readonly end?: MapFunction;
  readonly lists?: readonly string[];
  /** Files of a folder. */
  readonly files?: RegExp;
}

async function loadModule(path: string) {
  // A module remembers what it was given: each import needs one of its own.
  const href = `${findModule(path).href}?import=${++loads}`;
  const describe = (error: unknown) => describeThrown(error, href, basename(path));
  const module: MapModule = await import(href).catch((error) => {
    throw new FormatError(`${path} cannot be loaded: ${describe(error)}`);
  });
  const { default: map, end, lists = [], files } = module;
  if (typeof map !== 'function') throw new FormatError(`${path} has no default function: ${MODULE}`);
  if (!Array.isArray(lists) || !lists.every((name) => typeof name === 'string' && name !== ''))
    throw new FormatError(`${path}: lists must be an array of names, such as ['orderedItems']`);
  if (files !== undefined && !isRegExp(files))
    throw new FormatError(`${path}: files must be a regular expression, such as /\\.json$/`);
  return { map, end, lists, files, describe };
}

function findModule(path: string): URL {
  const ready = /^\w+$/.test(path) ? pathToFileURL(packageFile(`src/import/maps/${path}.mjs`)) : undefined;
  if (ready !== undefined && existsSync(ready)) return ready;
  if (!existsSync(path)) throw new FormatError(`${path} does not exist`);
  return pathToFileURL(resolve(path));
}

/** What was thrown, with the line of the module. */
function describeThrown(error: unknown, href: string, name: string): string {
  if (!(error instanceof Error)) return brief(error) || typeof error;
  const [sentence = ''] = String(error).split('\n');
  const line = /^\d+/.exec(String(error.stack).split(`${href}:`)[1] ?? '')?.[0];
  return sentence.replace(/^Error: /, '') + (line === undefined ? '' : ` (${name}:${line})`);
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

/** Numbers with digits that JavaScript would change become texts: 9.90, and ids beyond 2^53. */
function withPlainNumbers(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (isWrittenNumber(value)) {
    const number = Number(value.rawJSON);
    return String(number) === value.rawJSON ? number : value.rawJSON;
  }
  // Those of an array are named by their places.
  const members = value as Record<string, unknown>;
  for (const [name, member] of Object.entries(members)) {
    const plain = withPlainNumbers(member);
    if (plain !== member) members[name] = plain;
  }
  return value;
}
