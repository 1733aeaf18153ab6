// oEmbed: tells a site that was given the address of a person's page how to show it. Addresses are compared with our own
// and never fetched.
import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import { type Config, listMounts } from '../config/config.ts';
import { hostKey } from '../config/setting-values.ts';
import { JSON_TYPE, UNSHARED } from '../http/answer.ts';
import { RequestError, sendFailure } from '../http/errors.ts';
import { userNameFault } from '../records/user-name.ts';
import type { Reader } from '../stores/reader.ts';
import { createLook } from '../views/look.ts';
import { type Embedding, oembed as write } from '../views/oembed.ts';
import type { Person } from '../views/person.ts';
import { pageRoute } from './person-pages.ts';
import { createPersonReplies } from './person-replies.ts';

interface OembedOptions {
  readonly config: Config;
  readonly store: Reader;
}

export const oembed: FastifyPluginCallbackTypebox<OembedOptions> = (app, { config, store }, done) => {
  const look = createLook(config);
  // A page has endlessly many addresses here.
  const headers = { ...UNSHARED, 'content-type': JSON_TYPE };
  const sites = listMounts(config).map((mount) => {
    const replies = createPersonReplies(config, mount, store);
    const buildEmbedding = (origin: string, { username }: Person, room: Room): Embedding => {
      const path = `${mount.variant}/${encodeURIComponent(username)}`;
      return {
        page: `${origin}/people/${path}`,
        card: `${origin}/card/${path}.svg`,
        picture: `${origin}/card/${path}.png`,
        provider: { name: look.name, url: config.siteUrl ?? `${origin}/` },
        ...room,
      };
    };
    const version = replies.createVersion((person) =>
      write(person, buildEmbedding(mount.base.origin ?? '', person, EVERYWHERE)),
    );
    return { mount, replies, buildEmbedding, version };
  });

  app.get('/oembed', pageRoute(config), async (request, reply) => {
    const query = new URLSearchParams(request.url.slice(request.url.indexOf('?') + 1 || request.url.length));
    if ((query.get('format') ?? 'json') !== 'json') return sendFailure(reply, 'FORMAT_UNKNOWN');
    const address = readAddress(query.get('url') ?? '');
    const site = sites.find(
      ({ mount }) =>
        mount.variant === address.variant &&
        hostKey(address.host) === (mount.base.host ?? hostKey(request.headers.host ?? '')),
    );
    if (site === undefined) throw new RequestError('ROUTE_NOT_FOUND');
    const { replies, buildEmbedding, version } = site;
    const room = { maxWidth: readLimit(query.get('maxwidth')), maxHeight: readLimit(query.get('maxheight')) };
    const origin = site.mount.base.origin ?? address.origin;
    const render = (person: Person) => write(person, buildEmbedding(origin, person, room));
    if (await replies.send(request, reply, address.name, { version, headers, render })) return reply;
    // There are endlessly many addresses: none is kept longer than other errors.
    return replies.sendAbsence(reply, address.name, false);
  });
  done();
};

type Room = Pick<Embedding, 'maxWidth' | 'maxHeight'>;
const EVERYWHERE: Room = { maxWidth: Number.POSITIVE_INFINITY, maxHeight: Number.POSITIVE_INFINITY };

const readLimit = (text: string | null) =>
  text !== null && /^\d{1,6}$/.test(text) ? Number(text) : Number.POSITIVE_INFINITY;

const PAGE = /^\/people\/([a-z])\/([^/]+)\/?$/;

/** Whose page an address names. */
function readAddress(text: string) {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const [, variant, segment = ''] = PAGE.exec(url?.pathname ?? '') ?? [];
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw new RequestError('ROUTE_NOT_FOUND');
  let name: string;
  try {
    name = decodeURIComponent(segment);
  } catch {
    throw new RequestError('ROUTE_NOT_FOUND');
  }
  if (userNameFault(name) !== undefined) throw new RequestError('ROUTE_NOT_FOUND');
  return { variant, name, host: url.host, origin: url.origin };
}
