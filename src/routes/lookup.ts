// What both route styles share: the user name as input, the response schemas, and finding and sending an answer.

import { type TSchema, Type } from '@sinclair/typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../config/config.ts';
import type { BaseUrl } from '../config/setting-values.ts';
import type { AnswerCache } from '../http/answer-cache.ts';
import { type ErrorCode, errorResponses } from '../http/errors.ts';
import type { Operation } from '../http/operations.ts';
import { sendFailure } from '../http/replies.ts';
import type { WriteAnswer } from '../http/write-answer.ts';
import { itemsBody, MicroblogProfile, PortfolioProfile, Post, Shot } from '../records/schemas.ts';
import { userKey } from '../records/user-name.ts';
import type { Answer, Awaitable, Reader } from '../stores/reader.ts';
import { VARIANTS, type Variant } from '../variants.ts';

/** An answer in the cache, with the operation it is counted under. */
export interface ReadyAnswer extends Answer {
  readonly body: Buffer;
  readonly operation: Operation;
}

export interface VariantOptions {
  readonly variant: Variant;
  readonly base: BaseUrl;
  readonly store: Reader;
  readonly cache: AnswerCache<ReadyAnswer>;
  readonly writeAnswer: WriteAnswer;
  readonly takedownStatus: Config['takedownStatus'];
}

const RECORDS = {
  microblog: { Profile: MicroblogProfile, Item: Post },
  portfolio: { Profile: PortfolioProfile, Item: Shot },
} as const;

export const NotModified = Type.Null({ description: 'Nothing has changed since; there is no body.' });

/** The bodies of a variant's two lookups. */
export function bodiesOf(variant: Variant) {
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

/** Where requests for one host only are routed; any host without one. */
export const siteConstraint = ({ host }: BaseUrl) => (host === undefined ? {} : { site: host });

/** The cache key of an address; a base address with a host has keys of its own. */
export const addressKey = (host: string | undefined, address: string) =>
  host === undefined ? address : `${host} ${address}`;

/** Where the two lookups of a user are, written as clients should: such requests find ready answers before routing. */
export interface Addresses {
  readonly profile: (encodedKey: string) => string;
  readonly items: (encodedKey: string) => string;
}

export function createLookups(options: VariantOptions, addresses: Addresses) {
  const { variant, base, store, cache, writeAnswer, takedownStatus } = options;
  const { family, collection } = VARIANTS[variant];
  const operations = {
    profile: { variant, name: 'profile' },
    items: { variant, name: 'items' },
  } as const satisfies Record<string, Operation>;

  function send(request: FastifyRequest, reply: FastifyReply, operation: Operation, answer: Answer): void {
    reply.hijack();
    writeAnswer(request.raw, reply.raw, operation, answer);
  }

  function sendUnknown(reply: FastifyReply, key: string): Awaitable<void> {
    const settle = (isGone: boolean) => void sendFailure(reply, isGone ? 'USER_GONE' : 'USER_NOT_FOUND');
    const isGone = takedownStatus === '410' && store.isTakenDown(family, key);
    return isGone instanceof Promise ? isGone.then(settle) : settle(isGone);
  }

  function answer(
    request: FastifyRequest,
    reply: FastifyReply,
    operation: Operation,
    key: string,
    address: string,
    read: (known: string | undefined) => Awaitable<Answer | undefined>,
  ): Awaitable<void> {
    const ready = cache.find(address);
    if (ready !== undefined) return send(request, reply, operation, ready);
    const version = cache.currentVersion();
    const settle = (found: Answer | undefined): Awaitable<void> => {
      if (found === undefined) return sendUnknown(reply, key);
      const { etag, body } = found;
      if (body !== null) cache.keep(address, { etag, body, operation }, version);
      send(request, reply, operation, found);
    };
    const found = read(request.headers['if-none-match']);
    return found instanceof Promise ? found.then(settle) : settle(found);
  }

  return {
    operations,

    sendProfile(request: FastifyRequest, reply: FastifyReply, name: string): Awaitable<void> {
      const key = userKey(name);
      const address = addressKey(base.host, base.path + addresses.profile(encodeURIComponent(key)));
      return answer(request, reply, operations.profile, key, address, (known) =>
        store.profile(family, key, known),
      );
    },

    sendItems(request: FastifyRequest, reply: FastifyReply, name: string): Awaitable<void> {
      const key = userKey(name);
      const address = addressKey(base.host, base.path + addresses.items(encodeURIComponent(key)));
      return answer(request, reply, operations.items, key, address, (known) =>
        store.items(family, key, collection, known),
      );
    },
  };
}
