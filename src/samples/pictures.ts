// The sample users' pictures: static SVG files in fixtures/pictures.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = join(import.meta.dirname, '../../fixtures/pictures');

let files: ReadonlySet<string> | undefined;

/**
 * The picture with this file name; undefined if there is none. Only names found in the folder are opened, so no
 * name leads out of it. SVG scales without loss, so `NAME-large.svg` is the same file as `NAME.svg`.
 */
export function samplePicture(name: string): Buffer | undefined {
  files ??= new Set(readdirSync(FOLDER));
  const file = name.replace(/-large\.svg$/, '.svg');
  return files.has(file) ? readFileSync(join(FOLDER, file)) : undefined;
}
