// One user outside of JSON, for other sites: an image of their card, and feeds of their newest items.
import { join } from 'node:path';
import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import type { Config } from '../config/config.ts';
import { findMediaFolder, findMediaUrl } from '../config/media.ts';
import { INERT } from '../http/answer.ts';
import { RequestError, sendFailure } from '../http/errors.ts';
import { fileSize, readWhole } from '../http/file-parts.ts';
import { PAGE } from '../http/observations.ts';
import { MEDIA_NAME, mediaPath, mediaType } from '../records/media-types.ts';
import { cardImage } from '../views/card-image.ts';
import { createLook } from '../views/look.ts';
import type { Person } from '../views/person.ts';
import { previewImage } from '../views/preview-image.ts';
import { createPngRenderer, shownText } from '../views/render-png.ts';
import { addFeeds } from './feeds.ts';
import { hostConstraint, lookupResponses, UserInput } from './lookup.ts';
import { INERT_WITH_PICTURE } from './page-headers.ts';
import { createPersonReplies, type PeopleOptions, type Template } from './person-replies.ts';
import { SVG } from './web-file.ts';

const Params = Type.Object({ username: UserInput });

export const people: FastifyPluginCallbackTypebox<PeopleOptions> = (app, options, done) => {
  const { config, mount, store } = options;
  const { variant, base } = mount;
  const { send, absence, versionOf } = createPersonReplies(config, mount, store);

  const route = {
    constraints: hostConstraint(base),
    config: { operation: PAGE },
    schema: { hide: true, params: Params, response: lookupResponses(config, Type.String()) },
  };
  const serve = (url: string, template: Template) =>
    app.get(url, route, async (request, reply) => {
      const { username } = request.params;
      if (await send(request, reply, username, template)) return reply;
      return sendFailure(reply, await absence(username));
    });

  const cached = { 'cache-control': config.cacheControl };
  const look = createLook(config);
  const copyOf = createCopies(config);
  const card = (person: Person, avatar?: string) => look.paint(cardImage(person, avatar));
  serve(`/card/${variant}/:username.svg`, {
    version: versionOf(card),
    headers: { ...INERT_WITH_PICTURE, ...cached, 'content-type': SVG },
    render: async (person) => card(person, await copyOf(person.smallAvatar)),
  });

  const renderPng = createPngRenderer();
  const preview = (person: Person) => look.paint(previewImage(person, look.name, shownText));
  serve(`/card/${variant}/:username.png`, {
    version: versionOf(preview),
    headers: { ...INERT, ...cached, 'content-type': 'image/png' },
    async render(person) {
      const png = await renderPng(preview(person));
      if (png === undefined) throw new RequestError('OVERLOADED');
      return png;
    },
  });
  addFeeds(app, options);
  done();
};

/** An image is loaded with each view of a page of others, so it should be small. */
const MOST_INLINE_BYTES = 128 * 1024;
const COPY_NAME = new RegExp(MEDIA_NAME);

/**
 * Gives the copy of a picture that a URL names, as a data: URL for images that may load nothing; undefined if it names
 * none, or one that is large, no picture, or cannot be read.
 */
function createCopies(config: Config): (url: string) => Promise<string | undefined> {
  const folder = findMediaFolder(config);
  const start = `${findMediaUrl(config)}/`;

  return async (url) => {
    const name = url.slice(start.length);
    if (folder === undefined || !url.startsWith(start) || !COPY_NAME.test(name)) return undefined;
    const type = mediaType(name);
    const path = join(folder, mediaPath(name));
    try {
      const size = await fileSize(path);
      if (!type.startsWith('image/') || size === undefined || size > MOST_INLINE_BYTES) return undefined;
      const bytes = await readWhole(path, size);
      return `data:${type};base64,${bytes.toString('base64')}`;
    } catch {
      // An image does without it. The route of pictures logs why a file cannot be read.
      return undefined;
    }
  };
}
