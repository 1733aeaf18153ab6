// Sends a user as a card, a feed or for oEmbed. The ETag consists of the template's version and the ETags of the data, so that
// nothing is rendered, and no body read, for a client that has it already.

import type { FastifyReply } from 'fastify';
import { allowsSharedCaching } from '../../api/http/cache-control.ts';
import { matches } from '../../api/http/conditions.ts';
import { sendFailure } from '../../api/http/errors.ts';
import { sendRendered } from '../../api/http/fresh.ts';
import type { Headers } from '../../api/http/headers.ts';
import { createUserTags } from '../../api/http/user-tags.ts';
import { findMissingCode } from '../../api/lookup.ts';
import type { ExampleUsers } from '../../api/openapi/example-users.ts';
import type { Mount } from '../../config/mount.ts';
import { VERSION } from '../../config/package-files.ts';
import { type Config, listMounts } from '../../config/settings.ts';
import { computeEtag, joinEtags } from '../../records/etag.ts';
import { userKey } from '../../records/user-name.ts';
import type { Awaitable, Reader } from '../../stores/reader.ts';
import { VARIANTS } from '../../variants.ts';
import { readNewest } from './history.ts';
import { picturesTag } from './page-pictures.ts';
import type { Person } from './person.ts';
import type { KnownPictures } from './pictures.ts';
import { parsePerson, specimen } from './read-person.ts';

export interface PeopleOptions {
  readonly config: Config;
  readonly mount: Mount;
  readonly store: Reader;
  readonly exampleUsers: () => Awaitable<ExampleUsers>;
}

/** A way to show a user. */
export interface Template {
  /** Changes with everything that shapes what is rendered, but for the user's data. */
  readonly version: () => string;
  readonly headers: Headers;
  /** Items that it shows, at most. */
  readonly mostItems: number;
  /** What is known of the pictures that a text names, for what shows them. */
  readPictures?(text: string): Promise<KnownPictures>;
  render(person: Person, pictures: KnownPictures): Awaitable<RenderedReply>;
}

interface RenderedReply {
  readonly text: string;
  /** A part of it could not be read. The response gets an ETag that no later one has, so that clients ask again. */
  readonly isIncomplete?: boolean;
}

const NOTHING: RenderedReply = { text: '' };
const NO_PICTURES: KnownPictures = new Map();

export function createPersonReplies(config: Config, { variant }: Mount, store: Reader) {
  const { family } = VARIANTS[variant];
  const tagUser = createUserTags(config);

  return {
    tagUser,

    /** The version of a template. No start waits for the specimen. */
    createVersion(render: (person: Person) => string): () => string {
      let version: string | undefined;
      return () =>
        (version ??= computeEtag(describeSettings(config) + render(specimen(variant))).slice(1, -1));
    },

    /** Sends the rendered user. Returns false, and sends nothing, if there is no such user. */
    async send(reply: FastifyReply, name: string, template: Template): Promise<boolean> {
      const key = userKey(name);
      const found = await readNewest(store, variant, key);
      if (found === undefined) return false;
      const pictures = (await template.readPictures?.(found.texts())) ?? NO_PICTURES;
      const tags = [template.version(), found.profile.etag, found.etag, ...picturesTag(pictures)];
      const isKnown = matches(reply.request.headers['if-none-match'], joinEtags(...tags));
      const person = () => parsePerson(variant, found, template.mostItems);
      const { text, isIncomplete = false } = isKnown ? NOTHING : await template.render(person(), pictures);
      if (isIncomplete) tags.push('incomplete');
      tagUser(reply, family, key, isShared(template.headers) && !isIncomplete);
      sendRendered(reply, { ...template.headers, etag: joinEtags(...tags) }, () => text);
      return true;
    },

    /** Sends why there is no such user. */
    async sendMissing(reply: FastifyReply, name: string, isLasting = true): Promise<FastifyReply> {
      const key = userKey(name);
      const code = await findMissingCode(store, config.takedownStatus, family, key);
      tagUser(reply, family, key, isLasting);
      return sendFailure(reply, code);
    },
  };
}

/** All that shapes what is rendered, besides the template and the users. */
export function describeSettings(config: Config): string {
  const { imageHosts, mediaUrl, siteLanguage, siteName, siteLogo, siteUrl, accent } = config;
  const origins = listMounts(config).map(({ variant, base }) => [variant, base.origin]);
  return JSON.stringify([
    VERSION,
    imageHosts,
    mediaUrl,
    siteLanguage,
    siteName,
    siteLogo,
    siteUrl,
    accent,
    origins,
  ]);
}

/** Whether shared caches may keep it. */
const isShared = (headers: Headers) => allowsSharedCaching(headers['cache-control'] ?? '');
