// Copies of pictures as data: URLs, for images that may load nothing.
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { Config } from '../config/config.ts';
import { mediaDirOf, mediaUrlOf } from '../config/media.ts';
import { readParts, sizeOf } from '../http/file-parts.ts';
import { MEDIA_NAME, mediaPath, mediaType } from '../records/media-types.ts';

/** An image is loaded with each view of a page of others, so it should be small. */
const MOST_BYTES = 128 * 1024;
const NAME = new RegExp(MEDIA_NAME);

/** Gives the copy that a URL names; undefined if it names none, or one that is large, no picture, or cannot be read. */
export function createCopies(config: Config): (url: string) => Promise<string | undefined> {
  const folder = mediaDirOf(config);
  const start = `${mediaUrlOf(config)}/`;

  return async (url) => {
    const name = url.slice(start.length);
    if (folder === undefined || !url.startsWith(start) || !NAME.test(name)) return undefined;
    const type = mediaType(name);
    const path = join(folder, mediaPath(name));
    try {
      const size = await sizeOf(path);
      if (!type.startsWith('image/') || size === undefined || size > MOST_BYTES) return undefined;
      const bytes = await buffer(readParts(path, { start: 0, end: size - 1 }));
      return `data:${type};base64,${bytes.toString('base64')}`;
    } catch {
      // An image does without it. The route of pictures logs why a file cannot be read.
      return undefined;
    }
  };
}
