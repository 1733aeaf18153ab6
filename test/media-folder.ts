// Folders of copied pictures for tests.
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Extension, mediaPath } from '../src/records/media-types.ts';

/** An image that runs a script if it may. */
export const SVG_WITH_SCRIPT =
  '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><rect width="8" height="8"/><script>document.documentElement.setAttribute("data-ran", "")</script></svg>';

/** Every file in a folder of copies, but the unfinished ones. */
export const copiesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.includes('.'))
    .sort();

/** Puts a file into a folder; returns its name. */
export function putCopy(folder: string, content: string | Buffer, extension: Extension = 'jpg'): string {
  const name = `${createHash('sha256').update(content).digest('hex')}.${extension}`;
  const path = join(folder, mediaPath(name));
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return name;
}
