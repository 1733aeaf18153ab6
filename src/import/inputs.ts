// The files that an import reads, and the map for them.
import { readdirSync, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { FormatError } from '../formats/entry.ts';
import type { ExportFacts } from './map.ts';

export interface InputOptions extends ExportFacts {
  /** Paths; `-` is standard input. */
  readonly files: readonly string[];
  /** The module that makes records of other objects, or the name of a ready one. */
  readonly map?: string | undefined;
}

/** Loads the map and looks for the files, before a database is opened or created. */
export async function openInputs(options: InputOptions) {
  const map = await openMap(options);
  const files = options.files.flatMap((file) =>
    map?.files === undefined ? file : listFolder(file, map.files),
  );
  /** Unknown if standard input is among the files. */
  const totalBytes = await addSizes(files);
  return { map, files, totalBytes };
}

async function openMap({ map, ...facts }: InputOptions) {
  if (map === undefined) return undefined;
  const { loadMap } = await import('./map.ts');
  return await loadMap(map, facts);
}

/** The files of an unpacked export that its map reads. */
function listFolder(path: string, files: RegExp): string[] {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return [path];
  const all = readdirSync(path, { recursive: true, encoding: 'utf8' });
  // Unlike `test`, `search` does not remember where the last match ended.
  const found = all.filter((name) => name.search(files) !== -1).sort();
  if (found.length === 0) throw new FormatError(`${path} has no files of such an export`);
  return found.map((name) => join(path, name));
}

/** How many bytes all files have. */
async function addSizes(files: readonly string[]): Promise<number | undefined> {
  if (files.includes('-')) return undefined;
  const all = await Promise.all(files.map(async (file) => ({ file, stats: await stat(file) })));
  const folder = all.find(({ stats }) => stats.isDirectory());
  if (folder !== undefined) throw new FormatError(`${folder.file} is a folder: name the files in it`);
  return all.reduce((sum, { stats }) => sum + stats.size, 0);
}
