// Pictures of a person as data: URLs, for images that may load nothing: the face, and small pictures of the cover and the
// newest works. An image is loaded with each view of a page of others, so what it holds is bounded.
import { hash } from 'node:crypto';
import { findFile, readWhole } from '../../api/http/file-parts.ts';
import { findMediaFolder, findMediaUrl } from '../../config/media.ts';
import type { Config } from '../../config/settings.ts';
import { COPY_NAME, copyType, SMALL_WIDTHS, smallName } from '../../records/copy-files.ts';
import { createMediaFolder } from '../../stores/media-folder.ts';
import type { Person } from './person.ts';
import type { KnownPictures } from './pictures.ts';

const MOST_BYTES = 128 * 1024;
/** Of all works together. One that does not fit is left out. */
const MOST_BYTES_OF_WORKS = 128 * 1024;
const COVER_WIDTH = SMALL_WIDTHS[1];
const COPY = new RegExp(COPY_NAME);

interface FoundCopy {
  /** As a data: URL. */
  readonly image?: string;
  readonly bytes?: number;
  /** Whether there should be one that cannot be read. */
  readonly isMissing?: boolean;
}

export interface InlinePictures {
  readonly avatar?: string | undefined;
  readonly cover?: string | undefined;
  /** For each item, in their order. */
  readonly works?: readonly (string | undefined)[];
  /** Whether one of them should be there and cannot be read. */
  readonly isMissing: boolean;
}

export function createInlineReader(config: Config) {
  const readCopy = createCopyReader(config);

  return async (person: Person, known: KnownPictures): Promise<InlinePictures> => {
    const avatar = await readAvatar(person, known);
    const cover = await readCover(person, known);
    const works = await readWorks(person, known);
    const isMissing = [avatar, cover, ...works].some((found) => found?.isMissing === true);
    return {
      avatar: avatar.image,
      cover: cover.image,
      works: works.map((found) => found?.image),
      isMissing,
    };
  };

  /** The large avatar may have a copy where the small one has none. */
  async function readAvatar({ avatar, smallAvatar }: Person, known: KnownPictures): Promise<FoundCopy> {
    const url = [smallAvatar, avatar].find((url) => known.get(url)?.small.length);
    if (url !== undefined) return readCopy(url, SMALL_WIDTHS[0]);
    const small = await readCopy(smallAvatar);
    if (small.image !== undefined || avatar === smallAvatar) return small;
    const large = await readCopy(avatar);
    return large.image === undefined && small.isMissing ? small : large;
  }

  /** The widest small picture that is wide enough at most; a copy without any is read itself, if it is small. */
  async function readCover({ cover }: Person, known: KnownPictures): Promise<FoundCopy> {
    const widths = known.get(cover)?.small.map(({ width }) => width) ?? [];
    return await readCopy(cover, widths.filter((width) => width <= COVER_WIDTH).at(-1));
  }

  async function readWorks({ items, noun }: Person, known: KnownPictures) {
    if (noun === 'posts') return [];
    let left = MOST_BYTES_OF_WORKS;
    const works: (FoundCopy | undefined)[] = [];
    for (const { image, smallImage } of items) {
      const url = [image, smallImage].find((url) => known.get(url)?.small.length);
      const found = url === undefined ? undefined : await readCopy(url, SMALL_WIDTHS[0]);
      const fits = (found?.bytes ?? 0) <= left;
      left -= fits ? (found?.bytes ?? 0) : 0;
      works.push(fits ? found : undefined);
    }
    return works;
  }
}

/** Reads the copy of a picture that a URL names, or a small picture of it. A large one, or what is no picture, is left out. */
function createCopyReader(config: Config) {
  const place = findMediaFolder(config);
  const folder = place === undefined ? undefined : createMediaFolder(place);
  const start = `${findMediaUrl(config)}/`;

  return async (url: string, width?: number): Promise<FoundCopy> => {
    const name = url.slice(start.length);
    const isCopy = url.startsWith(start) && COPY.test(name) && copyType(name).startsWith('image/');
    if (folder === undefined || !isCopy) return {};
    const pathOf = folder.findPlace;
    try {
      if (width !== undefined) return await readSmall(pathOf(smallName(name, width)));
      const { size = 0 } = (await findFile(pathOf(name))) ?? {};
      if (size > MOST_BYTES) return await readSmall(pathOf(smallName(name, SMALL_WIDTHS[0])));
      const bytes = await readWhole(pathOf(name), size);
      if (!name.startsWith(hash('sha256', bytes))) return { isMissing: true };
      return toDataUrl(copyType(name), bytes);
    } catch {
      // The route of pictures logs why a file cannot be read.
      return { isMissing: true };
    }
  };
}

/** A small picture, where there is one; nothing says which bytes it should have. */
async function readSmall(path: string): Promise<FoundCopy> {
  const { size = Number.POSITIVE_INFINITY } = (await findFile(path)) ?? {};
  return size > MOST_BYTES ? {} : toDataUrl('image/webp', await readWhole(path, size));
}

const toDataUrl = (type: string, body: Buffer): FoundCopy => ({
  image: `data:${type};base64,${body.toString('base64')}`,
  bytes: body.length,
});
