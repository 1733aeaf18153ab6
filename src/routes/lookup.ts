// The lookups of a user: what both route styles share, which is the user name as input, the response schemas, and finding and
// sending an answer; then the two styles.
import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import { type TSchema, Type } from '@sinclair/typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../config/config.ts';
import { type BaseUrl, hostConstraint } from '../config/mount.ts';
import { type AnswerWriter, acceptsGzip, knownEtags, NotModified, writeAnswer } from '../http/answer.ts';
import { type ErrorCode, errorResponses, sendFailure } from '../http/errors.ts';
import { FAULT } from '../http/input.ts';
import type { Operation } from '../http/observations.ts';
import type { TagUser } from '../http/user-tags.ts';
import { type Family, ITEM_CAP } from '../records/kinds.ts';
import { itemsBody, MicroblogProfile, PortfolioProfile, Post, Shot } from '../records/schemas.ts';
import { isTooLong, UserName, userKey } from '../records/user-name.ts';
import type { Answer, Awaitable, LookupOptions, Reader } from '../stores/reader.ts';
import { type LookupAddresses, VARIANTS, type Variant } from '../variants.ts';

export interface VariantOptions {
  readonly variant: Variant;
  readonly base: BaseUrl;
  /** Below the prefix. */
  readonly addresses: LookupAddresses;
  readonly store: Pick<Reader, 'profile' | 'items' | 'isTakenDown'>;
  readonly writer: AnswerWriter;
  /** Undefined if no cache reads tags. */
  readonly tagUser: TagUser | undefined;
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

/** The user name in a request, and the error code for each way it can be wrong. */
export const UserInput = Type.Unsafe<string>({
  ...UserName,
  [FAULT](value: unknown): ErrorCode {
    if (value === undefined || value === '') return 'USER_MISSING';
    if (typeof value !== 'string') return 'USER_REPEATED';
    return isTooLong(value) ? 'USER_TOO_LONG' : 'USER_MALFORMED';
  },
});

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

export type Lookups = ReturnType<typeof createLookups>;

/** What the lookups of a variant need. */
export function createLookups({ variant, ...rest }: VariantOptions) {
  const { family, collection } = VARIANTS[variant];
  const operations = { profile: { variant, name: 'profile' }, items: { variant, name: 'items' } } as const;
  return { ...rest, family, collection, operations };
}

export function sendProfile(
  lookups: Lookups,
  request: FastifyRequest,
  reply: FastifyReply,
  user: string,
): Awaitable<void> {
  const asked = readLookup(request, user);
  const found = lookups.store.profile(lookups.family, asked.key, asked);
  return send(lookups, lookups.operations.profile, reply, asked, found);
}

export function sendItems(
  lookups: Lookups,
  request: FastifyRequest,
  reply: FastifyReply,
  user: string,
): Awaitable<void> {
  const asked = readLookup(request, user);
  const found = lookups.store.items(lookups.family, asked.key, lookups.collection, asked);
  return send(lookups, lookups.operations.items, reply, asked, found);
}

interface Asked extends LookupOptions {
  readonly key: string;
}

function readLookup({ headers }: FastifyRequest, user: string): Asked {
  const { 'if-none-match': ifNoneMatch, 'accept-encoding': acceptEncoding } = headers;
  return { key: userKey(user), known: knownEtags(ifNoneMatch), gzip: acceptsGzip(acceptEncoding) };
}

/** SQLite has found the answer by now, PostgreSQL will later. */
function send(
  lookups: Lookups,
  operation: Operation,
  reply: FastifyReply,
  asked: Asked,
  found: Awaitable<Answer | undefined>,
): Awaitable<void> {
  if (found instanceof Promise) return found.then((answer) => send(lookups, operation, reply, asked, answer));
  if (found === undefined) return sendMissing(lookups, reply, asked.key);
  lookups.tagUser?.(reply.raw, lookups.family, asked.key);
  writeAnswer(lookups.writer, reply.raw, operation, found, asked.known);
  // Not before: what throws here, such as a damaged ETag, is answered by Fastify.
  reply.hijack();
}

async function sendMissing(lookups: Lookups, reply: FastifyReply, key: string): Promise<void> {
  const { store, takedownStatus, family, tagUser } = lookups;
  const code = await missingUser(store, takedownStatus, family, key);
  tagUser?.(reply.raw, family, key);
  sendFailure(reply, code);
}

// Variants B and C: the path names the user.

const Params = Type.Object({ username: UserInput });

export const pathStyle: FastifyPluginCallbackTypebox<VariantOptions> = (app, options, done) => {
  const { variant, base, addresses } = options;
  const { Profile, Items } = variantBodies(variant);
  const letter = variant.toUpperCase();
  const lookups = createLookups(options);
  const { operations } = lookups;

  const profile = {
    constraints: hostConstraint(base),
    config: { operation: operations.profile },
    schema: {
      operationId: `getProfile${letter}`,
      summary: "Get a user's profile",
      description: 'The profile of the user with this name.',
      tags: [`Variant ${letter}`],
      params: Params,
      response: lookupResponses(options, Profile),
    },
  };
  app.get(addresses.profile, profile, function getProfile(request, reply) {
    return sendProfile(lookups, request, reply, request.params.username);
  });

  const items = {
    constraints: hostConstraint(base),
    config: { operation: operations.items },
    schema: {
      operationId: `getItems${letter}`,
      summary: "Get a user's newest shots",
      description: `The newest ${ITEM_CAP} shots of the user with this name, newest first, as \`${VARIANTS[variant].collection}\`.`,
      tags: [`Variant ${letter}`],
      params: Params,
      response: lookupResponses(options, Items),
    },
  };
  app.get(addresses.items, items, function getItems(request, reply) {
    return sendItems(lookups, request, reply, request.params.username);
  });

  // Without a name these would be unknown addresses.
  const withoutUser: [string, typeof operations.profile | typeof operations.items][] = [
    [addresses.profile.replace('/:username', ''), operations.profile],
    [addresses.profile.replace(':username', ''), operations.profile],
    [addresses.items.replace(':username', ''), operations.items],
  ];
  for (const [url, operation] of withoutUser)
    app.get(
      url,
      {
        constraints: hostConstraint(base),
        config: { operation },
        schema: { hide: true, response: errorResponses('USER_MISSING') },
      },
      (_request, reply) => void sendFailure(reply, 'USER_MISSING'),
    );
  done();
};

// Variant A: the query names the user, and asks for the items.

const Query = Type.Object({
  user: UserInput,
  post: Type.Optional(
    Type.Literal('true', {
      description: 'Ask for the newest posts instead of the profile.',
      [FAULT]: 'POST_MALFORMED',
    }),
  ),
});

export const queryStyle: FastifyPluginCallbackTypebox<VariantOptions> = (app, options, done) => {
  const { variant, base, addresses } = options;
  const { Profile, Items } = variantBodies(variant);
  const letter = variant.toUpperCase();
  const lookups = createLookups(options);
  const { operations } = lookups;

  const chooseOperation = (query: unknown) =>
    (query as { post?: unknown }).post === undefined ? operations.profile : operations.items;

  const schema = {
    operationId: `getProfileOrItems${letter}`,
    summary: "Get a user's profile, or newest posts",
    description: `Without \`post\`, the profile; with \`post=true\`, the newest ${ITEM_CAP} posts, newest first. \`${base.path}/api/?user=…\`, with a slash before the question mark, is the same address.`,
    tags: [`Variant ${letter}`],
    querystring: Query,
    response: lookupResponses(
      options,
      Type.Union([Profile, Items], { description: 'The profile, or the list of posts.' }),
      'USER_REPEATED',
      'POST_MALFORMED',
    ),
  };
  const [path = ''] = addresses.profile.split('?');
  for (const url of [path.replace(/\/$/, ''), path])
    app.get(
      url,
      {
        // Only the address that ends with it: the other one is the first of the two.
        prefixTrailingSlash: 'slash',
        constraints: hostConstraint(base),
        config: { operation: chooseOperation },
        schema: { ...schema, hide: url.endsWith('/') },
      },
      function getProfileOrItems(request, reply) {
        const { user, post } = request.query;
        return post === undefined
          ? sendProfile(lookups, request, reply, user)
          : sendItems(lookups, request, reply, user);
      },
    );
  done();
};
