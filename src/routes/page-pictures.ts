// What pages need to know of the pictures that they show: of copies of ours, their size and small files.
import type { Config } from '../config/config.ts';
import { findMediaUrl } from '../config/media.ts';
import { computeEtag } from '../records/etag.ts';
import { COPY_NAME, smallName } from '../records/media-types.ts';
import type { Reader } from '../stores/reader.ts';
import type { Person } from '../views/person.ts';
import type { KnownPictures } from '../views/pictures.ts';

const COPY = new RegExp(COPY_NAME);

/** Reads what is known of pictures by their addresses, in one query; without copies there is none. */
export function createPictureReader(config: Config, store: Reader) {
  const start = `${findMediaUrl(config)}/`;

  return async (urls: readonly string[]): Promise<KnownPictures> => {
    const files = new Set<string>();
    for (const url of urls)
      if (url.startsWith(start) && COPY.test(url.slice(start.length))) files.add(url.slice(start.length));
    if (files.size === 0) return new Map();
    const found = await store.pictures([...files]);
    return new Map(
      [...found].map(([file, { small, ...facts }]) => [
        start + file,
        { ...facts, small: small.map((width) => ({ url: start + smallName(file, width), width })) },
      ]),
    );
  };
}

/** The addresses of all pictures that the page of a person may show. */
export const listPictures = ({ cover, avatar, smallAvatar, items }: Person) => [
  cover,
  avatar,
  smallAvatar,
  ...items.flatMap(({ image, smallImage, extras }) => [
    image,
    smallImage,
    ...extras.map(({ thumbnail }) => thumbnail),
  ]),
];

/** What is known of the pictures of a page, as a part of its ETag. */
export const picturesTag = (pictures: KnownPictures): readonly string[] =>
  pictures.size === 0 ? [] : [computeEtag(JSON.stringify([...pictures]))];
