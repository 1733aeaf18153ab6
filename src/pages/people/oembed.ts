// oEmbed: tells a site that was given the address of a person's page how to show it. Addresses are compared with our own
// and never fetched.

import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import { type Static, Type } from '@sinclair/typebox';
import { RequestError, sendFailure } from '../../api/http/errors.ts';
import { JSON_TYPE, PRIVATE } from '../../api/http/headers.ts';
import { FAULT } from '../../api/http/input.ts';
import { hostKey } from '../../config/mount.ts';
import { type Config, listMounts } from '../../config/settings.ts';
import { userNameFault } from '../../records/user-name.ts';
import type { Reader } from '../../stores/reader.ts';
import { findLanguage } from '../languages/language.ts';
import { markup } from '../markup.ts';
import { cardImage, MOST_TILES } from './card-image.ts';
import { type Person, personTitle } from './person.ts';
import { pageRoute } from './person-pages.ts';
import { createPersonReplies } from './person-replies.ts';

interface OembedOptions {
  readonly config: Config;
  readonly store: Reader;
}

const Parameter = Type.Optional(Type.String({ [FAULT]: 'QUERY_MALFORMED' }));
const Query = Type.Object({ url: Parameter, format: Parameter, maxwidth: Parameter, maxheight: Parameter });

export const oembed: FastifyPluginCallbackTypebox<OembedOptions> = (app, { config, store }, done) => {
  // A page has endlessly many addresses here.
  const headers = { ...PRIVATE, 'content-type': JSON_TYPE };
  // A client may name any host: answers hold the address of one that the operator has named.
  const sites = listMounts(config).flatMap((mount) => {
    if (mount.base.origin === undefined) return [];
    const origin = `${mount.base.origin}/`;
    const replies = createPersonReplies(config, mount, store);
    const version = replies.createVersion((person) =>
      embed(config, person, origin, mount.variant, EVERYWHERE),
    );
    return { mount, origin, replies, version };
  });

  const { schema, ...options } = pageRoute(config);
  const route = { ...options, schema: { ...schema, querystring: Query } };
  app.get<{ Querystring: Static<typeof Query> }>('/oembed', route, async (request, reply) => {
    const { url = '', format = 'json', maxwidth, maxheight } = request.query;
    if (format !== 'json') return sendFailure(reply, 'FORMAT_UNKNOWN');
    const address = readAddress(url);
    const site = sites.find(
      ({ mount }) => mount.variant === address.variant && hostKey(address.host) === mount.base.host,
    );
    if (site === undefined) throw new RequestError('ROUTE_NOT_FOUND');
    const { mount, origin, replies, version } = site;
    const room = { width: readLimit(maxwidth), height: readLimit(maxheight) };
    const render = (person: Person) => ({ text: embed(config, person, origin, mount.variant, room) });
    if (await replies.send(reply, address.name, { version, headers, render, mostItems: MOST_TILES }))
      return reply;
    // There are endlessly many addresses: none is kept longer than other errors.
    return replies.sendMissing(reply, address.name, false);
  });
  done();
};

/** What the consumer has room for, in pixels. */
interface Room {
  readonly width: number;
  readonly height: number;
}

const EVERYWHERE: Room = { width: Number.POSITIVE_INFINITY, height: Number.POSITIVE_INFINITY };

const readLimit = (text: string | undefined) =>
  text !== undefined && /^\d{1,6}$/.test(text) ? Number(text) : Number.POSITIVE_INFINITY;

/** oEmbed 1.0: a card in a frame, in which nothing runs, and a link; only the link where there is no room. */
function embed(config: Config, person: Person, origin: string, variant: string, room: Room): string {
  const path = `${variant}/${encodeURIComponent(person.username)}`;
  const page = `${origin}people/${path}`;
  const title = personTitle(person);
  const [, width = 0, height = 0] = (
    / width="(\d+)" height="(\d+)"/.exec(cardImage(person, findLanguage(config))) ?? []
  ).map(Number);
  const html = markup`<blockquote><a href="${page}">${title}</a></blockquote><iframe src="${origin}card/${path}.svg" width="${width}" height="${height}" title="${title}" style="border:0" sandbox="" loading="lazy"></iframe>`;
  const fits = width <= room.width && height <= room.height;
  return JSON.stringify({
    version: '1.0',
    type: fits ? 'rich' : 'link',
    title,
    author_name: person.name,
    author_url: page,
    provider_name: config.siteName,
    provider_url: config.siteUrl ?? origin,
    ...(fits && { html: html.text, width, height }),
  });
}

const PAGE = /^\/people\/([a-z])\/([^/]+)\/?$/;

/** The user of the page that an address names. */
function readAddress(text: string) {
  const url = URL.parse(text);
  const [, variant, segment = ''] = PAGE.exec(url?.pathname ?? '') ?? [];
  try {
    const name = decodeURIComponent(segment);
    if (url !== null && /^https?:$/.test(url.protocol) && userNameFault(name) === undefined)
      return { variant, name, host: url.host };
  } catch {
    // No user has a name with a broken escape.
  }
  throw new RequestError('ROUTE_NOT_FOUND');
}
