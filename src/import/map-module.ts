// Loads the module of `--map` and says in a sentence what is wrong with it.
import { statSync } from 'node:fs';
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
  /** What was thrown in it, with the line of the module. */
  readonly describe: (error: unknown) => string;
}

const MODULE = 'export default (object, kit) => …';

export async function loadModule(path: string): Promise<MapModule> {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) throw new FormatError(`${path} does not exist`);
  // Node keeps a module by its address: one that was saved since is another.
  const href = `${pathToFileURL(resolve(path))}?${stats.mtimeMs}`;
  const describe = (error: unknown) => describeThrown(error, href, basename(path));
  const module: Record<string, unknown> = await import(href).catch((error) => {
    throw new FormatError(`${path} cannot be loaded: ${describe(error)}`);
  });
  const { default: map, end, lists = [] } = module;
  if (!isFunction(map)) throw new FormatError(`${path} has no default function: ${MODULE}`);
  if (end !== undefined && !isFunction(end))
    throw new FormatError(`${path}: end must be a function: export const end = (kit) => …`);
  if (!Array.isArray(lists) || !lists.every((name) => typeof name === 'string' && name !== ''))
    throw new FormatError(`${path}: lists must be an array of names, such as ['orderedItems']`);
  return { map, end, lists, describe };
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
