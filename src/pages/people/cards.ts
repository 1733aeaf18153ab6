// One user outside of JSON, for other sites: an image of their card, and feeds of their newest items.
import { hash } from 'node:crypto';
import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import { findFile, readWhole } from '../../api/http/file-parts.ts';
import { caching } from '../../api/http/headers.ts';
import { findMediaFolder, findMediaUrl } from '../../config/media.ts';
import type { Config } from '../../config/settings.ts';
import { COPY_NAME, copyType, SMALL_WIDTHS, smallName } from '../../records/copy-files.ts';
import { createMediaFolder } from '../../stores/media-folder.ts';
import { findLanguage } from '../languages/language.ts';
import { createLook } from '../look.ts';
import { INERT_WITH_PICTURE, SVG } from '../page-headers.ts';
import { cardImage, MOST_TILES } from './card-image.ts';
import { addFeeds } from './feeds.ts';
import type { Person } from './person.ts';
import { type PersonRoute, personRoute } from './person-pages.ts';
import { createPersonReplies, type PeopleOptions, type Template } from './person-replies.ts';

export const people: FastifyPluginCallbackTypebox<PeopleOptions> = (app, options, done) => {
  const { config, mount, store } = options;
  const { variant } = mount;
  const { send, sendMissing, createVersion } = createPersonReplies(config, mount, store);

  const look = createLook(config);
  const language = findLanguage(config);
  const readCopy = createCopies(config);
  const card = (person: Person, avatar?: string) => look.paint(cardImage(person, language, avatar));
  const template: Template = {
    version: createVersion(card),
    headers: { ...INERT_WITH_PICTURE, ...caching(config), 'content-type': SVG },
    mostItems: MOST_TILES,
    render: async (person) => {
      const small = await readCopy(person.smallAvatar);
      const { image, isMissing } = small.image === undefined ? await readOther(person, small) : small;
      return isMissing ? { text: card(person), isIncomplete: true } : { text: card(person, image) };
    },
  };
  /** The large avatar may have a copy where the small one has none. */
  const readOther = async ({ avatar, smallAvatar }: Person, small: FoundCopy): Promise<FoundCopy> => {
    const large = avatar === smallAvatar ? {} : await readCopy(avatar);
    return large.image === undefined && small.isMissing ? small : large;
  };
  // The router's own pattern of a name before a suffix ends at U+2028.
  const url = `/card/${variant}/:username([^]*).svg`;
  app.get<PersonRoute>(url, personRoute(options), async (request, reply) => {
    const { username } = request.params;
    if (await send(reply, username, template)) return reply;
    return sendMissing(reply, username);
  });
  addFeeds(app, options);
  done();
};

/** An image is loaded with each view of a page of others, so it should be small. */
const MOST_INLINE_BYTES = 128 * 1024;
const COPY = new RegExp(COPY_NAME);

interface FoundCopy {
  /** As a data: URL, for images that may load nothing. */
  readonly image?: string;
  /** Whether there should be one that cannot be read. */
  readonly isMissing?: boolean;
}

/** The small picture of a copy that is too large, where there is one; nothing says which bytes it should have. */
async function readSmall(path: string): Promise<FoundCopy> {
  const { size = Number.POSITIVE_INFINITY } = (await findFile(path)) ?? {};
  if (size > MOST_INLINE_BYTES) return {};
  return { image: `data:image/webp;base64,${(await readWhole(path, size)).toString('base64')}` };
}

/** Reads the copy of a picture that a URL names. A large one, or what is no picture, is left out. */
function createCopies(config: Config): (url: string) => Promise<FoundCopy> {
  const place = findMediaFolder(config);
  const folder = place === undefined ? undefined : createMediaFolder(place);
  const start = `${findMediaUrl(config)}/`;

  return async (url) => {
    const name = url.slice(start.length);
    const isCopy = url.startsWith(start) && COPY.test(name) && copyType(name).startsWith('image/');
    if (folder === undefined || !isCopy) return {};
    const path = folder.findPlace(name);
    try {
      const { size = 0 } = (await findFile(path)) ?? {};
      if (size > MOST_INLINE_BYTES)
        return await readSmall(folder.findPlace(smallName(name, SMALL_WIDTHS[0])));
      const bytes = await readWhole(path, size);
      if (!name.startsWith(hash('sha256', bytes))) return { isMissing: true };
      return { image: `data:${copyType(name)};base64,${bytes.toString('base64')}` };
    } catch {
      // The route of pictures logs why a file cannot be read.
      return { isMissing: true };
    }
  };
}
