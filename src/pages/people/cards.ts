// One user outside of JSON, for other sites: an image of their card, and feeds of their newest items.

import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import { caching } from '../../api/http/headers.ts';
import { findLanguage } from '../languages/language.ts';
import { createLook } from '../look.ts';
import { INERT_WITH_PICTURE, SVG } from '../page-headers.ts';
import { type CardPictures, cardImage, MOST_TILES } from './card-image.ts';
import { addFeeds } from './feeds.ts';
import { createInlineReader } from './inline-pictures.ts';
import { createPictureReader } from './page-pictures.ts';
import type { Person } from './person.ts';
import { type PersonRoute, personRoute } from './person-pages.ts';
import { createPersonReplies, type PeopleOptions, type Template } from './person-replies.ts';

export const people: FastifyPluginCallbackTypebox<PeopleOptions> = (app, options, done) => {
  const { config, mount, store } = options;
  const { variant } = mount;
  const { send, sendMissing, createVersion } = createPersonReplies(config, mount, store);

  const look = createLook(config);
  const language = findLanguage(config);
  const readInline = createInlineReader(config);
  const card = (person: Person, pictures: CardPictures = {}) =>
    look.paint(cardImage(person, language, pictures));
  const template: Template = {
    version: createVersion(card),
    headers: { ...INERT_WITH_PICTURE, ...caching(config), 'content-type': SVG },
    mostItems: MOST_TILES,
    readPictures: createPictureReader(config, store),
    render: async (person, known) => {
      const { isMissing, ...pictures } = await readInline(person, known);
      return { text: card(person, pictures), isIncomplete: isMissing };
    },
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
