// Variant A: the query names the user, and asks for the items.
import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import { FAULT } from '../http/input.ts';
import { ITEM_CAP } from '../records/kinds.ts';
import { STYLES } from '../variants.ts';
import {
  createLookups,
  hostConstraint,
  lookupResponses,
  UserInput,
  type VariantOptions,
  variantBodies,
} from './lookup.ts';

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
  const { variant, base } = options;
  const { Profile, Items } = variantBodies(variant);
  const letter = variant.toUpperCase();
  const { operations, sendProfile, sendItems } = createLookups(options);

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
  const [path = ''] = STYLES.query.profile.split('?');
  for (const url of [path.replace(/\/$/, ''), path])
    app.get(
      url,
      {
        constraints: hostConstraint(base),
        config: { operation: chooseOperation },
        schema: { ...schema, hide: url.endsWith('/') },
      },
      (request, reply) => {
        const { user, post } = request.query;
        return post === undefined ? sendProfile(request, reply, user) : sendItems(request, reply, user);
      },
    );
  done();
};
