// Loads the module of `--map` and says in a sentence what is wrong with it.
import { hash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { FormatError } from '../formats/entry.ts';
import { brief } from '../records/printable.ts';
import type { MapTools } from './map-kit.ts';

interface MapModule {
  /** Makes records of one object of the input. */
  readonly map: (object: unknown, tools: MapTools) => unknown;
  /** Makes records after the last object. */
  readonly end: ((tools: MapTools) => unknown) | undefined;
  /** Members of JSON, or elements of XML, that hold the objects. */
  readonly lists: readonly string[];
  /** The files that are read of a folder. */
  readonly files: RegExp | undefined;
  /** Another one after each change of the module. */
  readonly version: string;
  /** What was thrown in it, with the line of the module. */
  readonly describe: (error: unknown) => string;
}

const MODULE = 'export default (object, kit) => …';

/** Those of the package, by their names. */
const READY_MAPS = new URL('../maps/', import.meta.url);
let loads = 0;

function findModule(path: string): URL {
  const ready = /^\w+$/.test(path) ? new URL(`${path}.mjs`, READY_MAPS) : undefined;
  if (ready !== undefined && existsSync(ready)) return ready;
  if (!existsSync(path)) throw new FormatError(`${path} does not exist`);
  return pathToFileURL(resolve(path));
}

export async function loadModule(path: string): Promise<MapModule> {
  // A module remembers what it was given: each import needs one of its own.
  const file = findModule(path);
  const href = `${file.href}?import=${++loads}`;
  const describe = (error: unknown) => describeThrown(error, href, basename(path));
  const module: Record<string, unknown> = await import(href).catch((error) => {
    throw new FormatError(`${path} cannot be loaded: ${describe(error)}`);
  });
  const { default: map, end, lists = [], files } = module;
  if (!isFunction(map)) throw new FormatError(`${path} has no default function: ${MODULE}`);
  if (end !== undefined && !isFunction(end))
    throw new FormatError(`${path}: end must be a function: export const end = (kit) => …`);
  if (!Array.isArray(lists) || !lists.every((name) => typeof name === 'string' && name !== ''))
    throw new FormatError(`${path}: lists must be an array of names, such as ['orderedItems']`);
  if (files !== undefined && !(files instanceof RegExp))
    throw new FormatError(`${path}: files must be a regular expression for names, such as /\\.json$/`);
  return { map, end, lists, files, version: hash('sha256', readFileSync(file)), describe };
}

const isFunction = (value: unknown): value is (...given: unknown[]) => unknown => typeof value === 'function';

/** Whatever is thrown must not throw again while it is described. */
function describeThrown(error: unknown, href: string, name: string): string {
  try {
    if (!(error instanceof Error)) return brief(error) || typeof error;
    const line = readText(error, 'stack').split(`${href}:`)[1]?.match(/^\d+/)?.[0];
    const place = line === undefined ? '' : ` (${name}:${line})`;
    const kind = readText(error, 'name');
    const [message] = readText(error, 'message').split('\n');
    const prefix = kind === 'Error' || kind === '' ? '' : `${kind}: `;
    return `${prefix}${message || 'an error without a message'}${place}`;
  } catch {
    return 'something that cannot be shown';
  }
}

function readText(error: Error, member: 'stack' | 'name' | 'message'): string {
  try {
    const value: unknown = error[member];
    return typeof value === 'string' ? value : brief(value);
  } catch {
    return '';
  }
}
