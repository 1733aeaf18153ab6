// What pages need to know of the pictures that they show: of copies of ours, their size and small pictures.

import { findMediaUrl } from '../../config/media.ts';
import type { Config } from '../../config/settings.ts';
import { COPY, smallName } from '../../records/copy-files.ts';
import { computeEtag } from '../../records/etag.ts';
import type { Reader } from '../../stores/reader.ts';
import type { KnownPictures } from './pictures.ts';

const NAME = new RegExp(`^${COPY}`);
/** A page of the directory names 50 faces and 150 works, each in two sizes. */
const MOST_PICTURES = 350;

/** Reads what is known of the copies that a text names, in one query; without copies there is none. */
export function createPictureReader(config: Config, store: Reader) {
  const start = `${findMediaUrl(config)}/`;

  return async (text: string): Promise<KnownPictures> => {
    // Of records as they are stored: JSON escapes nothing in such an address.
    const rests = text.split(start).slice(1);
    const files = rests.flatMap((rest) => NAME.exec(rest) ?? []);
    if (files.length === 0) return new Map();
    const found = await store.pictures([...new Set(files)].slice(0, MOST_PICTURES));
    return new Map(
      [...found].map(([file, { small, ...facts }]) => [
        start + file,
        { ...facts, small: small.map((width) => ({ url: start + smallName(file, width), width })) },
      ]),
    );
  };
}

/** What is known of the pictures of a page, as a part of its ETag. */
export const picturesTag = (pictures: KnownPictures): readonly string[] =>
  pictures.size === 0 ? [] : [computeEtag(JSON.stringify([...pictures]))];
