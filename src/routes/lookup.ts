// What both route styles share: the user name as input, the response schemas, and finding and sending an answer.

import { type TSchema, Type } from '@sinclair/typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../config/config.ts';
import type { BaseUrl } from '../config/setting-values.ts';
import { acceptsGzip, knownEtags, NotModified, type WriteAnswer } from '../http/answer.ts';
import { type ErrorCode, errorResponses, sendFailure } from '../http/errors.ts';
import { FAULT } from '../http/input.ts';
import type { Operation } from '../http/observations.ts';
import type { TagUser } from '../http/user-tags.ts';
import type { Family } from '../records/kinds.ts';
import { itemsBody, MicroblogProfile, PortfolioProfile, Post, Shot } from '../records/schemas.ts';
import { isTooLong, UserName, userKey } from '../records/user-name.ts';
import type { Answer, Awaitable, LookupOptions, Reader } from '../stores/reader.ts';
import { VARIANTS, type Variant } from '../variants.ts';

export interface VariantOptions {
  readonly variant: Variant;
  readonly base: BaseUrl;
  readonly store: Pick<Reader, 'profile' | 'items' | 'isTakenDown'>;
  readonly writeAnswer: WriteAnswer;
  readonly tagUser: TagUser;
  readonly takedownStatus: Config['takedownStatus'];
}

const RECORDS = {
  microblog: { Profile: MicroblogProfile, Item: Post },
  portfolio: { Profile: PortfolioProfile, Item: Shot },
} as const;

/** The bodies of a variant's two lookups. */
export function variantBodies(variant: Variant) {
  const { family, collection } = VARIANTS[variant];
  const { Profile, Item } = RECORDS[family];
  return { Profile, Items: itemsBody(`Items${variant.toUpperCase()}`, collection, Item) };
}

/** The responses of a lookup: the body, 304, and its errors. */
export const lookupResponses = (
  { takedownStatus }: Pick<VariantOptions, 'takedownStatus'>,
  body: TSchema,
  ...more: ErrorCode[]
) => ({
  200: body,
  304: NotModified,
  ...errorResponses(
    'USER_MISSING',
    'USER_MALFORMED',
    'USER_TOO_LONG',
    'BAD_ESCAPE',
    'USER_NOT_FOUND',
    ...(takedownStatus === '410' ? (['USER_GONE'] as const) : []),
    ...more,
  ),
});

/** A user name as input, with the errors of what is none. */
export const UserInput = Type.Unsafe<string>({
  ...UserName,
  [FAULT](value: unknown): ErrorCode {
    if (value === undefined || value === '') return 'USER_MISSING';
    if (typeof value !== 'string') return 'USER_REPEATED';
    return isTooLong(value) ? 'USER_TOO_LONG' : 'USER_MALFORMED';
  },
});

/** Where requests for one host only are routed, with its default ports; any host without one. */
export const hostConstraint = ({ host }: BaseUrl) =>
  host === undefined
    ? {}
    : { host: new RegExp(`^${host.replace(/[.[\]]/g, '\\$&')}(?::(?:80|443)?)?$`, 'i') };

/** Why there is nothing to send about a user. */
export async function missingUser(
  store: Pick<Reader, 'isTakenDown'>,
  takedownStatus: Config['takedownStatus'],
  family: Family,
  key: string,
): Promise<'USER_GONE' | 'USER_NOT_FOUND'> {
  const isGone = takedownStatus === '410' && (await store.isTakenDown(family, key));
  return isGone ? 'USER_GONE' : 'USER_NOT_FOUND';
}

/** Key, store, then 304 or the body. */
export function createLookups({ variant, store, writeAnswer, tagUser, takedownStatus }: VariantOptions) {
  const { family, collection } = VARIANTS[variant];

  const createLookup =
    (operation: Operation, find: (key: string, options: LookupOptions) => Awaitable<Answer | undefined>) =>
    async (request: FastifyRequest, reply: FastifyReply, user: string): Promise<void> => {
      const key = userKey(user);
      const { 'if-none-match': ifNoneMatch, 'accept-encoding': acceptEncoding } = request.headers;
      const options = { known: knownEtags(ifNoneMatch), gzip: acceptsGzip(acceptEncoding) };
      const answer = await find(key, options);
      if (answer === undefined) {
        const code = await missingUser(store, takedownStatus, family, key);
        tagUser(reply.raw, family, key);
        return void sendFailure(reply, code);
      }
      tagUser(reply.raw, family, key);
      writeAnswer(request.raw, reply.raw, operation, answer, options.known);
      // Not before: what throws here, such as a damaged ETag, is answered by Fastify.
      reply.hijack();
    };

  const operations = { profile: { variant, name: 'profile' }, items: { variant, name: 'items' } } as const;
  return {
    operations,
    sendProfile: createLookup(operations.profile, (key, options) => store.profile(family, key, options)),
    sendItems: createLookup(operations.items, (key, options) =>
      store.items(family, key, collection, options),
    ),
  };
}
