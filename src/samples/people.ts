// The sample users that the pages begin with, and their pictures. They exist in both families.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageFile } from '../package-files.ts';

/** What stands in the fixtures for the address of their pictures. */
export const FIXTURE_PICTURES = 'https://vitrine.example/samples/';

export const SAMPLE_PEOPLE: readonly string[] = [
  'ada',
  'Amara',
  'yuki.type',
  'lucia_r',
  '林晓',
  'Zoë',
  'Mo Farouk',
  'elodie',
  'quiet_reader',
];

const FOLDER = packageFile('fixtures/pictures');

let files: ReadonlySet<string> | undefined;

/**
 * The picture with this file name, from static SVG files; undefined if there is none. Only names found in the folder are opened, so no
 * name leads out of it. SVG scales without loss, so `NAME-large.svg` is the same file as `NAME.svg`.
 */
export function samplePicture(name: string): Buffer | undefined {
  files ??= new Set(readdirSync(FOLDER));
  const file = name.replace(/-large\.svg$/, '.svg');
  return files.has(file) ? readFileSync(join(FOLDER, file)) : undefined;
}
