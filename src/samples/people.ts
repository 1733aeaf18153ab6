// The sample users that the pages begin with, and their pictures. They exist in both families.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What stands in the fixtures for the address of their pictures. */
export const FIXTURE_PICTURES = 'https://vitrine.example/samples/';

/** Names, and the files of their avatars. */
export const SAMPLE_PEOPLE: ReadonlyMap<string, string> = new Map([
  ['ada', 'avatar-ada.svg'],
  ['Amara', 'avatar-amara.svg'],
  ['yuki.type', 'avatar-yuki-type.svg'],
  ['lucia_r', 'avatar-lucia-r.svg'],
  ['林晓', 'avatar-linxiao.svg'],
  ['Zoë', 'avatar-zoe.svg'],
  ['Mo Farouk', 'avatar-mo-farouk.svg'],
  ['elodie', 'avatar-elodie.svg'],
  ['quiet_reader', ''],
]);

const FOLDER = join(import.meta.dirname, '../../fixtures/pictures');

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
