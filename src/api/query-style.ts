// Variant A: the query names the user, and asks for the items, /api/?user=USER and /api/?user=USER&post=true.

import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import { hostConstraint } from '../config/mount.ts';
import { ITEM_CAP } from '../records/kinds.ts';
import { FAULT } from './http/input.ts';
import {
  answerLookup,
  createLookups,
  distinctUrls,
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
  const { variant, base, addresses } = options;
  const { Profile, Items } = variantBodies(variant);
  const letter = variant.toUpperCase();
  const lookups = createLookups(options);
  const { operations } = lookups;

  const chooseOperation = (query: unknown) =>
    typeof query === 'object' && query !== null && 'post' in query ? operations.items : operations.profile;

  const schema = {
    operationId: `getProfileOrItems${letter}`,
    summary: "Get a user's profile, or newest posts",
    description: `Without \`post\`, the profile; with \`post=true\`, the newest ${ITEM_CAP} posts, newest first. \`${base.path}/api?user=…\`, without the slash, is the same address.`,
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
  for (const url of distinctUrls(app, [path, path.replace(/\/$/, '')]))
    app.get(
      url,
      {
        // Below a prefix, Fastify would register `/` without its slash as well, which is the second of the two.
        prefixTrailingSlash: 'slash',
        constraints: hostConstraint(base),
        config: { operation: chooseOperation },
        schema: { ...schema, hide: !url.endsWith('/') },
      },
      function getProfileOrItems(request, reply) {
        const { user, post } = request.query;
        return answerLookup(lookups, post === undefined ? 'profile' : 'items', request, reply, user);
      },
    );
  done();
};
