// The lookups of a user: what both route styles share. The user name as input, the response schemas, and finding and sending
// an answer. The routes are in query-style.ts and path-style.ts.
import { type TSchema, Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { BaseUrl } from '../config/mount.ts';
import type { Config } from '../config/settings.ts';
import type { Family } from '../records/kinds.ts';
import { itemsBody, MicroblogProfile, PortfolioProfile, Post, Shot } from '../records/schemas.ts';
import { isTooLong, UserName, userKey } from '../records/user-name.ts';
import type { Answer, LookupOptions, Reader } from '../stores/reader.ts';
import { type LookupAddresses, VARIANTS, type Variant } from '../variants.ts';
import type { SendAnswer } from './http/answer.ts';
import { acceptsGzip, knownEtags } from './http/conditions.ts';
import { type ErrorCode, errorResponses, sendFailure } from './http/errors.ts';
import { NotModified } from './http/fresh.ts';
import { FAULT } from './http/input.ts';
import type { TagUser } from './http/user-tags.ts';

export interface VariantOptions {
  readonly variant: Variant;
  readonly base: BaseUrl;
  /** Below the prefix. */
  readonly addresses: LookupAddresses;
  readonly store: Pick<Reader, 'profile' | 'items' | 'isTakenDown'>;
  readonly sendAnswer: SendAnswer;
  /** Undefined if no cache reads tags. */
  readonly tagUser: TagUser | undefined;
  readonly takedownStatus: Config['takedownStatus'];
  /** Makes each response schema what readers of the routes get; as it is by default. */
  readonly describe?: (schema: TSchema) => TSchema;
}

/** The addresses, but for those that the router of an app takes for one that comes before. */
export function distinctUrls(app: FastifyInstance, urls: readonly string[]): readonly string[] {
  if (!app.initialConfig.routerOptions?.ignoreTrailingSlash) return urls;
  const bare = urls.map((url) => url.replace(/\/$/, ''));
  return urls.filter((_, at) => !bare.slice(0, at).some((earlier) => earlier === bare[at]));
}

const RECORDS = {
  microblog: { Profile: MicroblogProfile, Item: Post },
  portfolio: { Profile: PortfolioProfile, Item: Shot },
} as const;

/** The bodies of a variant's two lookups. */
export function variantBodies(variant: Variant) {
  const { family, collection } = VARIANTS[variant];
  const { Profile, Item } = RECORDS[family];
  return { Profile, Item, Items: itemsBody(`Items${variant.toUpperCase()}`, collection, Item) };
}

/** The responses of a lookup: the body, 304, and its errors. */
export const lookupResponses = (
  { takedownStatus, describe }: Pick<VariantOptions, 'takedownStatus' | 'describe'>,
  body: TSchema,
  ...more: ErrorCode[]
) => ({
  200: describe === undefined ? body : describe(body),
  304: NotModified,
  ...failureResponses(
    { describe },
    'USER_MISSING',
    'USER_MALFORMED',
    'USER_TOO_LONG',
    'BAD_ESCAPE',
    'USER_NOT_FOUND',
    ...(takedownStatus === '410' ? (['USER_GONE'] as const) : []),
    ...more,
  ),
});

/** The errors of a route, and those of any address. */
export const failureResponses = (
  { describe = (schema) => schema }: Pick<VariantOptions, 'describe'>,
  ...codes: ErrorCode[]
): Record<number, TSchema> =>
  Object.fromEntries(
    Object.entries(errorResponses(...codes)).map(([status, schema]) => [status, describe(schema)]),
  );

/** The user name in a request, and the error code for each way it can be wrong. */
export const UserInput = Type.Unsafe<string>({
  ...UserName,
  [FAULT](value: unknown): ErrorCode {
    if (value === undefined || value === '') return 'USER_MISSING';
    if (typeof value !== 'string') return 'USER_REPEATED';
    return isTooLong(value) ? 'USER_TOO_LONG' : 'USER_MALFORMED';
  },
});

/** The error code where there is no such user. */
export async function findMissingCode(
  store: Pick<Reader, 'isTakenDown'>,
  takedownStatus: Config['takedownStatus'],
  family: Family,
  key: string,
): Promise<'USER_GONE' | 'USER_NOT_FOUND'> {
  const isGone = takedownStatus === '410' && (await store.isTakenDown(family, key));
  return isGone ? 'USER_GONE' : 'USER_NOT_FOUND';
}

export type Lookups = ReturnType<typeof createLookups>;

/** The options with what both lookups of the variant need beside them. */
export function createLookups({ variant, ...rest }: VariantOptions) {
  const { family, collection } = VARIANTS[variant];
  const operations = { profile: { variant, name: 'profile' }, items: { variant, name: 'items' } } as const;
  return { ...rest, family, collection, operations };
}

/**
 * Answers a lookup: SQLite finds the answer at once, PostgreSQL later. A promise ends with the reply, so that Fastify waits for
 * hooks that are still sending it.
 */
export function answerLookup(
  lookups: Lookups,
  name: 'profile' | 'items',
  request: FastifyRequest,
  reply: FastifyReply,
  user: string,
): Promise<FastifyReply> | undefined {
  const { store, family, collection, operations, sendAnswer, tagUser } = lookups;
  const key = userKey(user);
  const conditions = readConditions(request);
  const found =
    name === 'profile'
      ? store.profile(family, key, conditions)
      : store.items(family, key, collection, conditions);

  function send(answer: Answer | undefined): Promise<FastifyReply> | undefined {
    if (answer === undefined) return sendMissing(lookups, reply, key);
    tagUser?.(reply, family, key);
    sendAnswer(reply, operations[name], answer, conditions.known);
    return undefined;
  }
  return found instanceof Promise ? found.then((answer) => send(answer) ?? reply) : send(found);
}

function readConditions({ headers }: FastifyRequest): LookupOptions {
  const { 'if-none-match': ifNoneMatch, 'accept-encoding': acceptEncoding } = headers;
  return { known: knownEtags(ifNoneMatch), gzip: acceptsGzip(acceptEncoding) };
}

async function sendMissing(lookups: Lookups, reply: FastifyReply, key: string): Promise<FastifyReply> {
  const { store, takedownStatus, family, tagUser } = lookups;
  const code = await findMissingCode(store, takedownStatus, family, key);
  tagUser?.(reply, family, key);
  return sendFailure(reply, code);
}
